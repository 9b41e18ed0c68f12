"""Transport to an MCP server that runs as a child process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolroll.host.jsonrpc.connection import Connection, GoneError
from toolroll.host.jsonrpc.framing import LineFraming

if TYPE_CHECKING:
    from toolroll.host.mcp.session import Headers, Params
    from toolroll.host.mcp.spawn import McpProcess
    from toolroll.host.runtime.cancellation import CancelToken


class StdioTransport:
    """A `Transport` over the pipes of a process; notifications arrive in the connection's thread."""

    def __init__(self, spawned: McpProcess, *, on_notification: Callable[[str, Any], None], memory: int) -> None:
        self.version = ""
        self._connection = Connection(
            spawned.process,
            LineFraming(),
            answer=lambda method, _: {"ping": {}}[method],  # a server may ask nothing else
            on_notification=on_notification,
            cancellation=_make_cancellation,
            on_end=lambda: None,
            memory=memory,
            kill=spawned.end,
        )

    @property
    def gone(self) -> GoneError | None:
        return self._connection.gone

    def ask(self, method: str, params: Params, token: CancelToken, deadline: float, headers: Headers = None) -> Any:
        del headers
        return self._connection.request(method, params).wait(token, deadline)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._connection.notify(method, params)

    def subscribe(self, params: dict[str, Any]) -> None:
        """Ask for notifications about changes; the request stays open."""
        self._connection.request("subscriptions/listen", params)

    def close(self, how: str = "was closed", wait: float = 0.0) -> None:
        """End the server and all its processes; with `wait`, its input ends first and it may clean up."""
        if wait and self.gone is None:
            self._connection.end_input()
        self._connection.close(how, wait)


def _make_cancellation(number: int) -> dict[str, Any]:
    params = {"requestId": number, "reason": "the caller does not wait any more"}
    return {"method": "notifications/cancelled", "params": params}
