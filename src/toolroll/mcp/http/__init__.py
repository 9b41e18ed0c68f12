"""MCP over streamable HTTP, for clients on this machine that have the token.

Front: `serve`. The `Gate` checks every request of a `HttpServer`, then `transport` brings it to `mcp.session`.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import socket
from collections.abc import Sequence

from toolroll.host.network.peers import TcpPeers
from toolroll.mcp.backend import Backend
from toolroll.mcp.http.gate import PATH, Gate
from toolroll.mcp.http.server import HttpServer
from toolroll.mcp.http.transport import StreamableHttp
from toolroll.result import ErrorCode, ToolError

__all__ = ["listen", "serve"]

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_MIN_TOKEN_CHARS = 16
_BACKLOG = 128


def serve(
    backend: Backend, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None, names: Sequence[str] = ()
) -> int:
    """Serve the backend until SIGINT, SIGTERM or SIGHUP, then cancel all calls and close it; returns the exit status.

    Prints to stdout how to connect. Without a token, one is generated and printed there once. An address that other
    machines can reach is refused unless `names` holds the host names that they use.
    """
    try:
        key = _check_token(token) if token else secrets.token_urlsafe(32)
        with listen(host, port, names) as listening:
            actual = listening.getsockname()[1]
            place = f"{names[0] if names else f'[{host}]' if ':' in host else host}:{actual}"
            hosts = frozenset(f"{name.lower()}:{actual}" for name in names or _LOCAL)
            text = _connection_help(
                backend.name, f"http://{place}{PATH}", "<the token that you gave>" if token else key
            )
            gate = Gate(token=key, hosts=hosts, peers=TcpPeers(others=bool(names)))
            transport = StreamableHttp(backend, gate)
            server = HttpServer(listening, transport.answer, transport.look)
            server.run(lambda: print(text, flush=True), transport.stop)
    finally:
        backend.close()
    return 0


def _check_token(token: str) -> str:
    if len(token) < _MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        message = f"A token has at least {_MIN_TOKEN_CHARS} ASCII characters and no spaces. Leave it out to get one."
        raise ToolError(ErrorCode.VALIDATION, message)
    return token


def listen(host: str, port: int, names: Sequence[str]) -> socket.socket:
    """A listening socket; an address that other machines can reach needs `names`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, OverflowError) as error:
        raise ToolError(ErrorCode.VALIDATION, f"There is no address {host!r} with port {port}: {error}.") from None
    if not names and not ipaddress.ip_address(address[0]).is_loopback:
        message = (
            f"{host!r} can be reached from other machines. Use 127.0.0.1, or say by which names it is to be reached."
        )
        raise ToolError(ErrorCode.SECURITY, message)
    # Without TCP_NODELAY, which connections get from the listening socket, small answers may take 40 ms longer.
    listening = socket.socket(family, kind, protocol)
    try:
        # Without this, a port stays in use for a minute after the last server on it has ended.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        message = f"Port {port} of {host} cannot be used: {error.strerror}. Choose another one, or 0 for any free one."
        raise ToolError(ErrorCode.CONFLICT, message) from None
    return listening


def _connection_help(name: str, url: str, token: str) -> str:
    header = f"Authorization: Bearer {token}"
    entry = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    return f"""\
Serving MCP at {url}
Each request needs the header  {header}

Claude Code:
  claude mcp add --transport http {name} {url} --header '{header}'
Any other client, in its mcpServers:
  {json.dumps({name: entry})}

Ctrl-C ends the server and all that it has begun."""
