"""Client of one running language server: handshake, open documents, published diagnostics."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from toolroll.host.lsp.file_changes import FileSnapshot, find_changed_folders, find_changes
from toolroll.host.lsp.servers import LanguageServer, language_id
from toolroll.host.rpc.channel import Channel, ServedCall
from toolroll.host.rpc.child import ChildStream
from toolroll.host.rpc.codecs import ContentLengthCodec
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.text.positions import Positions, Units

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import ChildProcess


_CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "textDocument": {
        "synchronization": {"dynamicRegistration": False}, "publishDiagnostics": {"versionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]}, "definition": {"linkSupport": True}, "references": {},
        "rename": {"prepareSupport": False},
    },
    "workspace": {
        "configuration": True, "workspaceFolders": True, "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": False}, "applyEdit": False,
    },
    "window": {"workDoneProgress": True},
}  # fmt: skip
_ACKNOWLEDGED = frozenset({
    "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
    "window/showMessageRequest",
})  # fmt: skip


def make_initialize_params(server: LanguageServer, uri: str) -> dict[str, Any]:
    """The parameters of `initialize`, for a workspace with this URI."""
    asked = {"dynamicRegistration": server.registers, "relatedDocumentSupport": False}
    texts = {**_CAPABILITIES["textDocument"], "diagnostic": asked}
    return {
        # Not our process id: in a sandbox it means another process or none, and the server would end itself.
        "processId": None,
        "clientInfo": {"name": "toolroll"},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": "workspace"}],
        "capabilities": {**_CAPABILITIES, "textDocument": texts},
        "initializationOptions": next(iter(server.settings.values())) if len(server.settings) == 1 else None,
    }


def read_registrations(params: Any) -> dict[str, Any]:
    """The capabilities that a server registers after its start."""
    asked = {"textDocument/diagnostic": "diagnosticProvider"}
    given = (one for one in params.get("registrations", ()) if one.get("method") in asked)
    return {asked[one["method"]]: one.get("registerOptions") or {} for one in given}


def answer_request(server: LanguageServer, uri: str, method: str, params: Any) -> Any:
    """The result of a request from the server; KeyError for an unknown method."""
    if method == "workspace/configuration":
        return [_section(server, item.get("section")) for item in params.get("items", ())]
    if method == "workspace/applyEdit":
        return {"applied": False, "failureReason": "Files are changed by tools only."}
    if method == "workspace/workspaceFolders":
        return [{"uri": uri, "name": "workspace"}]
    if method == "window/showDocument":
        return {"success": False}
    if method in _ACKNOWLEDGED or method.endswith("/refresh"):
        return None
    raise KeyError(method)


def _section(server: LanguageServer, section: str | None) -> Any:
    """A section of the settings by its dotted name."""
    found: Any = server.settings
    for name in (section or "").split("."):
        if name == "":
            break
        found = found.get(name) if isinstance(found, dict) else None
    return found or None


_CPP = re.compile(r"^\s*(?:class|namespace|template|using|@interface)\b", re.MULTILINE)
_MAX_OPEN_DOCUMENTS = 64
_END_TIMEOUT_S = 0.5  # for a server to end by itself
_REGISTRATION_TIMEOUT_S = 5.0  # for a server to register further capabilities
_LOADING_START_S = 3.0  # in which a server that loads a project reports that it does


@dataclass(slots=True)
class OpenDocument:
    """A document that is open on the server, and the state of the workspace it was opened in."""

    path: str
    uri: str
    text: str
    version: int
    generation: int


@dataclass(frozen=True, slots=True)
class PublishedDiagnostics:
    """Diagnostics that the server sent without a request."""

    version: int | None
    items: list[dict[str, Any]]
    at: float


class LspClient:
    """Talks to one server. A sequence of opened documents and requests that belong together holds `lock`."""

    def __init__(self, server: LanguageServer, process: ChildProcess, root: str, memory: int) -> None:
        self.server = server
        self.lock = threading.RLock()
        self.units: Units = "utf-16"
        self.can: dict[str, Any] = {}
        self.snapshot = FileSnapshot()
        self.timeouts = 0
        """Requests in a row without an answer in time."""
        self._root = root
        self._news = threading.Condition()
        self._open_documents: dict[str, OpenDocument] = {}
        self._published: dict[str, PublishedDiagnostics] = {}
        self._busy: set[str | int] = set()
        self._was_busy = False
        self._versioned = False
        self._version = 0
        self._generation = 0
        self._changed: dict[str, int] = {}
        self.started = time.monotonic()
        self.pid = process.pid
        self.connection = Channel(
            ChildStream(process, memory),
            ContentLengthCodec(),
            serve=self._answer,
            on_notification=self._on_notification,
            on_end=self._wake,
        )

    def start(self, token: CancelToken, deadline: float) -> None:
        """Exchange capabilities with the server."""
        params = make_initialize_params(self.server, self.uri("."))
        result = self.connection.request("initialize", params).wait(token, deadline) or {}
        self.can = result.get("capabilities") or {}
        units = self.can.get("positionEncoding")
        self.units = units if units in ("utf-8", "utf-32") else "utf-16"
        self.connection.notify("initialized", {})
        if self.server.settings:
            self.connection.notify("workspace/didChangeConfiguration", {"settings": self.server.settings})
        if self.server.registers:
            until = min(deadline, time.monotonic() + _REGISTRATION_TIMEOUT_S)
            self.wait(lambda: self.offers("diagnosticProvider"), token, until)
        self.started = time.monotonic()

    def offers(self, what: str) -> bool:
        """True when the server declares this capability, even with empty options."""
        return self.can.get(what) not in (None, False)

    def close(self) -> None:
        """Ask the server to end, then end it with all its children."""
        wait = 0.0
        with suppress(Exception):  # a broken server is killed all the same
            self.connection.request("shutdown", None).wait(CancelToken(), time.monotonic() + _END_TIMEOUT_S)
            self.connection.notify("exit", None)
            wait = _END_TIMEOUT_S
        self.connection.close(wait=wait)

    def uri(self, path: str) -> str:
        whole = self._root if path == "." else f"{self._root}/{path}"
        return "file://" + quote(os.fsencode(whole), safe="/~")

    def path(self, uri: str) -> tuple[str, bool]:
        """The file of a URI, and whether it is in the workspace."""
        if not uri.startswith("file://"):
            return uri, False
        whole = os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))
        above = "/" if self._root == "/" else f"{self._root}/"
        return (whole.removeprefix(above), True) if whole.startswith(above) else (whole, False)

    def positions(self, text: str) -> Positions:
        return Positions(text, self.units)

    def update_files(self, snapshot: FileSnapshot, read: Callable[[str], str | None]) -> None:
        """Report changed files to the server; `read` returns the current text of a file, None if it is gone."""
        changes = find_changes(self.snapshot.files, snapshot.files)
        folders = find_changed_folders(self.snapshot.files, snapshot.files)
        self.snapshot = snapshot
        with self.lock:
            if changes:
                self._generation += 1
                self._changed |= dict.fromkeys(changes, self._generation)
                events = [{"uri": self.uri(path), "type": kind} for path, kind in (folders | changes).items()]
                self.connection.notify("workspace/didChangeWatchedFiles", {"changes": events})
            # An open document hides its file, so changed files must be sent again.
            for path in [path for path in self._open_documents if path in changes or path not in snapshot.files]:
                text = read(path)
                if text is None:
                    self.hide(path)
                else:
                    self._change(self._open_documents[path], text)

    def show(self, path: str, text: str) -> OpenDocument:
        """Make this text of a file the current one on the server."""
        with self.lock:
            shown = self._open_documents.pop(path, None)
            if shown is not None and self._must_reopen(shown, text):
                self._hide(shown)
                shown = None
            if shown is None:
                shown = self._open(path, text)
            else:
                self._change(shown, text)
            self._open_documents[path] = shown  # last in order: the one used last
            return shown

    def hide(self, path: str) -> None:
        """Close a document: the file on disk counts again."""
        with self.lock:
            if (shown := self._open_documents.pop(path, None)) is not None:
                self._hide(shown)

    def trim(self, keep: Iterable[str] = ()) -> None:
        """Close the documents that were not used for longest."""
        with self.lock:
            kept = set(keep)
            others = [path for path in self._open_documents if path not in kept]
            for path in others[: max(0, len(self._open_documents) - _MAX_OPEN_DOCUMENTS)]:
                self.hide(path)

    def is_current(self, shown: OpenDocument, version: int) -> bool:
        """True while the server has this version of the document."""
        return self._open_documents.get(shown.path) is shown and shown.version == version

    def get_published(self, shown: OpenDocument, version: int) -> PublishedDiagnostics | None:
        """The diagnostics that the server published for exactly this version."""
        found = self._published.get(shown.uri)
        if found is None or (found.version is None and self._versioned):
            return None
        return found if found.version in (None, version) else None

    def wait(self, ready: Callable[[], bool], token: CancelToken, deadline: float) -> bool:
        """Wait until `ready`; False when the time is up, PeerGoneError when the server has ended."""
        with self._news:
            while not ready():
                if self.connection.gone is not None:
                    raise self.connection.gone
                token.check()
                if (left := deadline - time.monotonic()) <= 0:
                    return False
                self._news.wait(min(POLL_SECONDS, left))
        return True

    def settle(self, token: CancelToken, deadline: float) -> bool:
        """Wait until the server has finished its own work, such as loading the project."""

        def quiet() -> bool:
            begun = self._was_busy or not self.server.loads or time.monotonic() - self.started > _LOADING_START_S
            return begun and not self._busy

        return self.wait(quiet, token, deadline)

    def _must_reopen(self, shown: OpenDocument, text: str) -> bool:
        """True when only other files changed: the server does not publish diagnostics again by itself."""
        if text != shown.text or self.offers("diagnosticProvider"):
            return False
        return any(at > shown.generation for path, at in self._changed.items() if path != shown.path)

    def _open(self, path: str, text: str) -> OpenDocument:
        self._version += 1
        shown = OpenDocument(path, self.uri(path), text, self._version, self._generation)
        self._published.pop(shown.uri, None)
        if self.server.headers and path.endswith(".h") and self._is_c_header(path, text):
            self._declare_c_header(path)
        about = {"uri": shown.uri, "version": shown.version, "languageId": language_id(self.server, path)}
        self.connection.notify("textDocument/didOpen", {"textDocument": {**about, "text": text}})
        return shown

    def _is_c_header(self, path: str, text: str) -> bool:
        """True without compiler options, for a header that is no C++ by its text, where most sources are C."""
        kinds = [language_id(self.server, one) for one in self.snapshot.files if not one.endswith(".h")]
        mostly = 2 * sum(kind != "c" for kind in kinds) <= len(kinds)
        twin = path.removesuffix("h")
        plain = not any(f"{twin}{end}" in self.snapshot.files for end in ("cc", "cpp", "cxx", "m", "mm"))
        return not self.snapshot.config and mostly and plain and _CPP.search(text) is None

    def _declare_c_header(self, path: str) -> None:
        """Declare a header as C.

        Otherwise clangd takes it for C++, where a function of the same name is another one: its uses would be missed.
        """
        whole = f"{self._root}/{path}"
        command = {"workingDirectory": self._root, "compilationCommand": ["clang", "-xc-header", whole]}
        settings = {"compilationDatabaseChanges": {whole: command}}
        self.connection.notify("workspace/didChangeConfiguration", {"settings": settings})

    def _change(self, shown: OpenDocument, text: str) -> None:
        if text == shown.text:
            return
        self._version += 1
        shown.text, shown.version, shown.generation = text, self._version, self._generation
        self._published.pop(shown.uri, None)
        about = {"uri": shown.uri, "version": shown.version}
        params = {"textDocument": about, "contentChanges": [{"text": text}]}
        self.connection.notify("textDocument/didChange", params)

    def _hide(self, shown: OpenDocument) -> None:
        self.connection.notify("textDocument/didClose", {"textDocument": {"uri": shown.uri}})

    def _answer(self, method: str, params: Any, _call: ServedCall) -> Any:
        if method == "client/registerCapability":
            self.can |= read_registrations(params)
            self._wake()
        return answer_request(self.server, self.uri("."), method, params)

    def _on_notification(self, method: str, params: Any) -> None:
        if method == "textDocument/publishDiagnostics":
            version = params.get("version")
            self._versioned = self._versioned or version is not None
            found = PublishedDiagnostics(version, params.get("diagnostics") or [], time.monotonic())
            self._published[self._normalise_uri(params["uri"])] = found
        elif method == "$/progress":
            kind = (params.get("value") or {}).get("kind")
            if kind == "begin":
                self._busy.add(params["token"])
                self._was_busy = True
            elif kind == "end":
                self._busy.discard(params["token"])
        self._wake()

    def _normalise_uri(self, uri: str) -> str:
        """The URI with our escaping, whatever the server uses."""
        path, inside = self.path(uri)
        return self.uri(path) if inside else uri

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()
