"""MCP over streamable HTTP, for clients on this machine that have the token."""

from __future__ import annotations

import ipaddress
import json
import secrets
import socket
from collections.abc import Sequence

from toolroll.mcp.backend import Offer
from toolroll.mcp.http.gate import PATH
from toolroll.result import ErrorCode, ToolError

__all__ = ["serve"]

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_SHORTEST_TOKEN = 16
_BACKLOG = 128


def serve(
    offer: Offer, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None, names: Sequence[str] = ()
) -> int:
    """Serve the offer until SIGINT, SIGTERM or SIGHUP, then end all work and close it; gives the exit status.

    Says on stdout how to connect. Without a token one is made and shown there, once. An address that others can
    reach is refused unless `names` has the names under which they do.
    """
    try:
        key = _checked(token) if token else secrets.token_urlsafe(32)
        with _listening(host, port, names) as listening:
            try:
                from toolroll.mcp.http.listener import run
            except ImportError as error:
                message = "Serving over HTTP needs the MCP SDK. Add it with: pip install 'toolroll[mcp]'."
                raise ToolError(ErrorCode.UNSUPPORTED, message) from error
            actual = listening.getsockname()[1]
            place = f"{names[0] if names else f'[{host}]' if ':' in host else host}:{actual}"
            hosts = frozenset(f"{name.lower()}:{actual}" for name in names or _LOCAL)
            words = _help(offer.name, f"http://{place}{PATH}", "<the token that you gave>" if token else key)
            run(offer, listening, token=key, hosts=hosts, ready=lambda: print(words, flush=True))
    finally:
        offer.close()
    return 0


def _checked(token: str) -> str:
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        message = f"A token has at least {_SHORTEST_TOKEN} ASCII characters and no spaces. Leave it out to get one."
        raise ToolError(ErrorCode.VALIDATION, message)
    return token


def _listening(host: str, port: int, names: Sequence[str]) -> socket.socket:
    """A socket on which clients are heard; never one that others can reach by accident."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, OverflowError) as error:
        raise ToolError(ErrorCode.VALIDATION, f"There is no address {host!r} with port {port}: {error}.") from None
    if not names and not ipaddress.ip_address(address[0]).is_loopback:
        message = (
            f"{host!r} can be reached from other machines. Use 127.0.0.1, or say by which names it is to be reached."
        )
        raise ToolError(ErrorCode.SECURITY, message)
    # Only with its protocol named does asyncio send small answers at once, 40 ms earlier.
    listening = socket.socket(family, kind, protocol)
    try:
        # Without this, a port stays taken for a minute after the last server on it has ended.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        message = f"Port {port} of {host} cannot be used: {error.strerror}. Choose another one, or 0 for any free one."
        raise ToolError(ErrorCode.CONFLICT, message) from None
    return listening


def _help(name: str, url: str, token: str) -> str:
    header = f"Authorization: Bearer {token}"
    entry = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    return "\n".join(
        (
            f"Serving MCP at {url}",
            f"Each request needs the header  {header}",
            "",
            "Claude Code:",
            f"  claude mcp add --transport http {name} {url} --header '{header}'",
            "Any other client, in its mcpServers:",
            f"  {json.dumps({name: entry})}",
            "",
            "Ctrl-C ends the server and all that it has begun.",
        )
    )
