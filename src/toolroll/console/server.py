"""The console process: claim the user's console, serve it, and end on a signal or when nothing uses it."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable

from toolroll.console.app import ConsoleApp
from toolroll.console.relay import ControlRelay
from toolroll.host.network.peers import TcpPeers
from toolroll.host.runtime.console_record import ConsoleRecord, claim_console, publish_console
from toolroll.mcp.http import listen
from toolroll.mcp.http.server import HttpServer

IDLE_S = 60.0
"""A console that ends by itself waits as long without a page and without a process."""
LOOK_S = 5.0
"""How often that is looked at."""
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
            server = HttpServer(listening, app.answer)
            publish_console(record)
            if while_used:
                watch = threading.Thread(target=_end_when_unused, args=(server, relay), daemon=True)
                watch.start()
            server.run(lambda: ready(record), lambda _seconds: relay.end())
    return True


def _end_when_unused(server: HttpServer, relay: ControlRelay) -> None:
    used = time.monotonic()
    while time.monotonic() - used <= IDLE_S:
        time.sleep(LOOK_S)
        if relay.followers or relay.processes():
            used = time.monotonic()
    server.end()
