"""The HTTP server process: sessions of the SDK, and an orderly end on a signal."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from toolroll.mcp.backend import Backend
from toolroll.mcp.http.calls import ToolCalls
from toolroll.mcp.http.gate import MAX_BODY_BYTES, Gate
from toolroll.mcp.http.handlers import Handlers, build_server
from toolroll.mcp.http.uvicorn_server import STOP_TIMEOUT_S, SignalServer

SESSION_TIMEOUT_S = 30 * 60
MAX_SESSIONS = 64


def run(
    backend: Backend, listening: socket.socket, *, token: str, hosts: frozenset[str], ready: Callable[[], None]
) -> None:
    """Serve until the process gets a signal to end; all running calls are cancelled then."""
    asyncio.run(_run(backend, listening, token, hosts, ready))


async def _run(
    backend: Backend, listening: socket.socket, token: str, hosts: frozenset[str], ready: Callable[[], None]
) -> None:
    calls = ToolCalls(backend)
    handlers = Handlers(backend, calls)
    sessions = StreamableHTTPSessionManager(
        build_server(backend, handlers),
        session_idle_timeout=SESSION_TIMEOUT_S,
        max_sessions=MAX_SESSIONS,
        max_request_body_size=MAX_BODY_BYTES,
    )
    server = _Server(Gate(sessions.handle_request, token=token, hosts=hosts), calls, handlers)
    unwatch = backend.watch(handlers.on_list_changed)
    try:
        async with sessions.run():
            ready()
            await server.serve([listening])
    finally:
        unwatch()
        await calls.stop(STOP_TIMEOUT_S)
        calls.close()


class _Server(SignalServer):
    """End all calls when a signal asks for the end."""

    def __init__(self, gate: Gate, calls: ToolCalls, handlers: Handlers) -> None:
        super().__init__(gate)
        self._calls = calls
        self._handlers = handlers

    async def before_end(self) -> None:
        # The calls end first, while their clients can still get the error.
        await self._calls.stop(STOP_TIMEOUT_S)
        self._handlers.subscriptions.close()
