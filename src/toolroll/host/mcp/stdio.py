"""Transport to an MCP server that runs as a child process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolroll.host.rpc.channel import Channel
from toolroll.host.rpc.child import ChildStream
from toolroll.host.rpc.codecs import LineCodec, PeerGoneError

if TYPE_CHECKING:
    from toolroll.host.mcp.session import Headers, Params
    from toolroll.host.mcp.spawn import McpProcess
    from toolroll.host.runtime.cancellation import CancelToken


_MAX_NOISE_LINES = 100  # in a row


class StdioTransport:
    """A `Transport` over the pipes of a process; notifications arrive in the connection's thread."""

    def __init__(self, spawned: McpProcess, *, on_notification: Callable[[str, Any], None], memory: int) -> None:
        self.version = ""
        self._stream = ChildStream(spawned.process, memory, spawned.end)
        self._connection = Channel(
            self._stream,
            LineCodec(noise=_MAX_NOISE_LINES),
            serve=lambda method, *_: {"ping": {}}[method],  # a server may ask nothing else
            on_notification=on_notification,
            cancellation=_make_cancellation,
        )

    @property
    def gone(self) -> PeerGoneError | None:
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
            self._stream.end_input()
        self._connection.close(how, wait)


def _make_cancellation(number: int) -> dict[str, Any]:
    params = {"requestId": number, "reason": "the caller does not wait any more"}
    return {"method": "notifications/cancelled", "params": params}
