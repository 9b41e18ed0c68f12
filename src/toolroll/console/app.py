"""The console over HTTP: the page, and an API that needs the token.

Checks come first: Host and Origin against DNS rebinding and other pages, then the token, then the sender's process.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from threading import Thread
from typing import Any

import msgspec

from toolroll.console.relay import ControlFailedError, ControlRelay, Feed
from toolroll.host.network.peers import TcpPeers
from toolroll.mcp.http.connection import HttpConnection, HttpRefusedError, HttpRequest, header_values
from toolroll.mcp.http.gate import check_client, check_host, check_token, hash_token

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
_BEAT = b'{"event":"beat"}\n'
_JSON, _LINES = b"application/json", b"application/x-ndjson"

Answer = Callable[[HttpRequest, HttpConnection], None]


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

    def answer(self, request: HttpRequest, connection: HttpConnection) -> None:
        """Answer one request; HttpRefusedError if it may not come in, or is none."""
        try:
            self._find_answer(request, connection)(request, connection)
        except HttpRefusedError as refusal:
            raise HttpRefusedError(refusal.status, refusal.reason, *refusal.headers, *_SECURITY) from None

    def _find_answer(self, request: HttpRequest, connection: HttpConnection) -> Answer:
        """Check a request and find what answers it."""
        method, path, headers = request
        check_host(headers, self._hosts)
        own = {f"http://{host}" for host in header_values(headers, b"host")}
        if not own.issuperset(header_values(headers, b"origin")):
            raise HttpRefusedError(403, "Requests from other pages are refused.")
        if path in self._page:
            if method not in ("GET", "HEAD"):
                raise HttpRefusedError(405, "Only GET.", (b"allow", b"GET, HEAD"))
            return self._static
        # Browsers send this with every request; "none" is an address that was typed.
        if not {"same-origin"}.issuperset(header_values(headers, b"sec-fetch-site")):
            raise HttpRefusedError(403, "Requests from other pages are refused.")
        check_token(headers, self._token)
        check_client(connection, self._peers)
        if (answer := self._routes.get((method, path))) is not None:
            return answer
        if allowed := [one for one, known in self._routes if known == path]:
            raise HttpRefusedError(405, f"Only {allowed[0]}.", (b"allow", allowed[0].encode()))
        raise HttpRefusedError(404, "There is nothing here.")

    def _static(self, request: HttpRequest, connection: HttpConnection) -> None:
        connection.read_body(request.headers)
        _send(connection, *self._page[request.path])

    def _processes(self, request: HttpRequest, connection: HttpConnection) -> None:
        connection.read_body(request.headers)
        _send(connection, _JSON, msgspec.json.encode({"processes": self._relay.processes()}))

    def _request(self, request: HttpRequest, connection: HttpConnection) -> None:
        # A form and a script of another page can send other types without asking first.
        if header_values(request.headers, b"content-type") not in (["application/json"], _UTF8):
            raise HttpRefusedError(415, "Send application/json.")
        try:
            given = msgspec.json.decode(connection.read_body(request.headers), type=_Request)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise HttpRefusedError(400, f"The request cannot be read: {error}.") from None
        try:
            answer = b'{"result":%b}' % self._relay.request(given.to, given.method, given.params)
        except ControlFailedError as error:
            answer = msgspec.json.encode({"error": str(error)})
        _send(connection, _JSON, answer)

    def _events(self, request: HttpRequest, connection: HttpConnection) -> None:
        connection.read_body(request.headers)
        try:
            with self._relay.follow() as feed:
                connection.begin_stream([(b"content-type", _LINES), *_SECURITY])
                Thread(target=_end_when_left, args=(feed, connection), daemon=True).start()
                while (chunk := feed.take(BEAT_S)) is not None:
                    connection.send_part(chunk or _BEAT)
                connection.end_stream()
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


def _send(connection: HttpConnection, kind: bytes, content: bytes) -> None:
    connection.respond(200, [(b"content-type", kind), *_SECURITY], content)


def _end_when_left(feed: Feed, connection: HttpConnection) -> None:
    connection.has_left(wait=True)
    feed.end()
