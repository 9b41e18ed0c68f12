"""The running language servers of one workspace: one for each language, started on first use."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.lsp.servers import ALIASES, SERVERS, LanguageServer, find_program, language_of
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.result import CouldNotLookError, ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.lsp.client import LspClient
    from toolroll.host.rpc.codecs import PeerGoneError
    from toolroll.host.runtime.launcher import ChildProcess

Spawn = Callable[[Sequence[str], int, Mapping[str, str]], "ChildProcess"]
"""Starts a program in a folder (a descriptor), with this environment and pipes on all three ends."""

Authorise = Callable[[LanguageServer, Sequence[str], bool], None]
"""Raises ToolError for a program that may not be started; the last argument: whether a person may be asked."""

T = TypeVar("T")
_MAX_MEMORY_BYTES = 4 << 30
_BROKEN_SECONDS = 60.0  # in which a server that did not start is not tried again


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server, for status reports."""

    program: str
    language: str
    pid: int
    memory: int
    """Bytes, with its children."""


@dataclass(eq=False)
class LspPool:
    """Starts servers, keeps them running, restarts them after a failure, and ends them."""

    root: Root
    read: Callable[[str], str | None]
    """Returns the current text of a file, None where it has none."""
    spawn: Spawn
    authorise: Authorise
    choice: Mapping[str, str]
    seconds: float
    """Time limit of an answer."""
    start_seconds: float
    memory: int | None
    environ: Mapping[str, str]

    def __post_init__(self) -> None:
        self._closed = False
        self._lock = threading.Lock()
        self._starting: dict[str, threading.Lock] = {}
        self._clients: dict[str, LspClient] = {}
        self._broken: dict[str, tuple[float, ToolError]] = {}
        """Servers that did not start: until when they are left out, and why."""

    def server(self, path: str, language: str | None) -> LanguageServer:
        """The best server for a file that is installed and starts; a ToolError says what to install."""
        wanted = _language(path, language)
        known = [one for one in SERVERS if one.language == wanted]
        chosen = self.choice.get(wanted)
        usable = [one for one in known if (one.program == chosen if chosen else not one.chosen_only)]
        if not usable:
            names = ", ".join(one.program for one in known)
            raise ToolError(ErrorCode.UNSUPPORTED, f"There is no server {chosen!r} for {wanted}. There are: {names}.")
        running = self._clients.get(wanted)
        if running is not None and running.connection.gone is None and running.server in usable:
            return running.server
        found = [one for one in usable if find_program(one, self.root.path)]
        if not found:
            raise _missing_error(usable)
        works = next((one for one in found if self._error_of(one) is None), None)
        if works is None:
            raise self._error_of(found[0]) or _missing_error(usable)
        return works

    def warm(self, path: str) -> LanguageServer | None:
        """The server for a file, if it is running."""
        running = self._clients.get(language_of(path) or "")
        return running.server if running is not None and running.connection.gone is None else None

    def deadline(self, token: CancelToken) -> float:
        return time.monotonic() + min(self.seconds, max(0.0, token.remaining()))

    def use(
        self, server: LanguageServer, token: CancelToken, action: Callable[[LspClient], T], *, asks: bool = True
    ) -> T:
        """Run `action` with the client of a server; a server that ends meanwhile is restarted once.

        For one that does not start, the next server of the language answers. Unless it `asks`, nobody is asked whether
        a program of the workspace may start.
        """
        from toolroll.host.rpc.codecs import PeerGoneError

        for last in (False, True):
            try:
                return _count_timeouts(self._client(server, token, asks), action)
            except PeerGoneError as gone:
                if last or gone.memory:
                    raise _end_error(server, gone) from None
            except ToolError:
                if self._error_of(server) is None:
                    raise
                return self.use(self.server("", server.language), token, action, asks=asks)
        raise AssertionError

    def _error_of(self, server: LanguageServer) -> ToolError | None:
        """Why a server did not start a moment ago."""
        until, error = self._broken.get(server.program, (0.0, None))
        return error if time.monotonic() < until else None

    def running(self) -> list[RunningServer]:
        with self._lock:
            clients = [one for one in self._clients.values() if one.connection.gone is None]
        if not clients:
            return []
        from toolroll.host.rpc.child import measure_memory

        pids = {one.pid: one.server for one in clients}
        return [RunningServer(one.program, one.language, pid, measure_memory(pid)) for pid, one in pids.items()]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            clients, self._clients = list(self._clients.values()), {}
        enders = [threading.Thread(target=client.close) for client in clients]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _client(self, server: LanguageServer, token: CancelToken, asks: bool) -> LspClient:
        """The client of a running server, which knows all changed files; started if needed."""
        from toolroll.host.lsp.file_changes import take_snapshot

        with self._exclusive(server.language, token):
            snapshot = take_snapshot(self.root, server, token)
            client = self._clients.get(server.language)
            # A server that never answers hangs; configuration and packages are read once, at the start.
            if client is not None and (client.timeouts > 1 or client.snapshot.config != snapshot.config):
                client.close()
            if client is None or client.connection.gone is not None:
                client = self._start_with_retry(server, token, asks)
                client.snapshot = snapshot
                with self._lock:
                    closed = self._closed
                    if not closed:
                        self._clients[server.language] = client
                if closed:
                    client.close()
                    raise _closed_error()
            else:
                client.update_files(snapshot, self.read)
            return client

    def _start_with_retry(self, server: LanguageServer, token: CancelToken, asks: bool) -> LspClient:
        """Start a server; if it ends during the start, try once more. A failure is remembered for a while."""
        from toolroll.host.rpc.channel import LateError, RefusedError
        from toolroll.host.rpc.codecs import PeerGoneError

        for last in (False, True):
            try:
                return self._start(server, token, asks)
            except PeerGoneError as gone:
                if gone.memory:
                    raise _end_error(server, gone) from None
                if last:
                    raise self._leave_out(server, _unusable_error(server, str(gone))) from None
            except RefusedError as refused:
                error = _unusable_error(server, f"refuses to start ({refused})")
                raise self._leave_out(server, error) from None
            except LateError:
                message = f"The language server {server.program} did not start in {self.start_seconds:g} s."
                error = CouldNotLookError(server.program, "it is late.", message=message, code=ErrorCode.TIMEOUT)
                raise error if token.remaining() <= 0 else self._leave_out(server, error) from None
        raise AssertionError

    def _leave_out(self, server: LanguageServer, error: ToolError) -> ToolError:
        self._broken[server.program] = time.monotonic() + _BROKEN_SECONDS, error
        return error

    def _start(self, server: LanguageServer, token: CancelToken, asks: bool) -> LspClient:
        from toolroll.host.lsp.client import LspClient

        program = find_program(server, self.root.path)
        if program is None:
            raise _missing_error([server])
        argv = [program, *server.arguments]
        self.authorise(server, argv, asks)
        process = self.spawn(argv, self.root.fd, make_environment(self.environ))
        client = LspClient(server, process, self.root.path, self.memory or _default_memory())
        try:
            client.start(token, time.monotonic() + min(self.start_seconds, max(0.0, token.remaining())))
        except BaseException:
            client.connection.close()
            raise
        return client

    @contextmanager
    def _exclusive(self, language: str, token: CancelToken) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise _closed_error()
            lock = self._starting.setdefault(language, threading.Lock())
        while not lock.acquire(timeout=POLL_SECONDS):
            token.check()
        try:
            yield
        finally:
            lock.release()


def make_environment(found: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server: where programs are, and its home folder."""
    import os

    return {"PATH": found.get("PATH", os.defpath), "HOME": found.get("HOME", "/"), "LANG": "C.UTF-8"}


def _language(path: str, given: str | None) -> str:
    known = list(dict.fromkeys(one.language for one in SERVERS))
    if given is not None:
        name = ALIASES.get(given.lower(), given.lower())
        if name not in known:
            message = f"There is no language server for {given!r}. There are: {', '.join(known)}."
            raise ToolError(ErrorCode.UNSUPPORTED, message)
        return name
    found = language_of(path)
    if found is None:
        endings = " ".join(dict.fromkeys(ending for one in SERVERS for ending in one.files))
        message = f"There is no language server for {path!r}. There are some for: {endings}."
        raise ToolError(ErrorCode.UNSUPPORTED, message)
    return found


def _missing_error(servers: Sequence[LanguageServer]) -> ToolError:
    first = servers[0]
    message = f"The language server for {first.about}, {first.program}, is not installed. To add it: {first.install}"
    error = CouldNotLookError(first.program, "it is not installed.", message=message, code=ErrorCode.UNSUPPORTED)
    error.details["programs"] = {one.program: one.install for one in servers}
    return error


def _closed_error() -> ToolError:
    return ToolError(ErrorCode.CANCELLED, "This kit is closed, and its language servers with it.")


def _end_error(server: LanguageServer, gone: PeerGoneError) -> ToolError:
    code = ErrorCode.TOO_LARGE if gone.memory else ErrorCode.EXECUTION
    text = f"The language server {server.program} {gone}. Ask for less at once, or do without it."
    return CouldNotLookError(server.program, str(gone), message=text, code=code)


def _unusable_error(server: LanguageServer, how: str) -> ToolError:
    text = f"The language server {server.program} {how}, right at its start. To add it: {server.install}"
    return CouldNotLookError(server.program, how, message=text, code=ErrorCode.UNSUPPORTED)


def _count_timeouts(client: LspClient, action: Callable[[LspClient], T]) -> T:
    """Run the action, and count timeouts during which the server sent nothing."""
    from toolroll.host.rpc.channel import LateError

    asked = time.monotonic()
    try:
        return action(client)
    except LateError:
        client.timeouts += client.connection.heard < asked
        raise
    finally:
        if client.connection.heard >= asked:
            client.timeouts = 0


def _default_memory() -> int:
    """The default memory limit: half of the machine, at most 4 GB."""
    import os

    return min(_MAX_MEMORY_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
