"""The HTTP server process: connections, timeouts, sessions of the SDK, and an orderly end on a signal."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import h11
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolroll.mcp.backend import Backend
from toolroll.mcp.http.calls import ToolCalls
from toolroll.mcp.http.gate import MAX_BODY_BYTES, Gate
from toolroll.mcp.http.handlers import Handlers, build_server

HEAD_TIMEOUT_S = 10
"""Time in which a client must send the head of a request."""
IDLE_TIMEOUT_S = 75
SESSION_TIMEOUT_S = 30 * 60
MAX_SESSIONS = 64
MAX_CONNECTIONS = 256
_STOP_TIMEOUT_S = 3


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
        await calls.stop(_STOP_TIMEOUT_S)
        calls.close()


class _HeadTimeout(H11Protocol):
    """Close a connection whose client does not finish the head of a request; uvicorn has no such limit."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_TIMEOUT_S, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        unfinished = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if not unfinished:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Server(uvicorn.Server):
    """End all calls when a signal asks for the end, and exit normally instead of raising the signal again."""

    def __init__(self, gate: Gate, calls: ToolCalls, handlers: Handlers) -> None:
        self._calls = calls
        self._handlers = handlers
        self._asked = False
        settings: dict[str, Any] = {"ws": "none", "loop": "asyncio", "lifespan": "off", "http": _HeadTimeout}
        settings |= {"log_config": None, "access_log": False, "server_header": False, "proxy_headers": False}
        settings |= {"limit_concurrency": MAX_CONNECTIONS, "timeout_keep_alive": IDLE_TIMEOUT_S}
        super().__init__(uvicorn.Config(gate, timeout_graceful_shutdown=_STOP_TIMEOUT_S, **settings))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.force_exit = self._asked
        self._asked = True

    async def on_tick(self, counter: int) -> bool:
        if self._asked and not self.should_exit:
            # The calls end first, while their clients can still get the error.
            await self._calls.stop(_STOP_TIMEOUT_S)
            self._handlers.subscriptions.close()
            self.should_exit = True
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _ending_signals()}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def _ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that end the server; SIGHUP only where it is not ignored, as nohup does."""
    always = (signal.SIGINT, signal.SIGTERM)
    return always if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*always, signal.SIGHUP)
