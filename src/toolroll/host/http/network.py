"""Network backend for httpcore2: TCP and TLS to judged addresses only, within the deadline and size of one request."""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import httpcore2

from toolroll.host.http import proxy
from toolroll.host.http.deadline import Deadline
from toolroll.result import ErrorCode, ToolError

Route = Callable[[str, int], tuple[str, int]]
"""Maps the judged address and port to the socket address to connect to. Tests use it."""

Dial = Callable[[str, int], socket.socket | None]
"""A connection to a server of the commands' own loopback, by host and port; None if there is none."""

COMMANDS = "the loopback of commands"
"""Stands for an address that only a `Dial` reaches."""

_T = TypeVar("_T")

_CONNECT_S = 10.0
_FALLBACK_S = 3.0  # for an address that does not answer while there are others
_MAX_ADDRESSES = 4
_MAX_HEAD_BYTES = 512 * 1024  # all interim answers, and what comes with the head in one read
_MAX_OVERHEAD_BYTES = 3_000_000  # head and chunk framing beside the body
_LOOKUP_POLL_S = 0.01


class Exchange(float):
    """What one request may do on the network.

    httpcore2 passes the timeout of a request through to every operation of its stream and does not look into it. So
    the timeout is this object: as a number it is the longest silence, and it carries the rest that an operation needs.
    """

    def __new__(cls, deadline: Deadline, *_: object) -> Exchange:
        return super().__new__(cls, deadline.silence)

    def __init__(self, deadline: Deadline, addresses: tuple[str, ...], host: str, max_bytes: int) -> None:
        self.deadline = deadline
        self.addresses = addresses
        """Where the request may go, as judged."""
        self.is_reused = True
        """No connection was opened for this request: it runs on a kept one."""
        self._host = host
        self._max_bytes = max_bytes
        self._received = 0
        self._has_head = False

    def count(self, size: int) -> None:
        """Count received bytes; an error when they are too many."""
        self._received += size
        if not self._has_head and self._received > _MAX_HEAD_BYTES:
            raise httpcore2.RemoteProtocolError("the head of the answer has no end")
        if self._received > self._max_bytes + _MAX_OVERHEAD_BYTES:
            raise self.too_large()

    def begin_body(self) -> None:
        """The head has arrived; from now on the size of the body is the limit."""
        self._has_head = True

    def too_large(self) -> ToolError:
        return ToolError(
            ErrorCode.TOO_LARGE,
            f"{self._host!r} sends more than {self._max_bytes} bytes, the limit. Ask for a part, or for another page.",
        )

    def too_silent(self) -> ToolError:
        return ToolError(ErrorCode.TIMEOUT, f"{self._host!r} was silent for {self:g} s. Try again later.")


class MovedError(Exception):
    """A kept connection leads to an address that the name no longer has. Nothing was sent."""


class GuardedStream(httpcore2.NetworkStream):
    """An open connection. The `timeout` of each operation is the Exchange of the request that it serves."""

    def __init__(self, sock: socket.socket, address: str) -> None:
        self._socket = sock
        self._address = address

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        exchange = _exchange(timeout)
        data = self._retry(lambda: self._socket.recv(max_bytes), select.POLLIN, exchange)
        exchange.count(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all bytes. A server that answers before it has read them is not interrupted."""
        exchange = _exchange(timeout)
        if self._address not in exchange.addresses:
            raise MovedError
        rest = memoryview(buffer)
        while rest:
            try:
                rest = rest[self._retry(partial(self._socket.send, rest), select.POLLOUT, exchange) :]
            except (BrokenPipeError, ConnectionResetError) as error:
                raise httpcore2.WriteError(error) from error  # httpcore2 goes on to read the answer

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> GuardedStream:
        try:
            tls = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname, do_handshake_on_connect=False)
            self._socket = tls
            self._retry(tls.do_handshake, select.POLLIN, _exchange(timeout))
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        self._socket.close()

    @property
    def socket(self) -> socket.socket:
        """The connection itself, which does not block."""
        return self._socket

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object":
            return self._socket if isinstance(self._socket, ssl.SSLSocket) else None
        if info == "is_readable":  # an idle connection with something to read was closed by the server
            poll = select.poll()
            poll.register(self._socket.fileno(), select.POLLIN)
            return bool(poll.poll(0))
        return None

    def _retry(self, action: Callable[[], _T], events: int, exchange: Exchange) -> _T:
        while True:
            try:
                return action()
            except BlockingIOError:
                wanted = events
            except ssl.SSLWantReadError:
                wanted = select.POLLIN
            except ssl.SSLWantWriteError:
                wanted = select.POLLOUT
            if not exchange.deadline.wait_ready(self._socket.fileno(), wanted, float(exchange)):
                raise exchange.too_silent()


class GuardedBackend(httpcore2.NetworkBackend):
    """Opens connections to the addresses of the Exchange; the host name that httpcore2 asks for is never resolved."""

    def __init__(self, route: Route | None, via: proxy.Proxy | None, dial: Dial | None = None) -> None:
        self._dial = dial
        self._route = route
        self._proxy = via

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> GuardedStream:
        exchange = _exchange(timeout)
        exchange.is_reused = False
        if exchange.addresses == (COMMANDS,):
            found = self._dial(host, port) if self._dial is not None else None
            if found is None:
                raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
            found.setblocking(False)
            return GuardedStream(found, COMMANDS)
        *others, last = exchange.addresses[:_MAX_ADDRESSES]
        for address in others:
            try:
                return self._open(address, port, exchange, _FALLBACK_S)
            except OSError:
                continue
        return self._open(last, port, exchange, _CONNECT_S)

    def _open(self, address: str, port: int, exchange: Exchange, seconds: float) -> GuardedStream:
        if self._proxy is None or not self._proxy.serves(address):
            where = (address, port) if self._route is None else self._route(address, port)
            return GuardedStream(_connect(where, exchange.deadline, seconds), address)
        where = (look_up(self._proxy.host, exchange.deadline)[0], self._proxy.port)
        stream = GuardedStream(_connect(where, exchange.deadline, seconds), address)
        try:
            self._proxy.tunnel(stream, address, port, exchange)
        except BaseException:
            stream.close()
            raise
        return stream


def look_up(name: str, deadline: Deadline) -> list[str]:
    """Addresses of a name from the system's resolver; ToolError when it has none."""
    found: list[str] = []
    failed: list[OSError] = []

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(name.encode("ascii"), None, type=socket.SOCK_STREAM)
        except OSError as error:
            failed.append(error)
        else:
            found.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # The system's resolver cannot be interrupted: a thread asks it, and is left behind when the answer is late.
    thread = threading.Thread(target=ask, name="toolroll lookup", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(min(_LOOKUP_POLL_S, deadline.left()))
    if not found:
        why = f" ({failed[0].strerror})" if failed and failed[0].strerror else ""
        raise ToolError(ErrorCode.NETWORK, f"The name {name!r} cannot be looked up{why}. Check it, or try again later.")
    return found


def _exchange(timeout: float | None) -> Exchange:
    if not isinstance(timeout, Exchange):
        raise TypeError("every request on a guarded connection needs an Exchange as its timeout")
    return timeout


def _connect(where: tuple[str, int], deadline: Deadline, seconds: float) -> socket.socket:
    deadline.left()
    sock = socket.socket(socket.AF_INET6 if ":" in where[0] else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number = sock.connect_ex(where)
        if number in (errno.EINPROGRESS, errno.EWOULDBLOCK):
            if not deadline.wait_ready(sock.fileno(), select.POLLOUT, seconds):
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number))
    except BaseException:
        sock.close()
        raise
    return sock
