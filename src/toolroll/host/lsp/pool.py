"""The servers that run for one workspace: one for each language, started when it is first needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.lsp.servers import ALIASES, SERVERS, Server, find, language_of
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.jsonrpc.connection import GoneError
    from toolroll.host.lsp.client import Client
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.launcher import ChildProcess

Spawn = Callable[[Sequence[str], int, Mapping[str, str]], "ChildProcess"]
"""Starts a program in a folder (a descriptor), with this environment and pipes on all three ends."""

T = TypeVar("T")
_TICK = 0.05
_MOST_MEMORY = 4 << 30


@dataclass(frozen=True, slots=True)
class Running:
    """One server that runs now."""

    program: str
    language: str
    pid: int
    memory: int
    """Bytes, with all that it started."""


class Pool:
    """Starts servers, keeps them warm, starts them again when they end, and ends them all."""

    def __init__(
        self,
        root: Root,
        read: Callable[[str], str | None],
        *,
        spawn: Spawn,
        choice: Mapping[str, str],
        seconds: float,
        start_seconds: float,
        memory: int | None,
    ) -> None:
        """`read` gives the text of a file as it is now, None where there is none."""
        self._root = root
        self._read = read
        self._spawn = spawn
        self._choice = choice
        self._start_seconds = start_seconds
        self._memory = memory
        self.seconds = seconds
        """How long a server may take to answer."""
        self._closed = False
        self._lock = threading.Lock()
        self._starting: dict[str, threading.Lock] = {}
        self._clients: dict[str, Client] = {}

    def server(self, path: str, language: str | None) -> Server:
        """The server for a file; ToolError that says what would have to be installed."""
        wanted = _language(path, language)
        known = [one for one in SERVERS if one.language == wanted]
        chosen = self._choice.get(wanted)
        usable = [one for one in known if (one.program == chosen if chosen else not one.chosen_only)]
        if not usable:
            names = ", ".join(one.program for one in known)
            raise ToolError(ErrorCode.UNSUPPORTED, f"There is no server {chosen!r} for {wanted}. There are: {names}.")
        running = self._clients.get(wanted)
        if running is not None and running.link.gone is None and running.server in usable:
            return running.server
        found = next((one for one in usable if find(one, self._root.path)), None)
        if found is None:
            raise _missing(usable)
        return found

    def deadline(self, token: Token) -> float:
        """Until when a question that is asked now must be answered."""
        return time.monotonic() + min(self.seconds, max(0.0, token.remaining()))

    def use(self, server: Server, token: Token, action: Callable[[Client], T]) -> T:
        """What comes of using a server; one that ends meanwhile is started again, once."""
        from toolroll.host.jsonrpc.connection import GoneError

        for last in (False, True):
            try:
                return _attended(self._client(server, token), action)
            except GoneError as gone:
                if last or gone.memory:
                    raise _ended(server, gone) from None
        raise AssertionError

    def running(self) -> list[Running]:
        """The servers that run now."""
        with self._lock:
            clients = [one for one in self._clients.values() if one.link.gone is None]
        if not clients:
            return []
        from toolroll.host.jsonrpc.connection import resident

        return [
            Running(one.server.program, one.server.language, one.link.pid, resident(one.link.pid)) for one in clients
        ]

    def close(self) -> None:
        """End all servers and whatever they started."""
        with self._lock:
            self._closed = True
            clients, self._clients = list(self._clients.values()), {}
        enders = [threading.Thread(target=client.close) for client in clients]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _client(self, server: Server, token: Token) -> Client:
        """The running server, told of all that has changed; started if need be."""
        from toolroll.host.lsp import file_changes as watch

        with self._alone(server.language, token):
            sight = watch.look(self._root, server, token)
            client = self._clients.get(server.language)
            # What never answers is hung; configuration and packages are read once, at the start.
            if client is not None and (client.timeouts > 1 or client.sight.grounds != sight.grounds):
                client.close()
            if client is None or client.link.gone is not None:
                client = self._started(server, token)
                client.sight = sight
                with self._lock:
                    closed = self._closed
                    if not closed:
                        self._clients[server.language] = client
                if closed:
                    client.close()
                    raise _closed()
            else:
                client.absorb(sight, self._read)
            return client

    def _started(self, server: Server, token: Token) -> Client:
        """A server that is ready; one that ends while it starts gets a second chance."""
        from toolroll.host.jsonrpc.connection import GoneError, LateError, RefusedError

        for last in (False, True):
            try:
                return self._start(server, token)
            except GoneError as gone:
                if gone.memory:
                    raise _ended(server, gone) from None
                if last:
                    raise _unusable(server, str(gone)) from None
            except RefusedError as refused:
                raise _unusable(server, f"refuses to start ({refused})") from None
            except LateError:
                raise ToolError(
                    ErrorCode.TIMEOUT,
                    f"The language server {server.program} did not start in {self._start_seconds:g} s.",
                ) from None
        raise AssertionError

    def _start(self, server: Server, token: Token) -> Client:
        from toolroll.host.lsp.client import Client
        from toolroll.host.lsp.spawn import environment

        program = find(server, self._root.path)
        if program is None:
            raise _missing([server])
        process = self._spawn([program, *server.arguments], self._root.fd, environment())
        client = Client(server, process, self._root.path, self._memory or _bearable())
        try:
            client.start(token, time.monotonic() + min(self._start_seconds, max(0.0, token.remaining())))
        except BaseException:
            client.link.close()
            raise
        return client

    @contextmanager
    def _alone(self, language: str, token: Token) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise _closed()
            lock = self._starting.setdefault(language, threading.Lock())
        while not lock.acquire(timeout=_TICK):
            token.check()
        try:
            yield
        finally:
            lock.release()


def _language(path: str, given: str | None) -> str:
    known = list(dict.fromkeys(one.language for one in SERVERS))
    if given is not None:
        name = ALIASES.get(given.lower(), given.lower())
        if name not in known:
            raise ToolError(
                ErrorCode.UNSUPPORTED, f"There is no language server for {given!r}. There are: {', '.join(known)}."
            )
        return name
    found = language_of(path)
    if found is None:
        endings = " ".join(dict.fromkeys(ending for one in SERVERS for ending in one.files))
        raise ToolError(
            ErrorCode.UNSUPPORTED, f"There is no language server for {path!r}. There are some for: {endings}."
        )
    return found


def _missing(servers: Sequence[Server]) -> ToolError:
    first = servers[0]
    return ToolError(
        ErrorCode.UNSUPPORTED,
        f"The language server for {first.about}, {first.program}, is not installed. To add it: {first.install}",
        details={"programs": {one.program: one.install for one in servers}},
    )


def _closed() -> ToolError:
    return ToolError(ErrorCode.CANCELLED, "The kit was closed, and its language servers with it.")


def _ended(server: Server, gone: GoneError) -> ToolError:
    code = ErrorCode.TOO_LARGE if gone.memory else ErrorCode.EXECUTION
    return ToolError(code, f"The language server {server.program} {gone}. Ask for less at once, or do without it.")


def _unusable(server: Server, how: str) -> ToolError:
    return ToolError(
        ErrorCode.UNSUPPORTED,
        f"The language server {server.program} {how}, right at its start. To add it: {server.install}",
    )


def _attended(client: Client, action: Callable[[Client], T]) -> T:
    """What comes of the action; how often the server was silent all the time is counted."""
    from toolroll.host.jsonrpc.connection import LateError

    asked = time.monotonic()
    try:
        return action(client)
    except LateError:
        client.timeouts += client.link.heard < asked
        raise
    finally:
        if client.link.heard >= asked:
            client.timeouts = 0


def _bearable() -> int:
    """How much one server may hold where nobody said: half of the machine, and no more than 4 GB."""
    import os

    return min(_MOST_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
