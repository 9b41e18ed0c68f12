"""The door of the HTTP server: who may come in, how much may be brought, and when somebody has left.

A local port can be reached by every program of the machine and, through a name that points here, by every page in a
browser. So a request must carry the token, must be addressed to this very server, and must not come from a page of
somewhere else. All of that is judged before a byte of the body is read.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
LEFT = "toolroll.left"
"""Where a scope keeps what is to be done when the client goes away in mid-request."""
MOST_BYTES = 4 * 1024 * 1024
SECONDS = 30.0
"""How long a client may take to send a body."""

_METHODS = ("POST", "GET", "DELETE")
_SHOWN = 100
# Of what was sent nothing is kept to be sent again; asked for it, the SDK would give no answer at all.
_UNUSED = (b"last-event-id",)

_log = logging.getLogger("toolroll.mcp")


class RefusedError(Exception):
    """The answer to a request that does not come in."""

    def __init__(self, status: int, reason: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = headers


class Gate:
    """An ASGI application that lets through to another one only what may come in."""

    def __init__(self, app: App, *, token: str, hosts: frozenset[str]) -> None:
        """`hosts` are the values of the Host header under which this server is reached, in lower case.

        A page may ask if its origin has one of these names, at whatever port.
        """
        self._app = app
        self._token = _digest(token.encode())
        self._hosts = hosts
        names = "|".join(re.escape(re.sub(r":\d+$", "", host)) for host in hosts)
        self._origin = re.compile(rf"https?://(?:{names})(?::\d{{1,5}})?")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            self._judge(scope)
            async with asyncio.timeout(SECONDS):
                body = await _body(scope, receive)
        except RefusedError as refusal:
            await _refuse(scope, refusal, send)
        except TimeoutError:
            await _refuse(scope, RefusedError(408, "The body took too long."), send)
        else:
            scope[LEFT] = []
            scope["headers"] = [one for one in scope["headers"] if one[0] not in _UNUSED]
            ending = _Ending(send)
            await self._app(scope, _watched(scope, body, receive), ending.send)
            await ending.complete()

    def _judge(self, scope: Scope) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if scope["path"] != PATH:
            raise RefusedError(404, f"There is nothing here. The server is at {PATH}.")
        if [one.lower() for one in _values(headers, b"host")] not in [[host] for host in self._hosts]:
            raise RefusedError(421, "The Host header does not name this server.")
        if not all(self._origin.fullmatch(origin.lower()) for origin in _values(headers, b"origin")):
            raise RefusedError(403, "Requests from pages of other origins are refused.")
        self._authorize(headers)
        if scope["method"] not in _METHODS:
            raise RefusedError(405, "Only POST, GET and DELETE.", (b"allow", ", ".join(_METHODS).encode()))

    def _authorize(self, headers: list[tuple[bytes, bytes]]) -> None:
        given = _values(headers, b"authorization")
        if not given:
            raise RefusedError(401, "A token is needed.", (b"www-authenticate", b'Bearer realm="toolroll"'))
        scheme, _, token = given[0].partition(" ")
        right = hmac.compare_digest(_digest(token.strip().encode("latin-1")), self._token)
        if len(given) > 1 or scheme.lower() != "bearer" or not right:
            wrong = b'Bearer realm="toolroll", error="invalid_token"'
            raise RefusedError(401, "The token is not the right one.", (b"www-authenticate", wrong))


class _Ending:
    """What is sent to a client, with its end: a stream that is given up when the server ends has none."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open = False

    async def send(self, message: Message) -> None:
        self._open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def complete(self) -> None:
        if self._open:
            await self._send({"type": "http.response.body", "body": b""})


def on_leaving(scope: Scope, do: Callable[[], None]) -> Callable[[], None]:
    """Do this when the client of this request goes away before it has its answer; gives the way to forget that."""
    left: list[Callable[[], None]] = scope[LEFT]
    left.append(do)
    return lambda: left.remove(do)


async def _body(scope: Scope, receive: Receive) -> bytes:
    """The whole body, which is bounded both by what is announced and by what comes."""
    announced = _values(scope["headers"], b"content-length")
    if announced and announced[0].isdigit() and int(announced[0]) > MOST_BYTES:
        raise RefusedError(413, f"A message has at most {MOST_BYTES} bytes.")
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The body did not come to its end.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise RefusedError(413, f"A message has at most {MOST_BYTES} bytes.")
    return bytes(body)


def _watched(scope: Scope, body: bytes, receive: Receive) -> Receive:
    """The body as if it came now; after it, whoever waits for more learns that the client has left, and so do we."""
    first = True

    async def again() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        message = await receive()
        if message["type"] == "http.disconnect":
            for do in tuple(scope[LEFT]):
                do()
        return message

    return again


async def _refuse(scope: Scope, refusal: RefusedError, send: Send) -> None:
    _log.warning("refused %s %.*r: %s", scope["method"], _SHOWN, scope["path"], refusal.reason)
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *refusal.headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{refusal.reason}\n".encode()})


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
