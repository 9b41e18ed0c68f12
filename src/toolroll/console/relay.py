"""Connect pages to the control sockets of the user's processes: requests one way, events the other.

A page never holds up a process: each page has a feed of bounded size, and one that falls behind loses what waits for
it and gets a `resync` event. Processes are watched only while a page follows.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from toolroll.control.client import ControlClient, Event
from toolroll.control.server import PREFIX
from toolroll.host.rpc.channel import LateError, RefusedError
from toolroll.host.rpc.codecs import encode_json
from toolroll.host.runtime import user_sockets

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
_MAX_FOLLOWED = 64  # processes that are asked at once

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
        self._changed = threading.Condition()
        self._ended = False

    def end(self) -> None:
        """Let `take` return what waits, and None from then on."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def put(self, line: bytes) -> None:
        with self._changed:
            if self._bytes + len(line) > MAX_FEED_BYTES:
                self._lines.clear()
                self._bytes, line = 0, _RESYNC
            self._lines.append(line)
            self._bytes += len(line)
            self._changed.notify()

    def take(self, seconds: float) -> bytes | None:
        """As many events as one chunk holds, when there are some; nothing after so long; None after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._ended, seconds)
            chunk = bytearray()
            while self._lines and len(chunk) < _CHUNK_BYTES:
                chunk += self._lines.popleft()
            self._bytes -= len(chunk)
            return None if self._ended and not chunk else bytes(chunk)


class ControlRelay:
    """The processes of this user that have a control socket."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._feeds: set[Feed] = set()
        self._followed: Followed = {}
        self._hellos: dict[str, Hello] = {}
        # One thread for each process: a slow one does not hold up the others.
        self._threads = ThreadPoolExecutor(_MAX_FOLLOWED, "toolroll relay")

    @property
    def followers(self) -> int:
        return len(self._feeds)

    def processes(self) -> list[Hello]:
        """What each running process says of itself, the oldest first."""
        return _by_age(one for one in self._threads.map(_greet, find_sockets()) if one is not None)

    def request(self, name: str, method: str, params: dict[str, Any]) -> bytes:
        """The result of a method of a process, as JSON. ControlFailedError says why there is none."""
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

    @contextmanager
    def follow(self) -> Iterator[Feed]:
        """A feed of the events of all processes; ControlFailedError when too many pages follow."""
        feed, clients = Feed(), list[ControlClient | None]()
        with self._lock:
            if len(self._feeds) >= MAX_FEEDS:
                raise ControlFailedError("Too many pages are open. Close one.")
            feed.put(self._list_processes())
            self._feeds.add(feed)
            if len(self._feeds) == 1:
                threading.Thread(target=self._look, args=(self._followed,), name="toolroll relay", daemon=True).start()
        try:
            yield feed
        finally:
            with self._lock:
                self._feeds.discard(feed)
                if not self._feeds:  # processes are not watched any more
                    clients, self._followed, self._hellos = list(self._followed.values()), {}, {}
            for client in filter(None, clients):
                client.close()

    def end(self) -> None:
        """End every feed."""
        for feed in tuple(self._feeds):
            feed.end()

    def _look(self, followed: Followed) -> None:
        while followed is self._followed:
            for name in find_sockets():
                if name not in followed:
                    followed[name] = None
                    self._threads.submit(self._follow, name, followed)
            time.sleep(LOOK_S)

    def _follow(self, name: str, followed: Followed) -> None:
        """Pass on the events of one process until it ends; a later look tries again while its socket is there."""
        early: list[Event] | None = []

        def pass_on(event: Event | None) -> None:
            with self._lock:
                if early is not None and event is not None:  # a page hears of a process before it hears its events
                    early.append(event)
                else:
                    self._take(name, followed, event)

        client = None
        try:
            client = ControlClient(name, HELLO_TIMEOUT_S, pass_on)
            hello = _named(name, client.request("hello"))
            client.request("subscribe")  # before a page hears of it: its end is noticed from then on
        except _FAILURES:  # it has ended, or speaks another protocol
            if client is not None:
                client.close()
            pass_on(None)
            return
        with self._lock:
            wanted = followed is self._followed and name in followed
            if wanted:
                followed[name], self._hellos[name] = client, hello
                self._tell(self._list_processes())
                for event in early or ():
                    self._take(name, followed, event)
            early = None
        if not wanted:  # no page follows any more, or it has ended
            client.close()

    def _take(self, name: str, followed: Followed, event: Event | None) -> None:
        if followed is not self._followed:
            return
        if event is not None:
            self._tell(_line(process=name, event=event[0], data=event[1]))
        elif followed.pop(name, None) is not None and self._hellos.pop(name, None) is not None:
            self._tell(self._list_processes())

    def _list_processes(self) -> bytes:
        return _line(event="processes", data=_by_age(self._hellos.values()))

    def _tell(self, line: bytes) -> None:
        for feed in self._feeds:
            feed.put(line)


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
