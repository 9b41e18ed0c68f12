"""The HTTP server itself: its connections, its patience, its sessions, and its end."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from toolroll.mcp.backend import Offer
from toolroll.mcp.http.calls import Calls
from toolroll.mcp.http.connection import Connection
from toolroll.mcp.http.gate import MOST_BYTES, Gate
from toolroll.mcp.http.handlers import Handlers, server_of
from toolroll.mcp.http.short import ShortWay

HEAD_SECONDS = 10
"""How long a client may take to send the head of a request."""
IDLE_SECONDS = 75
SESSION_SECONDS = 30 * 60
MOST_SESSIONS = 64
MOST_CONNECTIONS = 256
_LAST_SECONDS = 3


def run(
    offer: Offer, listening: socket.socket, *, token: str, hosts: frozenset[str], ready: Callable[[], None]
) -> None:
    """Serve until the process is asked to end; the calls that were begun have been cancelled then."""
    asyncio.run(_run(offer, listening, token, hosts, ready))


async def _run(
    offer: Offer, listening: socket.socket, token: str, hosts: frozenset[str], ready: Callable[[], None]
) -> None:
    calls = Calls(offer)
    handlers = Handlers(offer, calls)
    sessions = StreamableHTTPSessionManager(
        server_of(offer, handlers),
        session_idle_timeout=SESSION_SECONDS,
        max_sessions=MOST_SESSIONS,
        max_request_body_size=MOST_BYTES,
    )
    way = ShortWay(sessions.handle_request, calls, seconds=SESSION_SECONDS / 10)
    gate = Gate(way, token=token, hosts=hosts)
    server = _Server(gate, partial(Connection, way, HEAD_SECONDS), calls, handlers)
    forget = offer.watch(handlers.changed)
    try:
        async with sessions.run():
            ready()
            await server.serve([listening])
    finally:
        forget()
        await calls.stop(_LAST_SECONDS)
        calls.close()


class _Server(uvicorn.Server):
    """Ends all work when it is asked to end, and does not pass the signal on: this end is an ordinary one."""

    def __init__(self, gate: Gate, connection: Any, calls: Calls, handlers: Handlers) -> None:
        self._calls = calls
        self._handlers = handlers
        self._asked = False
        super().__init__(
            uvicorn.Config(
                gate,
                http=connection,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=_LAST_SECONDS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.force_exit = self._asked
        self._asked = True

    async def on_tick(self, counter: int) -> bool:
        if self._asked and not self.should_exit:
            # First the work, so that its clients still learn that it has ended.
            await self._calls.stop(_LAST_SECONDS)
            self._handlers.listening.close()
            self.should_exit = True
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _ends()}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def _ends() -> tuple[signal.Signals, ...]:
    """The signals that end it; the end of the terminal only where that was not told to be passed over, as by nohup."""
    asked = (signal.SIGINT, signal.SIGTERM)
    return asked if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*asked, signal.SIGHUP)
