"""Checks of a request to a server on this machine: Host, Origin, token, and the process that sends it.

Every program on the machine can reach a local port, and so can every page in a browser through DNS rebinding. So a
request must carry the token, must name this server in Host, and must not come from a page of another origin. All of
that is checked before the body is read.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from toolroll.host.network.peers import TcpPeers
from toolroll.mcp.http.connection import Headers, HttpConnection, HttpRefusedError, HttpRequest, header_values

PATH = "/mcp"
_METHODS = ("POST", "GET", "DELETE")


class Gate:
    """Checks the requests to an MCP server."""

    def __init__(self, *, token: str, hosts: frozenset[str], peers: TcpPeers | None = None) -> None:
        """`hosts` are the accepted values of the Host header, in lower case.

        A page may send requests if its origin has one of these names, with any port.
        """
        self._peers = peers
        self._token = hash_token(token.encode())
        self._hosts = hosts
        names = "|".join(re.escape(re.sub(r":\d+$", "", host)) for host in hosts)
        self._origin = re.compile(rf"https?://(?:{names})(?::\d{{1,5}})?")

    def check(self, request: HttpRequest, connection: HttpConnection) -> None:
        """Raise HttpRefusedError for a request that may not come in."""
        if request.path != PATH:
            raise HttpRefusedError(404, f"There is nothing here. The server is at {PATH}.")
        check_host(request.headers, self._hosts)
        if not all(self._origin.fullmatch(origin.lower()) for origin in header_values(request.headers, b"origin")):
            raise HttpRefusedError(403, "Requests from pages of other origins are refused.")
        check_token(request.headers, self._token)
        if request.method not in _METHODS:
            raise HttpRefusedError(405, "Only POST, GET and DELETE.", (b"allow", ", ".join(_METHODS).encode()))
        if self._peers is not None:
            check_client(connection, self._peers)


def check_host(headers: Headers, hosts: frozenset[str]) -> None:
    """Refuse a request whose Host is none of `hosts`, which are in lower case: DNS rebinding sends another name."""
    given = header_values(headers, b"host")
    if len(given) != 1 or given[0].lower() not in hosts:
        raise HttpRefusedError(421, "The Host header does not name this server.")


def check_token(headers: Headers, expected: bytes) -> None:
    """Refuse a request without the bearer token whose `hash_token` is `expected`."""
    given = header_values(headers, b"authorization")
    if not given:
        raise HttpRefusedError(401, "A token is needed.", (b"www-authenticate", b'Bearer realm="toolroll"'))
    scheme, _, token = given[0].partition(" ")
    right = hmac.compare_digest(hash_token(token.strip().encode("latin-1")), expected)
    if len(given) > 1 or scheme.lower() != "bearer" or not right:
        wrong = b'Bearer realm="toolroll", error="invalid_token"'
        raise HttpRefusedError(401, "The token is not the right one.", (b"www-authenticate", wrong))


def check_client(connection: HttpConnection, peers: TcpPeers) -> None:
    """Refuse a request unless the process at the other end of its connection may use the server.

    A connection is examined with its first request: its end there stays the same socket.
    """
    if not connection.is_examined:
        if why := peers.refusal(*connection.ends):
            raise HttpRefusedError(403, why)
        connection.is_examined = True


def hash_token(token: bytes) -> bytes:
    """The form in which tokens are kept and compared."""
    return hashlib.sha256(token).digest()
