"""A server that has been greeted: what it can do, and questions to it in the protocol of its era."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from toolroll.host.jsonrpc.connection import GoneError, LateError, RefusedError
from toolroll.host.mcp.http import STATELESS
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.progress import Progress

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_WE = {"name": "toolroll", "version": "0.1"}
_META = "io.modelcontextprotocol/"
_UNSUPPORTED_VERSION = -32022
_MOST_PAGES = 50
_MOST_ITEMS = 1000
_MOST_BYTES = 16_000_000
TOOLS_CHANGED = "notifications/tools/list_changed"


class Line(Protocol):
    """A way to a server, whatever the wire."""

    version: str
    gone: GoneError | None

    def ask(
        self,
        method: str,
        params: dict[str, Any],
        token: Token,
        deadline: float,
        headers: Mapping[str, str] | None = None,
    ) -> Any: ...
    def tell(self, method: str, params: dict[str, Any]) -> None: ...
    def listen(self, params: dict[str, Any]) -> None: ...
    def close(self, how: str = "was closed", wait: float = 0.0) -> None: ...


Notice = Callable[[str, Any], None]


class Session:
    """Asks one server. Any thread may; what the server tells by itself comes in a thread of the line's."""

    def __init__(self, connect: Callable[[Notice], Line], changed: Callable[[], None]) -> None:
        """`changed` is called when the server says that its tools are others now."""
        self._changed = changed
        self._watched: dict[int, Progress] = {}
        self._numbers = itertools.count(1)
        self._capabilities: dict[str, Any] = {}
        self.instructions = ""
        self.line = connect(self._notice)

    def greet(self, token: Token, deadline: float, *, stateless: bool = False) -> None:
        """Agree on a protocol: the handshake, which nearly every server knows, else the one without.

        Asked the other way round, some servers of today would not answer at all.
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
        """Whether the server offers "tools", "resources" or "prompts"."""
        return what in self._capabilities

    def ask(
        self,
        method: str,
        params: dict[str, Any],
        token: Token,
        deadline: float,
        *,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The result of a request; `headers` are for a server that is reached by HTTP."""
        number = next(self._numbers)
        meta: dict[str, Any] = self._envelope() if self.line.version == STATELESS else {}
        if progress is not None:
            meta["progressToken"] = number
            self._watched[number] = progress
        try:
            found = self.line.ask(method, {**params, "_meta": meta} if meta else params, token, deadline, headers)
        finally:
            self._watched.pop(number, None)
        return _checked(found)

    def every(self, method: str, key: str, token: Token, deadline: float) -> list[Any]:
        """All items of a list that comes in pages; of one without an end, as many as can be borne."""
        items: list[Any] = []
        size = 0
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = self.ask(method, {} if cursor is None else {"cursor": cursor}, token, deadline)
            found = page.get(key)
            items += found if isinstance(found, list) else []
            size += len(msgspec.json.encode(found))
            cursor, before = page.get("nextCursor"), cursor
            if not isinstance(cursor, str) or cursor == before or len(items) >= _MOST_ITEMS or size > _MOST_BYTES:
                break
        return items[:_MOST_ITEMS]

    def _initialize(self, token: Token, deadline: float) -> None:
        asked = {"protocolVersion": HANDSHAKE[-1], "capabilities": {}, "clientInfo": _WE}
        found = _checked(self.line.ask("initialize", asked, token, deadline))
        version = found.get("protocolVersion")
        if version not in HANDSHAKE:
            raise ToolError(ErrorCode.UNSUPPORTED, f"It speaks the protocol {str(version)[:40]!r}, which is not known.")
        self.line.version = str(version)
        self._adopt(found)
        self.line.tell("notifications/initialized", {})

    def _discover(self, token: Token, deadline: float) -> None:
        self.line.version = STATELESS
        asked = {"_meta": self._envelope()}
        try:
            found = _checked(self.line.ask("server/discover", asked, token, deadline))
        except RefusedError as refused:
            if refused.code != _UNSUPPORTED_VERSION:
                raise
            # It may say so to whoever greeted it in the other way before; there is no other version to offer.
            found = _checked(self.line.ask("server/discover", asked, token, deadline))
        if STATELESS not in (found.get("supportedVersions") or ()):
            raise ToolError(ErrorCode.UNSUPPORTED, "It speaks no protocol that is known here.")
        self._adopt(found)
        tools = self._capabilities.get("tools")
        if isinstance(tools, dict) and tools.get("listChanged"):
            self.line.listen({"notifications": {"toolsListChanged": True}, "_meta": self._envelope()})

    def _adopt(self, found: dict[str, Any]) -> None:
        capabilities = found.get("capabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.instructions = str(found.get("instructions") or "")

    def _envelope(self) -> dict[str, Any]:
        return {f"{_META}protocolVersion": STATELESS, f"{_META}clientInfo": _WE, f"{_META}clientCapabilities": {}}

    def _notice(self, method: str, params: Any) -> None:
        if method == TOOLS_CHANGED:
            self._changed()
        elif method == "notifications/progress" and isinstance(params, dict):
            number, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
            watcher = self._watched.get(number) if isinstance(number, int) else None
            if watcher is not None and isinstance(done, int | float):
                from toolroll.text.terminal import clean

                note = clean(str(params.get("message") or "").encode("utf-8", "replace"))[:500]
                watcher(done, total if isinstance(total, int | float) else None, note)


def _checked(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ToolError(ErrorCode.EXECUTION, "Its answer is no result of the protocol.")
    if found.get("resultType") == "input_required":
        raise ToolError(ErrorCode.UNSUPPORTED, "It wants something of the user before it answers, which it cannot get.")
    return found


__all__ = ["HANDSHAKE", "TOOLS_CHANGED", "GoneError", "LateError", "Line", "RefusedError", "Session"]
