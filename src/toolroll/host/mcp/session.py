"""A session with one MCP server: handshake, capabilities, requests in the agreed version."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from toolroll.host.rpc.channel import RefusedError
from toolroll.host.rpc.codecs import PeerGoneError
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.runtime.call import Progress
    from toolroll.host.runtime.cancellation import CancelToken

STATELESS = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_CLIENT_INFO = {"name": "toolroll", "version": "0.1"}
_META = "io.modelcontextprotocol/"
_UNSUPPORTED_VERSION = -32022
_MAX_PAGES = 50
_MAX_ITEMS = 1000
_MAX_LIST_BYTES = 16_000_000
TOOLS_CHANGED = "notifications/tools/list_changed"


Params = dict[str, Any]
Headers = Mapping[str, str] | None
"""For HTTP only."""


class Transport(Protocol):
    """Sends messages to one server, over pipes or HTTP."""

    version: str

    @property
    def gone(self) -> PeerGoneError | None: ...

    def ask(self, method: str, params: Params, token: CancelToken, deadline: float, headers: Headers = None) -> Any: ...
    def notify(self, method: str, params: Params) -> None: ...
    def subscribe(self, params: Params) -> None: ...
    def close(self, how: str = "was closed", wait: float = 0.0) -> None: ...


OnNotification = Callable[[str, Any], None]


class McpSession:
    """Asks one server, from any thread; notifications arrive in a thread of the transport."""

    def __init__(self, connect: Callable[[OnNotification], Transport], on_tools_changed: Callable[[], None]) -> None:
        self._on_tools_changed = on_tools_changed
        self._progress: dict[int, Progress] = {}
        self._numbers = itertools.count(1)
        self._capabilities: dict[str, Any] = {}
        self.instructions = ""
        self.transport = connect(self._on_notification)

    def open(self, token: CancelToken, deadline: float, *, stateless: bool = False) -> None:
        """Agree on a version: the handshake, which nearly every server knows, else the stateless protocol.

        In the opposite order some servers would not answer at all.
        """
        if stateless:
            self._discover(token, deadline)
            return
        try:
            self._initialize(token, deadline)
        except RefusedError as refused:
            try:
                self._discover(token, deadline)
            except RefusedError:
                raise refused from None

    def can(self, what: str) -> bool:
        """True when the server has "tools", "resources" or "prompts"."""
        return what in self._capabilities

    def ask(
        self,
        method: str,
        params: Params,
        token: CancelToken,
        deadline: float,
        *,
        progress: Progress | None = None,
        headers: Headers = None,
    ) -> dict[str, Any]:
        """The result of a request."""
        number = next(self._numbers)
        meta: dict[str, Any] = self._envelope() if self.transport.version == STATELESS else {}
        if progress is not None:
            meta["progressToken"] = number
            self._progress[number] = progress
        try:
            found = self.transport.ask(method, {**params, "_meta": meta} if meta else params, token, deadline, headers)
        finally:
            self._progress.pop(number, None)
        return _check_result(found)

    def list_all(self, method: str, key: str, token: CancelToken, deadline: float) -> list[Any]:
        """All items of a paginated list, up to the limits."""
        items: list[Any] = []
        size = 0
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = self.ask(method, {} if cursor is None else {"cursor": cursor}, token, deadline)
            found = page.get(key)
            items += found if isinstance(found, list) else []
            size += len(msgspec.json.encode(found))
            cursor, before = page.get("nextCursor"), cursor
            if not isinstance(cursor, str) or cursor == before or len(items) >= _MAX_ITEMS or size > _MAX_LIST_BYTES:
                break
        return items[:_MAX_ITEMS]

    def _initialize(self, token: CancelToken, deadline: float) -> None:
        asked = {"protocolVersion": HANDSHAKE[-1], "capabilities": {}, "clientInfo": _CLIENT_INFO}
        found = _check_result(self.transport.ask("initialize", asked, token, deadline))
        version = found.get("protocolVersion")
        if version not in HANDSHAKE:
            raise ToolError(ErrorCode.UNSUPPORTED, f"It speaks the protocol {str(version)[:40]!r}, which is not known.")
        self.transport.version = str(version)
        self._adopt(found)
        self.transport.notify("notifications/initialized", {})

    def _discover(self, token: CancelToken, deadline: float) -> None:
        self.transport.version = STATELESS
        asked = {"_meta": self._envelope()}
        try:
            found = _check_result(self.transport.ask("server/discover", asked, token, deadline))
        except RefusedError as refused:
            if refused.code != _UNSUPPORTED_VERSION:
                raise
            # It may refuse a client that has sent `initialize` before; there is no other version to try.
            found = _check_result(self.transport.ask("server/discover", asked, token, deadline))
        if STATELESS not in (found.get("supportedVersions") or ()):
            raise ToolError(ErrorCode.UNSUPPORTED, "It speaks no protocol that is known here.")
        self._adopt(found)
        tools = self._capabilities.get("tools")
        if isinstance(tools, dict) and tools.get("listChanged"):
            self.transport.subscribe({"notifications": {"toolsListChanged": True}, "_meta": self._envelope()})

    def _adopt(self, found: dict[str, Any]) -> None:
        capabilities = found.get("capabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.instructions = str(found.get("instructions") or "")

    def _envelope(self) -> dict[str, Any]:
        return {
            f"{_META}protocolVersion": STATELESS,
            f"{_META}clientInfo": _CLIENT_INFO,
            f"{_META}clientCapabilities": {},
        }

    def _on_notification(self, method: str, params: Any) -> None:
        if method == TOOLS_CHANGED:
            self._on_tools_changed()
        elif method == "notifications/progress" and isinstance(params, dict):
            number, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
            watcher = self._progress.get(number) if isinstance(number, int) else None
            if watcher is not None and isinstance(done, int | float):
                from toolroll.text.terminal import clean

                note = clean(str(params.get("message") or "").encode("utf-8", "replace"))[:500]
                watcher(done, total if isinstance(total, int | float) else None, note)


def _check_result(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ToolError(ErrorCode.EXECUTION, "Its answer is no result of the protocol.")
    if found.get("resultType") == "input_required":
        raise ToolError(ErrorCode.UNSUPPORTED, "The server asked for user input, which is not available here.")
    return found
