"""The console process: claim the user's console, serve it, and end on a signal or when nothing uses it."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable

from toolroll.console.app import ConsoleApp
from toolroll.console.relay import ControlRelay
from toolroll.host.network.peers import TcpPeers
from toolroll.host.runtime.console_record import ConsoleRecord, claim_console, publish_console
from toolroll.mcp.http import listen
from toolroll.mcp.http.uvicorn_server import SignalServer

IDLE_S = 60.0
"""A console that ends by itself waits as long without a page and without a process."""
LOOK_TICKS = 50
"""How often that is looked at, in tenths of a second."""
_TOKEN_BYTES = 32


def run_console(port: int, ready: Callable[[ConsoleRecord], None], *, while_used: bool = False) -> bool:
    """Serve until a signal, or `while_used` until nothing uses it; False if another console of this user runs.

    ToolError if the port cannot be used.
    """
    with claim_console() as claimed:
        if not claimed:
            return False
        with listen("127.0.0.1", port, ()) as listening:
            record = ConsoleRecord(listening.getsockname()[1], secrets.token_urlsafe(_TOKEN_BYTES), os.getpid())
            relay = ControlRelay()
            app = ConsoleApp(relay, token=record.token, port=record.port, peers=TcpPeers())
            server = _ConsoleServer(app, relay, while_used=while_used)

            async def serve() -> None:
                publish_console(record)
                ready(record)
                await server.serve([listening])

            asyncio.run(serve())
    return True


class _ConsoleServer(SignalServer):
    def __init__(self, app: ConsoleApp, relay: ControlRelay, *, while_used: bool) -> None:
        super().__init__(app)
        self._relay = relay
        self._while_used = while_used
        self._used = time.monotonic()

    async def before_end(self) -> None:
        self._relay.end()

    async def on_tick(self, counter: int) -> bool:
        if self._while_used and counter % LOOK_TICKS == 0:
            if self._relay.followers or await self._relay.processes():
                self._used = time.monotonic()
            elif time.monotonic() - self._used > IDLE_S:
                self.should_exit = True
        return await super().on_tick(counter)
