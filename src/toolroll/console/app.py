"""The console as an ASGI application: the page, and an API that needs the token.

Checks come first: Host and Origin against DNS rebinding and other pages, then the token, then the sender's process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import msgspec

from toolroll.console.relay import ControlFailedError, ControlRelay, Feed
from toolroll.host.network.peers import TcpPeers
from toolroll.mcp.http.gate import (
    BODY_TIMEOUT_S,
    AsgiMessage,
    HttpRefusedError,
    Receive,
    Scope,
    Send,
    check_client,
    check_host,
    check_token,
    hash_token,
    header_values,
    read_body,
    refuse,
)

BEAT_S = 15.0
"""A stream of events is never silent for longer."""
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SECURITY = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_JSON, _LINES = b"application/json", b"application/x-ndjson"

Answer = Callable[[Scope, Receive, Send], Awaitable[None]]


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    to: str
    method: str
    params: dict[str, Any] = {}


class ConsoleApp:
    """Serves one console on `port`."""

    def __init__(self, relay: ControlRelay, *, token: str, port: int, peers: TcpPeers) -> None:
        """`peers` checks which processes may use the API."""
        self._relay = relay
        self._token = hash_token(token.encode())
        self._hosts = frozenset((f"127.0.0.1:{port}", f"localhost:{port}"))
        self._peers = peers
        self._page = _load_page()
        self._routes: dict[tuple[str, str], Answer] = {
            ("GET", "/api/processes"): self._processes,
            ("GET", "/api/events"): self._events,
            ("POST", "/api/request"): self._request,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        send = _with_security_headers(send)
        try:
            await (await self._route(scope))(scope, receive, send)
        except HttpRefusedError as refusal:
            await refuse(scope, refusal, send)

    async def _route(self, scope: Scope) -> Answer:
        """Check a request and find what answers it."""
        headers, method, path = scope["headers"], scope["method"], scope["path"]
        check_host(headers, self._hosts)
        own = {f"http://{host}" for host in header_values(headers, b"host")}
        if not own.issuperset(header_values(headers, b"origin")):
            raise HttpRefusedError(403, "Requests from other pages are refused.")
        if path in self._page:
            if method not in ("GET", "HEAD"):
                raise HttpRefusedError(405, "Only GET.", (b"allow", b"GET, HEAD"))
            return self._static
        await self._check_api(scope)
        if (answer := self._routes.get((method, path))) is not None:
            return answer
        if allowed := [one for one, known in self._routes if known == path]:
            raise HttpRefusedError(405, f"Only {allowed[0]}.", (b"allow", allowed[0].encode()))
        raise HttpRefusedError(404, "There is nothing here.")

    async def _check_api(self, scope: Scope) -> None:
        headers = scope["headers"]
        # Browsers send this with every request; "none" is an address that was typed.
        if not {"same-origin"}.issuperset(header_values(headers, b"sec-fetch-site")):
            raise HttpRefusedError(403, "Requests from other pages are refused.")
        check_token(headers, self._token)
        await check_client(scope, self._peers)

    async def _static(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        kind, content = self._page[scope["path"]]
        await _send(send, kind, content)

    async def _processes(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await _send(send, _JSON, msgspec.json.encode({"processes": await self._relay.processes()}))

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A form and a script of another page can send other types without asking first.
        if header_values(scope["headers"], b"content-type") not in (["application/json"], _UTF8):
            raise HttpRefusedError(415, "Send application/json.")
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                body = await read_body(scope, receive)
            given = msgspec.json.decode(body, type=_Request)
        except TimeoutError:
            raise HttpRefusedError(408, "The body took too long.") from None
        except msgspec.MsgspecError as error:
            raise HttpRefusedError(400, f"The request cannot be read: {error}.") from None
        try:
            answer = b'{"result":%b}' % await self._relay.request(given.to, given.method, given.params)
        except ControlFailedError as error:
            answer = msgspec.json.encode({"error": str(error)})
        await _send(send, _JSON, answer)

    async def _events(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            with self._relay.follow() as feed:
                left = asyncio.ensure_future(_wait_for_disconnect(receive))
                sending = asyncio.ensure_future(_stream(feed, send))
                try:
                    await asyncio.wait((left, sending), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    left.cancel()
                    sending.cancel()
        except ControlFailedError as error:
            raise HttpRefusedError(503, str(error)) from None


_UTF8 = ["application/json; charset=utf-8"]


def _load_page() -> dict[str, tuple[bytes, bytes]]:
    """The files of the page with their types, by path."""
    found = {}
    for file in files("toolroll.console").joinpath("page").iterdir():
        kind = _TYPES.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = (f"{kind}; charset=utf-8".encode(), file.read_bytes())
    return found


def _with_security_headers(send: Send) -> Send:
    async def send_with(message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *_SECURITY]
        await send(message)

    return send_with


async def _send(send: Send, kind: bytes, content: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _stream(feed: Feed, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", _LINES)]})
    while True:
        try:
            async with asyncio.timeout(BEAT_S):
                chunk = await feed.take()
        except TimeoutError:
            chunk = b'{"event":"beat"}\n'
        await send({"type": "http.response.body", "body": chunk, "more_body": bool(chunk)})
        if not chunk:
            return


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
