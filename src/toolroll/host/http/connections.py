"""Kept connections of one client: sends a judged request by httpcore2 and gives its bounded answer."""

from __future__ import annotations

import errno
import os
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpcore2

from toolroll.host.http.decode import DamagedError, decode
from toolroll.host.http.network import Dial, Exchange, GuardedBackend, MovedError, Route
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.http.deadline import Deadline
    from toolroll.host.http.proxy import Proxy
    from toolroll.policy.urls import Target

_MAX_KEPT = 20
_KEPT_S = 4.0  # servers commonly close an idle connection after 5 s; a request must not meet that moment
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
# Faults of this machine, not of the server: they are raised as they are.
_LOCAL_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is sent to a judged target."""

    method: str
    target: Target
    headers: Sequence[tuple[str, str]]
    body: bytes
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Incoming:
    """An answer: its head, and its decoded body as it arrives."""

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


class Connections:
    """Connections by origin. Any thread may use it; connections that are idle for some seconds are closed."""

    def __init__(
        self,
        max_bytes: int,
        route: Route | None = None,
        proxy: Proxy | None = None,
        authorities: str | None = None,
        dial: Dial | None = None,
    ) -> None:
        self._max_bytes = max_bytes
        self._backend = GuardedBackend(route, proxy, dial)
        self._authorities = authorities
        self._lock = threading.Lock()
        self._pools: dict[str, httpcore2.ConnectionPool] = {}

    @contextmanager
    def send(self, request: Outgoing, deadline: Deadline) -> Iterator[Incoming]:
        """The answer to a request, open for reading. Errors of the network are ToolErrors."""
        host = request.target.host
        with _network_errors(host):
            exchange, response = self._attempt(request, deadline)
            try:
                exchange.begin_body()
                headers = _headers(response.headers)
                yield Incoming(response.status, headers, _body(response, headers, exchange, host, self._max_bytes))
            finally:
                response.close()

    def close(self) -> None:
        with self._lock:
            pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.close()

    def _attempt(self, request: Outgoing, deadline: Deadline) -> tuple[Exchange, httpcore2.Response]:
        """Send on a kept connection if there is one, and once more when it turns out to be dead."""
        while True:
            exchange = Exchange(deadline, request.addresses, request.target.host, self._max_bytes)
            try:
                return exchange, self._pool(request.target.scheme).handle_request(_request(request, exchange))
            except MovedError:
                continue  # the connection is closed by now, and nothing was sent
            except (httpcore2.RemoteProtocolError, OSError):
                if not exchange.is_reused or request.method not in _REPEATABLE:
                    raise

    def _pool(self, scheme: str) -> httpcore2.ConnectionPool:
        with self._lock:
            if scheme not in self._pools:
                # Certificates are always checked. The authorities are loaded for the first https request only.
                trust = ssl.create_default_context(cafile=self._authorities) if scheme == "https" else None
                self._pools[scheme] = httpcore2.ConnectionPool(
                    ssl_context=trust,
                    max_connections=None,
                    max_keepalive_connections=_MAX_KEPT,
                    keepalive_expiry=_KEPT_S,
                    network_backend=self._backend,
                )
            return self._pools[scheme]


def _request(request: Outgoing, exchange: Exchange) -> httpcore2.Request:
    """The same request for httpcore2. Its URL is handed over in parts, so that no second parser reads it."""
    target = request.target
    url = httpcore2.URL(
        scheme=target.scheme.encode(),
        host=target.host.strip("[]").encode(),
        port=target.port,
        target=target.path.encode(),
    )
    headers = [(name.encode(), value.encode()) for name, value in request.headers]
    timeout = {"connect": exchange, "read": exchange, "write": exchange}
    options = {"timeout": timeout}
    return httpcore2.Request(request.method, url, headers=headers, content=request.body, extensions=options)


def _headers(rows: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, value in rows:
        found.setdefault(name.decode("ascii").lower(), []).append(_text(value))
    return {name: ", ".join(values) for name, values in found.items()}


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _body(
    response: httpcore2.Response, headers: Mapping[str, str], exchange: Exchange, host: str, max_bytes: int
) -> Iterator[bytes]:
    """The decoded body; ToolError when it is, or says that it is, too large."""
    length = headers.get("content-length", "").partition(",")[0].strip()
    size = 0
    with _network_errors(host):
        if length.isdecimal() and int(length) > max_bytes:
            raise exchange.too_large()
        for piece in decode(response.iter_stream(), headers.get("content-encoding", ""), host):
            size += len(piece)
            if size > max_bytes:
                raise exchange.too_large()
            yield piece


@contextmanager
def _network_errors(host: str) -> Iterator[None]:
    """Turn errors of the network and of the protocol into ToolErrors that name the host."""
    try:
        yield
    except (OSError, httpcore2.ProtocolError, DamagedError) as error:
        if isinstance(error, OSError) and error.errno in _LOCAL_ERRORS:
            raise
        raise ToolError(*_explain(error, host)) from error


def _explain(error: Exception, host: str) -> tuple[ErrorCode, str]:
    match error:
        case ssl.SSLCertVerificationError():
            why = f"{host!r} has no certificate that can be trusted: {error.verify_message.rstrip('.')}."
            return ErrorCode.NETWORK, f"{why} Use another source."
        case ssl.SSLError():
            return ErrorCode.NETWORK, f"No TLS with {host!r}: {error.reason or 'it failed'}. Check the scheme."
        case TimeoutError():
            return ErrorCode.TIMEOUT, f"{host!r} does not answer. Check the URL, or try again later."
        case OSError():
            why = os.strerror(error.errno) if error.errno else "the connection failed"
            return ErrorCode.NETWORK, f"Cannot reach {host!r}: {why}. Check the URL, or try again later."
        case httpcore2.LocalProtocolError():
            return ErrorCode.VALIDATION, f"The request to {host!r} cannot be sent: {error}."
    # Without the server's own bytes, which some messages quote.
    why = str(error).partition(": b")[0].rstrip(".")
    return ErrorCode.NETWORK, f"The answer of {host!r} is broken: {why}. Try again, or elsewhere."
