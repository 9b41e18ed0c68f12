"""ASGI gate in front of the HTTP server: token, Host, Origin and body size.

Every program on the machine can reach a local port, and so can every page in a browser through DNS rebinding. So a
request must carry the token, must name this server in Host, and must not come from a page of another origin. All of
that is checked before the body is read.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from toolroll.host.network.peers import TcpPeers

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
App = Callable[[Scope, bytes, Receive, Send], Awaitable[None]]
"""Answers a request whose body has been read."""

PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
BODY_TIMEOUT_S = 30.0
"""Time in which a client must send a body."""
EXAMINED = "toolroll.examined"
"""In the state of a connection: the checks that its client has passed."""

_METHODS = ("POST", "GET", "DELETE")
_MAX_LOGGED_CHARS = 100

_log = logging.getLogger("toolroll.mcp")


class HttpRefusedError(Exception):
    """A request that does not pass the gate: the status, the reason and extra headers of the answer."""

    def __init__(self, status: int, reason: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers


class Gate:
    """An ASGI application that passes permitted requests on, with their bodies."""

    def __init__(self, app: App, *, token: str, hosts: frozenset[str], peers: TcpPeers | None = None) -> None:
        """`hosts` are the accepted values of the Host header, in lower case.

        A page may send requests if its origin has one of these names, with any port.
        """
        self._app = app
        self._peers = peers
        self._token = hash_token(token.encode())
        self._hosts = hosts
        names = "|".join(re.escape(re.sub(r":\d+$", "", host)) for host in hosts)
        self._origin = re.compile(rf"https?://(?:{names})(?::\d{{1,5}})?")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            self._check(scope)
            if self._peers is not None:
                await check_client(scope, self._peers)
            async with asyncio.timeout(BODY_TIMEOUT_S):
                body = await read_body(scope, receive)
        except HttpRefusedError as refusal:
            await refuse(scope, refusal, send)
        except TimeoutError:
            await refuse(scope, HttpRefusedError(408, "The body took too long."), send)
        else:
            await self._app(scope, body, receive, send)

    def _check(self, scope: Scope) -> None:
        headers: Headers = scope["headers"]
        if scope["path"] != PATH:
            raise HttpRefusedError(404, f"There is nothing here. The server is at {PATH}.")
        check_host(headers, self._hosts)
        if not all(self._origin.fullmatch(origin.lower()) for origin in header_values(headers, b"origin")):
            raise HttpRefusedError(403, "Requests from pages of other origins are refused.")
        check_token(headers, self._token)
        if scope["method"] not in _METHODS:
            raise HttpRefusedError(405, "Only POST, GET and DELETE.", (b"allow", ", ".join(_METHODS).encode()))


def check_host(headers: Headers, hosts: frozenset[str]) -> None:
    """Refuse a request whose Host is none of `hosts`, which are in lower case: DNS rebinding sends another name."""
    if [one.lower() for one in header_values(headers, b"host")] not in [[host] for host in hosts]:
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


async def check_client(scope: Scope, peers: TcpPeers) -> None:
    """Refuse a request unless the process at the other end of its connection may use the server.

    A connection is examined with its first request: its end there stays the same socket.
    """
    examined: set[TcpPeers] = scope.get("state", {}).get(EXAMINED, set())
    if peers not in examined:
        if why := await asyncio.to_thread(peers.refusal, scope["client"], scope["server"]):
            raise HttpRefusedError(403, why)
        examined.add(peers)


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """The whole body; both the announced and the received size are limited."""
    announced = header_values(scope["headers"], b"content-length")
    if announced and announced[0].isdigit() and int(announced[0]) > MAX_BODY_BYTES:
        raise HttpRefusedError(413, f"A message has at most {MAX_BODY_BYTES} bytes.")
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise HttpRefusedError(400, "The body did not come to its end.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise HttpRefusedError(413, f"A message has at most {MAX_BODY_BYTES} bytes.")
    return bytes(body)


async def refuse(scope: Scope, refusal: HttpRefusedError, send: Send) -> None:
    """Answer with a refusal, and log it."""
    _log.warning("refused %s %.*r: %s", scope["method"], _MAX_LOGGED_CHARS, scope["path"], refusal.reason)
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *refusal.headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{refusal.reason}\n".encode()})


def header_values(headers: Headers, name: bytes) -> list[str]:
    """The values of all headers of this name."""
    return [value.decode("latin-1") for key, value in headers if key == name]


def hash_token(token: bytes) -> bytes:
    """The form in which tokens are kept and compared."""
    return hashlib.sha256(token).digest()
