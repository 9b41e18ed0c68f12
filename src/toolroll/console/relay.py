"""Connect pages to the control sockets of the user's processes: requests one way, events the other.

A page never holds up a process: each page has a feed of bounded size, and one that falls behind loses what waits for
it and gets a `resync` event. Processes are watched only while a page follows.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import msgspec

from toolroll.control.server import MAX_LINE_BYTES, PREFIX
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
_FAILURES = (OSError, EOFError, ValueError, TimeoutError, asyncio.IncompleteReadError, msgspec.MsgspecError)

Hello = dict[str, Any]


def find_sockets() -> list[str]:
    """The names of the control sockets of this user; none if the run folder cannot be read."""
    try:
        return [name for name in user_sockets.sockets() if name.startswith(PREFIX)]
    except OSError:
        return []


class ControlFailedError(Exception):
    """A process did not answer; the message is for the page."""


class _Reply(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: str | None = None
    event: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")


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
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._hellos: dict[str, Hello] = {}
        self._watch: asyncio.Task[None] | None = None

    @property
    def followers(self) -> int:
        return len(self._feeds)

    async def processes(self) -> list[Hello]:
        """What each running process says of itself, the oldest first."""
        names = await asyncio.to_thread(find_sockets)
        found = await asyncio.gather(*map(self._greet, names))
        return _by_age(one for one in found if one is not None)

    async def request(self, name: str, method: str, params: dict[str, Any]) -> bytes:
        """The result of a method of a process, as JSON. ControlFailedError says why there is none."""
        # One connection a request: a slow one does not hold up an answer to an approval.
        if name not in await asyncio.to_thread(find_sockets):
            raise ControlFailedError("This process has ended.")
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S), _connect(name) as (reader, writer):
                reply = await _ask(reader, writer, method, params)
        except _FAILURES as error:
            late = isinstance(error, TimeoutError)
            raise ControlFailedError("The process does not answer." if late else "This process has ended.") from None
        if reply.error is not None:
            raise ControlFailedError(reply.error)
        return bytes(reply.result)

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
        for task in (self._watch, *self._followed.values()):
            if task is not None:
                task.cancel()
        self._watch = None
        self._followed.clear()
        self._hellos.clear()

    async def _look(self) -> None:
        while True:
            for name in await asyncio.to_thread(find_sockets):
                if name not in self._followed:
                    self._followed[name] = asyncio.create_task(self._follow(name))
            await asyncio.sleep(LOOK_S)

    async def _follow(self, name: str) -> None:
        """Pass on the events of one process until it ends."""
        try:
            async with _connect(name) as (reader, writer):
                async with asyncio.timeout(HELLO_TIMEOUT_S):
                    hello = await _ask(reader, writer, "hello", {})
                    self._hellos[name] = _named(name, hello)
                    await _ask(reader, writer, "subscribe", {})
                self._tell_processes()
                while True:
                    reply = _decode(await reader.readline())
                    self._tell(_line(process=name, event=reply.event, data=reply.data))
        except _FAILURES:
            pass  # it has ended, or speaks another protocol; a later look tries again while the socket is there
        finally:
            if self._followed.get(name) is asyncio.current_task():
                del self._followed[name]
                if self._hellos.pop(name, None) is not None:
                    self._tell_processes()

    async def _greet(self, name: str) -> Hello | None:
        with suppress(*_FAILURES):
            async with asyncio.timeout(HELLO_TIMEOUT_S), _connect(name) as (reader, writer):
                return _named(name, await _ask(reader, writer, "hello", {}))
        return None

    def _tell_processes(self) -> None:
        self._tell(_line(event="processes", data=_by_age(self._hellos.values())))

    def _tell(self, line: bytes) -> None:
        for feed in self._feeds:
            feed.put(line)


@asynccontextmanager
async def _connect(name: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    connection = await asyncio.to_thread(user_sockets.connect, name, HELLO_TIMEOUT_S)
    connection.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MAX_LINE_BYTES + 1)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, params: dict[str, Any]
) -> _Reply:
    writer.write(msgspec.json.encode({"id": 1, "method": method, "params": params}) + b"\n")
    await writer.drain()
    while (reply := _decode(await reader.readline())).event:
        pass  # an event that came before the answer
    return reply


def _decode(line: bytes) -> _Reply:
    if not line.endswith(b"\n"):
        raise EOFError
    return msgspec.json.decode(line, type=_Reply)


def _named(name: str, hello: _Reply) -> Hello:
    """What a process says of itself; its id is the name of its socket, whatever it says."""
    if hello.error is not None:
        raise ValueError(hello.error)
    return msgspec.json.decode(hello.result, type=dict[str, Any]) | {"id": name, "alive": True}


def _by_age(hellos: Any) -> list[Hello]:
    return sorted(hellos, key=lambda one: (str(one.get("started")), one["id"]))


def _line(**event: Any) -> bytes:
    return msgspec.json.encode(event) + b"\n"
