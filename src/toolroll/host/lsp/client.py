"""One running server as a partner in talk: the handshake, the texts it was shown, and what it published of them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from toolroll.host.jsonrpc.connection import Link, Pending
from toolroll.host.lsp import file_changes as watch
from toolroll.host.lsp.handshake import ask_for, registered, reply
from toolroll.host.lsp.servers import Server, identifier
from toolroll.text.positions import Positions, Units

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.launcher import ChildProcess

_TICK = 0.05
_KEPT_OPEN = 64  # texts that a server holds for us
_GOODBYE = 0.5  # seconds that a server has to end by itself
_REGISTERED = 5.0  # seconds that a server has to say what else it offers
_SOON = 3.0  # seconds in which a server that loads a project says so


@dataclass(slots=True)
class Shown:
    """A text that the server was shown, and the state of the workspace for which it was judged."""

    path: str
    uri: str
    text: str
    version: int
    generation: int


@dataclass(frozen=True, slots=True)
class Published:
    """Problems that the server sent by itself."""

    version: int | None
    items: list[dict[str, Any]]
    at: float


class Client:
    """Talks to one server. What is shown to it and asked of it at once is done under `lock`."""

    def __init__(self, server: Server, process: ChildProcess, root: str, memory: int) -> None:
        self.server = server
        self.lock = threading.RLock()
        self.units: Units = "utf-16"
        self.can: dict[str, Any] = {}
        self.sight = watch.Sight()
        self.timeouts = 0
        """How often in a row it did not answer in time."""
        self._root = root
        self._news = threading.Condition()
        self._shown: dict[str, Shown] = {}
        self._published: dict[str, Published] = {}
        self._busy: set[str | int] = set()
        self._was_busy = False
        self._versioned = False
        self._version = 0
        self._generation = 0
        self._changed: dict[str, int] = {}
        self.started = time.monotonic()
        self.link = Link(process, answer=self._answer, notice=self._notice, ended=self._wake, memory=memory)

    def start(self, token: Token, deadline: float) -> None:
        """The handshake: what we can do, what the server can do."""
        params = ask_for(self.server, self.uri("."))
        result = self.link.request("initialize", params).wait(token, deadline) or {}
        self.can = result.get("capabilities") or {}
        units = self.can.get("positionEncoding")
        self.units = units if units in ("utf-8", "utf-32") else "utf-16"
        self.link.notify("initialized", {})
        if self.server.settings:
            self.link.notify("workspace/didChangeConfiguration", {"settings": self.server.settings})
        if self.server.registers:
            self.wait(lambda: self.offers("diagnosticProvider"), token, min(deadline, time.monotonic() + _REGISTERED))
        self.started = time.monotonic()

    def offers(self, what: str) -> bool:
        """Whether the server says that it can do this; an empty description says so too."""
        return self.can.get(what) not in (None, False)

    def close(self) -> None:
        """Ask the server to end, and see that it does, with all that it started."""
        from toolroll.host.runtime.cancellation import Token

        wait = 0.0
        with suppress(Exception):  # one that is in no state to say goodbye is ended all the same
            self.link.request("shutdown", None).wait(Token(), time.monotonic() + _GOODBYE)
            self.link.notify("exit", None)
            wait = _GOODBYE
        self.link.close(wait=wait)

    def uri(self, path: str) -> str:
        """How the server knows a file."""
        whole = self._root if path == "." else f"{self._root}/{path}"
        return "file://" + quote(os.fsencode(whole), safe="/~")

    def path(self, uri: str) -> tuple[str, bool]:
        """The file that the server means, and whether it is in the workspace."""
        if not uri.startswith("file://"):
            return uri, False
        whole = os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))
        above = "/" if self._root == "/" else f"{self._root}/"
        return (whole.removeprefix(above), True) if whole.startswith(above) else (whole, False)

    def positions(self, text: str) -> Positions:
        """The places of a text, as this server counts them."""
        return Positions(text, self.units)

    def absorb(self, sight: watch.Sight, read: Callable[[str], str | None]) -> None:
        """Tell the server which files are not what they were; `read` gives a text as it is now, None if it is gone."""
        changes = watch.differences(self.sight.files, sight.files)
        folders = watch.folders(self.sight.files, sight.files)
        self.sight = sight
        with self.lock:
            if changes:
                self._generation += 1
                self._changed |= dict.fromkeys(changes, self._generation)
                events = [{"uri": self.uri(path), "type": kind} for path, kind in (folders | changes).items()]
                self.link.notify("workspace/didChangeWatchedFiles", {"changes": events})
            # A text that it was shown hides the file, so what has changed must be shown again.
            for path in [path for path in self._shown if path in changes or path not in sight.files]:
                text = read(path)
                if text is None:
                    self.hide(path)
                else:
                    self._change(self._shown[path], text)

    def show(self, path: str, text: str) -> Shown:
        """Let the server know this text of a file, and no other."""
        with self.lock:
            shown = self._shown.pop(path, None)
            if shown is not None and self._must_reopen(shown, text):
                self._hide(shown)
                shown = None
            if shown is None:
                shown = self._open(path, text)
            else:
                self._change(shown, text)
            self._shown[path] = shown  # last in order: the one used last
            return shown

    def hide(self, path: str) -> None:
        """Take a text back: what is on disk holds again."""
        with self.lock:
            if (shown := self._shown.pop(path, None)) is not None:
                self._hide(shown)

    def trim(self, keep: Iterable[str] = ()) -> None:
        """Take back the texts that were not needed for longest."""
        with self.lock:
            kept = set(keep)
            for path in [path for path in self._shown if path not in kept][: max(0, len(self._shown) - _KEPT_OPEN)]:
                self.hide(path)

    def is_current(self, shown: Shown, version: int) -> bool:
        """Whether the server still has the text that was shown under this version."""
        return self._shown.get(shown.path) is shown and shown.version == version

    def request(self, method: str, params: Any) -> Pending:
        """Ask something."""
        return self.link.request(method, params)

    def published(self, shown: Shown, version: int) -> Published | None:
        """What the server sent of just this version of a text, if it has."""
        found = self._published.get(shown.uri)
        if found is None or (found.version is None and self._versioned):
            return None
        return found if found.version in (None, version) else None

    def wait(self, ready: Callable[[], bool], token: Token, deadline: float) -> bool:
        """Wait until something holds; False when the time is up, GoneError when the server has ended."""
        with self._news:
            while not ready():
                if self.link.gone is not None:
                    raise self.link.gone
                token.check()
                if (left := deadline - time.monotonic()) <= 0:
                    return False
                self._news.wait(min(_TICK, left))
        return True

    def settle(self, token: Token, deadline: float) -> bool:
        """Wait until the server is not at work by itself (reading the project, making an index)."""

        def quiet() -> bool:
            begun = self._was_busy or not self.server.loads or time.monotonic() - self.started > _SOON
            return begun and not self._busy

        return self.wait(quiet, token, deadline)

    def _must_reopen(self, shown: Shown, text: str) -> bool:
        """Whether the text is the same and something else has changed: pushed problems do not come by themselves."""
        if text != shown.text or self.offers("diagnosticProvider"):
            return False
        return any(at > shown.generation for path, at in self._changed.items() if path != shown.path)

    def _open(self, path: str, text: str) -> Shown:
        self._version += 1
        shown = Shown(path, self.uri(path), text, self._version, self._generation)
        self._published.pop(shown.uri, None)
        if self.server.headers and path.endswith(".h"):
            self._tell_language(path)
        self.link.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": shown.uri,
                    "languageId": identifier(self.server, path),
                    "version": shown.version,
                    "text": text,
                }
            },
        )
        return shown

    def _tell_language(self, path: str) -> None:
        """Say that a header is one of C where all else is C and no file says how things are compiled.

        It would be taken for C++, whose function of the same name is another function: a rename would miss it.
        """
        if self.sight.grounds or any(identifier(self.server, one) != "c" for one in self.sight.files):
            return
        whole = f"{self._root}/{path}"
        command = {"workingDirectory": self._root, "compilationCommand": ["clang", "-xc-header", whole]}
        settings = {"compilationDatabaseChanges": {whole: command}}
        self.link.notify("workspace/didChangeConfiguration", {"settings": settings})

    def _change(self, shown: Shown, text: str) -> None:
        if text == shown.text:
            return
        self._version += 1
        shown.text, shown.version, shown.generation = text, self._version, self._generation
        self._published.pop(shown.uri, None)
        self.link.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": shown.uri, "version": shown.version}, "contentChanges": [{"text": text}]},
        )

    def _hide(self, shown: Shown) -> None:
        self.link.notify("textDocument/didClose", {"textDocument": {"uri": shown.uri}})

    def _answer(self, method: str, params: Any) -> Any:
        if method == "client/registerCapability":
            self.can |= registered(params)
            self._wake()
        return reply(self.server, self.uri("."), method, params)

    def _notice(self, method: str, params: Any) -> None:
        if method == "textDocument/publishDiagnostics":
            version = params.get("version")
            self._versioned = self._versioned or version is not None
            found = Published(version, params.get("diagnostics") or [], time.monotonic())
            self._published[self._own(params["uri"])] = found
        elif method == "$/progress":
            kind = (params.get("value") or {}).get("kind")
            if kind == "begin":
                self._busy.add(params["token"])
                self._was_busy = True
            elif kind == "end":
                self._busy.discard(params["token"])
        self._wake()

    def _own(self, uri: str) -> str:
        """The address as we write it, however the server escapes it."""
        path, inside = self.path(uri)
        return self.uri(path) if inside else uri

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()
