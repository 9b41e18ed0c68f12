"""Streamable HTTP as a transport of `mcp.session`: a client with a handshake has a session, any other a request."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from toolroll.host.rpc.codecs import encode_json
from toolroll.mcp import wire
from toolroll.mcp.backend import Backend, Item, ListKind
from toolroll.mcp.http.connection import Headers, HttpConnection, HttpRefusedError, HttpRequest, header_values
from toolroll.mcp.http.exchange import JSON, HttpExchange
from toolroll.mcp.http.gate import Gate
from toolroll.mcp.http.headers import VERSION, check_arguments, check_envelope, has_headers
from toolroll.mcp.session import Session
from toolroll.mcp.suspended import SuspendedCalls
from toolroll.mcp.versions import HANDSHAKE, check_version
from toolroll.mcp.wire import Id, RpcError, RpcMessage

SESSION_TIMEOUT_S = 30 * 60
MAX_SESSIONS = 64
MAX_CALL_THREADS = 32
EARLY_CANCELLATION_TIMEOUT_S = 5.0
"""Time in which a call must follow its cancellation, which came first by another connection."""
MAX_IDS_PER_SESSION = 64
"""Cancellations, and ids of calls that have begun, that are kept for one session; the oldest are dropped."""
_POLL_S = 0.01
_MAX_ID_CHARS = 128
_SESSION = b"mcp-session-id"
_BROKEN = {wire.PARSE: 400, wire.INVALID_REQUEST: 400}
_STATUSES = {
    **_BROKEN,
    wire.INVALID_PARAMS: 400,
    wire.WRONG_HEADER: 400,
    wire.NO_CAPABILITY: 400,
    wire.WRONG_VERSION: 400,
    wire.UNKNOWN_METHOD: 404,
}

_log = logging.getLogger("toolroll.mcp")


class HttpSession:
    """A client that has made the handshake."""

    def __init__(self, make_session: Callable[[Callable[[Any], None]], Session]) -> None:
        self.session = make_session(self._tell)
        self.stream: HttpExchange | None = None  # for messages that answer nothing
        self._in_use = 0
        self._used = time.monotonic()
        self._begun: dict[Id, None] = {}
        self._cancelled: dict[Id, float] = {}

    @contextmanager
    def using(self) -> Iterator[None]:
        """Not idle meanwhile."""
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
            self._used = time.monotonic()

    def is_idle(self) -> bool:
        """Whether nobody has used it for long."""
        return not self._in_use and time.monotonic() - self._used > SESSION_TIMEOUT_S

    def begin(self, id: Id) -> bool:
        """Note that a request begins; False if its client has cancelled it already."""
        _keep(self._begun, id, None)
        expiry = self._cancelled.pop(id, None)
        return expiry is None or time.monotonic() > expiry

    def note_cancellation(self, id: Any) -> None:
        """Remember a cancellation for the request that it names, unless that has begun."""
        if isinstance(id, Id) and id not in self._begun and len(str(id)) <= _MAX_ID_CHARS:
            _keep(self._cancelled, id, time.monotonic() + EARLY_CANCELLATION_TIMEOUT_S)

    def close(self) -> None:
        """Cancel what runs, and end the stream."""
        self.session.close()
        if self.stream is not None:
            self.stream.end()

    def _tell(self, message: Any) -> None:
        if self.stream is not None:
            self.stream.put(message)


class StreamableHttp:
    """All clients of a backend. Each request is answered in the thread of its connection."""

    def __init__(self, backend: Backend, gate: Gate) -> None:
        self._backend, self._gate = backend, gate
        self._clients: dict[str, HttpSession] = {}
        self._exchanges: dict[HttpExchange, Session | None] = {}
        self._suspended = SuspendedCalls()
        self._calls = threading.Semaphore(MAX_CALL_THREADS)
        self._running: set[int] = set()  # threads
        self._lock = threading.Lock()
        self._schemas: dict[str, Item] | None = None
        self._unwatch = backend.watch(self._forget_schemas)

    def answer(self, request: HttpRequest, connection: HttpConnection) -> None:
        """Answer one request; HttpRefusedError if it may not come in, or is none."""
        self._gate.check(request, connection)
        body = connection.read_body(request.headers)
        version = (header_values(request.headers, VERSION) or [""])[0]
        try:
            _check_types(request)
            if version and version not in HANDSHAKE:
                self._answer_stateless(request, body, connection)
            elif request.method == "POST":
                self._answer(request, body, connection)
            elif request.method == "GET":
                self._open_stream(self._find(request), connection)
            else:
                client = self._find(request)
                self._clients = {id: one for id, one in self._clients.items() if one is not client}
                client.close()
                connection.respond(200, [], b"")
        except RpcError as fault:
            status = fault.status if isinstance(fault, _SessionError) else _STATUSES[fault.code]
            connection.respond(status, [JSON], encode_json(wire.make_error(fault.id, fault)))

    def look(self) -> None:
        """Cancel the requests whose clients have left, and give the others signs of life."""
        for exchange in tuple(self._exchanges):
            if not exchange.look():
                self._exchanges.pop(exchange, None)

    def stop(self, seconds: float) -> None:
        """Cancel all calls, and wait up to `seconds` for their end; their clients get the error."""
        self._suspended.close()
        for session in (*self._exchanges.values(), *(one.session for one in self._clients.values())):
            if session is not None:
                session.close()
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(_POLL_S)
        for client in self._clients.values():
            client.close()
        self._unwatch()

    def _answer(self, request: HttpRequest, body: bytes, connection: HttpConnection) -> None:
        message = _parse(body)
        named = header_values(request.headers, _SESSION)
        if message.method == "initialize" and not named:
            id, client = secrets.token_hex(16), HttpSession(self._make_session)
        else:
            id, client = named[0] if named else "", self._find(request)
        if not message.is_request:
            if message.method == "notifications/cancelled":
                client.note_cancellation((message.params or {}).get("requestId"))
            client.session.take(message, _drop)
            connection.respond(202, [], b"")
            return
        assert message.id is not msgspec.UNSET
        exchange = HttpExchange(connection, partial(client.session.cancel, message.id), message.id, _BROKEN)
        if message.method == "initialize" and not named:
            exchange.headers.append((_SESSION, id.encode()))
            self._add(id, client)
        with client.using(), self._looked_after(exchange):
            if client.begin(message.id):
                client.session.take(message, exchange.put)
            else:
                exchange.put(None)
            exchange.wait()
        if not client.session.version:  # this was no handshake
            self._clients.pop(id, None)

    def _answer_stateless(self, request: HttpRequest, body: bytes, connection: HttpConnection) -> None:
        if request.method != "POST":
            raise HttpRefusedError(405, "Only POST.", (b"allow", b"POST"))
        message, headers = _parse(body), request.headers
        if not message.is_request:
            check_version(header_values(headers, VERSION)[0])
            connection.respond(202, [], b"")  # there is nothing that it could change
            return
        assert message.id is not msgspec.UNSET
        assert message.method is not msgspec.UNSET
        try:
            check_envelope(message.method, message.params or {}, headers)
            if message.method == "tools/call":
                self._check_arguments(message.params or {}, headers)
        except RpcError as fault:
            fault.id = message.id
            raise
        session = self._make_session(_drop)
        exchange = HttpExchange(connection, session.close, message.id, _STATUSES)
        try:
            with self._looked_after(exchange, session):
                session.take(message, exchange.put)
                exchange.wait()
        finally:
            session.close()

    def _check_arguments(self, params: Item, headers: Headers) -> None:
        if self._schemas is None:
            tools = self._backend.tools()
            self._schemas = {one["name"]: one["inputSchema"] for one in tools if has_headers(one["inputSchema"])}
        name, arguments = params.get("name"), params.get("arguments")
        if isinstance(name, str) and (schema := self._schemas.get(name)) is not None:
            check_arguments(schema, arguments if isinstance(arguments, dict) else {}, headers)

    def _open_stream(self, client: HttpSession, connection: HttpConnection) -> None:
        if client.stream is not None:
            raise HttpRefusedError(409, "This session has a stream already.")
        client.stream = stream = HttpExchange(connection, _nothing)
        try:
            with client.using(), self._looked_after(stream):
                stream.stream()
                stream.wait()
        finally:
            client.stream = None
        connection.end_stream()

    @contextmanager
    def _looked_after(self, exchange: HttpExchange, session: Session | None = None) -> Iterator[None]:
        self._exchanges[exchange] = session
        try:
            yield
        finally:
            self._exchanges.pop(exchange, None)

    def _find(self, request: HttpRequest) -> HttpSession:
        named = header_values(request.headers, _SESSION)
        if not named:
            raise _SessionError(400, "The header Mcp-Session-Id is missing. Begin with `initialize`.")
        if (client := self._clients.get(named[0])) is None:
            raise _SessionError(404, "There is no such session. Begin again with `initialize`.")
        return client

    def _add(self, id: str, client: HttpSession) -> None:
        with self._lock:
            for one, other in tuple(self._clients.items()):
                if other.is_idle():
                    self._clients.pop(one).close()
            if len(self._clients) >= MAX_SESSIONS:
                raise HttpRefusedError(503, "Too many sessions are open. End others, or try again later.")
            self._clients[id] = client

    def _make_session(self, send: Callable[[Any], None]) -> Session:
        return Session(self._backend, send, self._run_call, _write_log, suspended=self._suspended)

    def _run_call(self, job: Callable[[], None], _slow: bool) -> bool:
        with self._calls:
            self._running.add(threading.get_ident())
            try:
                job()
            finally:
                self._running.discard(threading.get_ident())
        return True

    def _forget_schemas(self, kind: ListKind) -> None:
        if kind == "tools":
            self._schemas = None


class _SessionError(RpcError):
    """A request without a session that it needs."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(wire.INVALID_REQUEST, message)
        self.status = status


def _parse(body: bytes) -> RpcMessage:
    message = wire.parse(body)
    if isinstance(message, list):
        raise RpcError(wire.INVALID_REQUEST, "Over HTTP each message is a request of its own.")
    if message.method is msgspec.UNSET and message.result is msgspec.UNSET and message.error is msgspec.UNSET:
        raise RpcError(wire.INVALID_REQUEST, "This is no JSON-RPC message: it has no method and no result.")
    return message


def _check_types(request: HttpRequest) -> None:
    """Refuse a request whose client does not take what it may get, or sends something else than JSON."""
    accepted = ",".join(header_values(request.headers, b"accept"))
    events = "text/event-stream" in accepted or "*/*" in accepted
    if request.method == "POST":
        if not (events and ("application/json" in accepted or "*/*" in accepted)):
            raise HttpRefusedError(406, "A client accepts application/json and text/event-stream.")
        given = header_values(request.headers, b"content-type")
        if [one.partition(";")[0].strip().lower() for one in given] != ["application/json"]:
            raise HttpRefusedError(415, "A message is application/json.")
    elif request.method == "GET" and not events:
        raise HttpRefusedError(406, "A client of a stream accepts text/event-stream.")


def _keep(entries: dict[Id, Any], id: Id, value: Any) -> None:
    entries.pop(id, None)
    entries[id] = value
    if len(entries) > MAX_IDS_PER_SESSION:
        del entries[next(iter(entries))]


def _write_log(level: str, text: str) -> None:
    _log.log(getattr(logging, level.upper()), "%s", text)


def _drop(_message: Any) -> None:
    pass


def _nothing() -> None:
    pass
