"""Connect pages to the control sockets of the user's processes: requests one way, events the other.

A page never holds up a process: each page has a feed of bounded size, and one that falls behind loses what waits for
it and gets a `resync` event. Processes are watched only while a page follows.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from toolroll.control.client import ControlClient, Event
from toolroll.control.server import PREFIX
from toolroll.host.rpc.channel import LateError, RefusedError
from toolroll.host.rpc.codecs import encode_json
from toolroll.host.runtime import user_sockets

T = TypeVar("T")
MAX_FEED_BYTES = 8 * 1024 * 1024
"""Events that wait for one page."""
MAX_FEEDS = 4
"""Pages that follow. A browser has six connections to a host: some are left for requests."""
LOOK_S = 0.5
"""How often the run folder is read for new processes while a page follows."""
HELLO_TIMEOUT_S = 3.0
REQUEST_TIMEOUT_S = 120.0
_CHUNK_BYTES = 256 * 1024
_RESYNC = b'{"event":"resync"}\n'
_FAILURES = (OSError, ValueError, TypeError, RefusedError)
_MAX_REQUESTS = 64  # at once

Hello = dict[str, Any]
Followed = dict[str, ControlClient | None]


def find_sockets() -> list[str]:
    """The names of the control sockets of this user; none if the run folder cannot be read."""
    try:
        return [name for name in user_sockets.sockets() if name.startswith(PREFIX)]
    except OSError:
        return []


class ControlFailedError(Exception):
    """A process did not answer; the message is for the page."""


class Feed:
    """The events that wait for one page, as JSON lines."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._filled = asyncio.Event()
        self._ended = False

    def end(self) -> None:
        """Let `take` return what waits, and nothing from then on."""
        self._ended = True
        self._filled.set()

    def put(self, line: bytes) -> None:
        if self._bytes + len(line) > MAX_FEED_BYTES:
            self._lines.clear()
            self._bytes, line = 0, _RESYNC
        self._lines.append(line)
        self._bytes += len(line)
        self._filled.set()

    async def take(self) -> bytes:
        """Wait for events and return as many as one chunk holds; nothing when there will be no more."""
        await self._filled.wait()
        chunk = bytearray()
        while self._lines and len(chunk) < _CHUNK_BYTES:
            chunk += self._lines.popleft()
        self._bytes -= len(chunk)
        if not self._lines and not self._ended:
            self._filled.clear()
        return bytes(chunk)


class ControlRelay:
    """The processes of this user that have a control socket. Runs in one event loop."""

    def __init__(self) -> None:
        self._feeds: set[Feed] = set()
        self._followed: Followed = {}
        self._hellos: dict[str, Hello] = {}
        self._watch: asyncio.Task[None] | None = None
        # One thread a request: a slow one does not hold up an answer to an approval.
        self._threads = ThreadPoolExecutor(_MAX_REQUESTS, "toolroll relay")

    @property
    def followers(self) -> int:
        return len(self._feeds)

    async def processes(self) -> list[Hello]:
        """What each running process says of itself, the oldest first."""
        names = await self._run(find_sockets)
        found = await asyncio.gather(*(self._run(_greet, name) for name in names))
        return _by_age(one for one in found if one is not None)

    async def request(self, name: str, method: str, params: dict[str, Any]) -> bytes:
        """The result of a method of a process, as JSON. ControlFailedError says why there is none."""
        return await self._run(_request, name, method, params)

    async def _run(self, work: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *given))

    @contextmanager
    def follow(self) -> Iterator[Feed]:
        """A feed of the events of all processes; ControlFailedError when too many pages follow."""
        if len(self._feeds) >= MAX_FEEDS:
            raise ControlFailedError("Too many pages are open. Close one.")
        feed = Feed()
        feed.put(_line(event="processes", data=_by_age(self._hellos.values())))
        self._feeds.add(feed)
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._look())
        try:
            yield feed
        finally:
            self._feeds.discard(feed)
            if not self._feeds:
                self._rest()

    def end(self) -> None:
        """End every feed."""
        for feed in self._feeds:
            feed.end()

    def _rest(self) -> None:
        """Stop watching processes."""
        if self._watch is not None:
            self._watch.cancel()
        self._watch = None
        clients, self._followed = self._followed, {}
        self._hellos.clear()
        for client in filter(None, clients.values()):
            self._threads.submit(client.close)

    async def _look(self) -> None:
        while True:
            for name in await self._run(find_sockets):
                if name not in self._followed:
                    self._followed[name] = None
                    self._threads.submit(self._follow, name, self._followed, asyncio.get_running_loop())
            await asyncio.sleep(LOOK_S)

    def _follow(self, name: str, followed: Followed, loop: asyncio.AbstractEventLoop) -> None:
        """Pass on the events of one process until it ends; a later look tries again while its socket is there."""
        begun, early, lock = False, list[Event | None](), threading.Lock()

        def pass_on(event: Event | None) -> None:
            with lock:  # a page hears of a process before it hears its events
                if not begun and event is not None:
                    return early.append(event)
            deliver(event)
            return None

        def deliver(event: Event | None) -> None:
            line = None if event is None else _line(process=name, event=event[0], data=event[1])
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._take, name, followed, line)

        client = None
        try:
            client = ControlClient(name, HELLO_TIMEOUT_S, pass_on)
            hello = _named(name, client.request("hello"))
            client.request("subscribe")  # before a page hears of it: its end is noticed from then on
            with lock:
                loop.call_soon_threadsafe(self._begin, name, followed, client, hello)
                begun = True
                for event in early:
                    deliver(event)
        except _FAILURES:  # it has ended, or speaks another protocol
            if client is not None:
                client.close()
            pass_on(None)

    def _begin(self, name: str, followed: Followed, client: ControlClient, hello: Hello) -> None:
        if followed is not self._followed or name not in followed:  # no page follows any more, or it has ended
            self._threads.submit(client.close)
            return
        followed[name], self._hellos[name] = client, hello
        self._tell_processes()

    def _take(self, name: str, followed: Followed, line: bytes | None) -> None:
        if followed is not self._followed:
            return
        if line is not None:
            self._tell(line)
        elif followed.pop(name, None) is not None and self._hellos.pop(name, None) is not None:
            self._tell_processes()

    def _tell_processes(self) -> None:
        self._tell(_line(event="processes", data=_by_age(self._hellos.values())))

    def _tell(self, line: bytes) -> None:
        for feed in self._feeds:
            feed.put(line)


def _request(name: str, method: str, params: dict[str, Any]) -> bytes:
    if name not in find_sockets():
        raise ControlFailedError("This process has ended.")
    try:
        with ControlClient(name, REQUEST_TIMEOUT_S) as client:
            return encode_json(client.request(method, **params))
    except RefusedError as error:
        raise ControlFailedError(str(error)) from None
    except _FAILURES as error:
        late = isinstance(error, LateError)
        raise ControlFailedError("The process does not answer." if late else "This process has ended.") from None


def _greet(name: str) -> Hello | None:
    with suppress(*_FAILURES), ControlClient(name, HELLO_TIMEOUT_S) as client:
        return _named(name, client.request("hello"))
    return None


def _named(name: str, hello: Any) -> Hello:
    """What a process says of itself; its id is the name of its socket, whatever it says."""
    if not isinstance(hello, dict):
        raise TypeError("This is no answer to `hello`.")
    return hello | {"id": name, "alive": True}


def _by_age(hellos: Any) -> list[Hello]:
    return sorted(hellos, key=lambda one: (str(one.get("started")), one["id"]))


def _line(**event: Any) -> bytes:
    return encode_json(event) + b"\n"
