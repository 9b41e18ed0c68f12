"""The HTTP server process, and its orderly end on a signal."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial

from toolroll.host.network.peers import TcpPeers
from toolroll.mcp.backend import Backend
from toolroll.mcp.http.gate import App, Gate
from toolroll.mcp.http.transport import StreamableHttp
from toolroll.mcp.http.uvicorn_server import STOP_TIMEOUT_S, SignalServer


def run(
    backend: Backend,
    listening: socket.socket,
    *,
    token: str,
    hosts: frozenset[str],
    ready: Callable[[], None],
    others: bool = False,
) -> None:
    """Serve until the process gets a signal to end; all running calls are cancelled then.

    `others`: programs of other users and other machines may use it, too, with the token.
    """
    make_gate = partial(Gate, token=token, hosts=hosts, peers=TcpPeers(others=others))
    asyncio.run(_run(backend, listening, make_gate, ready))


async def _run(
    backend: Backend, listening: socket.socket, make_gate: Callable[[App], Gate], ready: Callable[[], None]
) -> None:
    transport = StreamableHttp(backend)
    server = _Server(make_gate(transport.handle), transport)
    try:
        ready()
        await server.serve([listening])
    finally:
        await transport.stop(STOP_TIMEOUT_S)
        transport.close()


class _Server(SignalServer):
    """End all calls when a signal asks for the end."""

    def __init__(self, gate: Gate, transport: StreamableHttp) -> None:
        super().__init__(gate)
        self._transport = transport

    async def before_end(self) -> None:
        # The calls end first, while their clients can still get the error.
        await self._transport.stop(STOP_TIMEOUT_S)
