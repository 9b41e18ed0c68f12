"""uvicorn with our limits: connections, time for the head of a request, and an orderly end on a signal."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolroll.mcp.http.gate import EXAMINED

HEAD_TIMEOUT_S = 10
"""Time in which a client must send the head of a request."""
IDLE_TIMEOUT_S = 75
MAX_CONNECTIONS = 256
STOP_TIMEOUT_S = 3


class _HeadTimeout(H11Protocol):
    """Close a connection whose client does not finish the head of a request; uvicorn has no such limit."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn does
        super().connection_made(transport)
        self.app_state = {**self.app_state, EXAMINED: set()}  # each request gets a copy, with the same set
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


class SignalServer(uvicorn.Server):
    """Exit normally when a signal asks for the end, instead of raising the signal again."""

    def __init__(self, app: Any) -> None:
        self._asked = False
        settings: dict[str, Any] = {"ws": "none", "loop": "asyncio", "lifespan": "off", "http": _HeadTimeout}
        settings |= {"log_config": None, "access_log": False, "server_header": False, "proxy_headers": False}
        settings |= {"limit_concurrency": MAX_CONNECTIONS, "timeout_keep_alive": IDLE_TIMEOUT_S}
        super().__init__(uvicorn.Config(app, timeout_graceful_shutdown=STOP_TIMEOUT_S, **settings))

    async def before_end(self) -> None:
        """Called once when a signal asks for the end, while clients are still connected."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.force_exit = self._asked
        self._asked = True

    async def on_tick(self, counter: int) -> bool:
        if self._asked and not self.should_exit:
            await self.before_end()
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
