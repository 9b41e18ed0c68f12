"""One connection of HTTP/1.1: the thread that reads a request also answers it."""

from __future__ import annotations

import os
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple

Headers = list[tuple[bytes, bytes]]

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 4 * 1024 * 1024
HEAD_TIMEOUT_S = 10.0
"""Time in which a client must send the head of a request."""
BODY_TIMEOUT_S = 30.0
"""Time in which a client must send a body."""
IDLE_TIMEOUT_S = 75.0
"""A connection without a request is closed after this time."""
_SEND_TIMEOUT_S = 30.0  # for a client that does not read
_LINGER_S, _MAX_LINGER_BYTES = 0.5, 8 * 1024 * 1024  # of a refused request, so that its client gets the answer
_CHUNK_BYTES = 1 << 16
_LEFT = getattr(select, "POLLRDHUP", select.POLLHUP)
_MAX_LINE_BYTES = 1024
_HEAD = re.compile(
    rb"([A-Za-z]{1,16}) (/[!-~]*|\*) HTTP/1\.([01])\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r\n)*)\r\n"
)
_LENGTH = re.compile(r"[0-9]{1,12}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")
_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


class HttpRefusedError(Exception):
    """A request that is not answered: the status, the reason and extra headers of the refusal."""

    def __init__(self, status: int, reason: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers


class HttpRequest(NamedTuple):
    """The head of a request; names of headers are in lower case."""

    method: str
    path: str
    headers: Headers


class HttpConnection:
    """The connection of a client. One thread reads; the one that answers may be another."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._buffer = bytearray()
        self._read_timeout = HEAD_TIMEOUT_S  # until the first bytes of the next request
        self._keeps_alive = self._is_old = self._is_head = self._awaits_continue = False
        self._poll = select.poll()
        self._poll.register(connected, _LEFT)  # bytes are none of its events: the thread that reads may take them
        self.reader = threading.get_ident()
        """The thread that reads the next request."""
        self.read_on: Callable[[], None] = lambda: None
        """Starts another thread that reads the next request."""
        self.is_examined = False
        """Whether the process at the other end may use the server; `check_client` finds out once."""

    @property
    def ends(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """The addresses of the client and of the server."""
        return self._socket.getpeername()[:2], self._socket.getsockname()[:2]

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow."""
        return self._keeps_alive

    def read_request(self) -> HttpRequest | None:
        """The head of the next request; None when the connection has ended, or none came in time."""
        until = time.monotonic() + (HEAD_TIMEOUT_S if self._buffer else self._read_timeout)
        self._read_timeout, begun = IDLE_TIMEOUT_S, bool(self._buffer)
        self._keeps_alive = self._is_old = self._is_head = self._awaits_continue = False
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise HttpRefusedError(431, f"The head of a request has at most {MAX_HEAD_BYTES} bytes.")
            if not self._receive(until):
                return None
            if not begun:
                until, begun = min(until, time.monotonic() + HEAD_TIMEOUT_S), True
        head = bytes(self._buffer[: end + 4])
        del self._buffer[: end + 4]
        if (parsed := _HEAD.fullmatch(head.lstrip(b"\r\n"))) is None:
            raise HttpRefusedError(400, "This is no request of HTTP/1.1.")
        lines = (line.partition(b":") for line in parsed[4].split(b"\r\n")[:-1])
        headers = [(name.lower(), value.strip(b" \t")) for name, _, value in lines]
        self._is_old, self._is_head = parsed[3] == b"0", parsed[1] == b"HEAD"
        closes = any("close" in value.lower() for value in header_values(headers, b"connection"))
        self._keeps_alive = not (closes or self._is_old)
        self._awaits_continue = (b"expect", b"100-continue") in headers
        return HttpRequest(parsed[1].decode(), parsed[2].partition(b"?")[0].decode(), headers)

    def read_body(self, headers: Headers) -> bytes:
        """The whole body of the request with these headers."""
        until = time.monotonic() + BODY_TIMEOUT_S
        lengths, codings = header_values(headers, b"content-length"), header_values(headers, b"transfer-encoding")
        if len(lengths) > 1 or (lengths and (codings or not _LENGTH.fullmatch(lengths[0]))):
            raise HttpRefusedError(400, "Content-Length is one number, without Transfer-Encoding.")
        if codings and [one.lower() for one in codings] != ["chunked"]:
            raise HttpRefusedError(400, "The only Transfer-Encoding is chunked.")
        size = int(lengths[0]) if lengths else 0
        _check_size(size)
        if self._awaits_continue and (size or codings):
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self._read_chunks(until) if codings else self._take(size, until)

    def respond(self, status: int, headers: Headers, body: bytes, *, close: bool = False) -> None:
        """Send a whole response; OSError if the client is gone."""
        self._keeps_alive = self._keeps_alive and not close
        head = self._make_head(status, [(b"content-length", b"%d" % len(body)), *headers])
        self._send(head if self._is_head else head + body)

    def begin_stream(self, headers: Headers) -> None:
        """Begin a response whose parts are sent as they come."""
        self._keeps_alive = self._keeps_alive and not self._is_old
        coding = [] if self._is_old else [(b"transfer-encoding", b"chunked")]
        self._send(self._make_head(200, [*coding, *headers]))

    def send_part(self, data: bytes) -> None:
        """Send a part of a stream, and wait until the client takes it."""
        self._send(self._as_part(data))

    def offer_part(self, data: bytes) -> bool:
        """Send a part of a stream if the client takes it at once; it is closed if it takes a half."""
        part = self._as_part(data)
        try:
            sent = os.write(self._socket.fileno(), part)
        except BlockingIOError:
            return False
        if sent < len(part):
            self.shut()
        return sent == len(part)

    def end_stream(self) -> None:
        """End a response that was begun."""
        if not self._is_old:
            self._send(b"0\r\n\r\n")

    def hand_over(self) -> None:
        """Let another thread read the next request: this one stays with a call."""
        self.reader = 0
        if not self._keeps_alive:
            self.shut()
        self.read_on()

    def has_left(self, *, wait: bool = False) -> bool:
        """Whether the client has closed the connection, or its half of it; with `wait`, when it does."""
        return bool(self._poll.poll(None if wait else 0))

    def shut(self) -> None:
        """End the connection; threads that read or write return."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self, *, linger: bool = False) -> None:
        """Free the connection. With `linger`, the client gets to read what was sent to it before."""
        with suppress(OSError):
            if linger:
                self._socket.shutdown(socket.SHUT_WR)
                until, left = time.monotonic() + _LINGER_S, _MAX_LINGER_BYTES
                while left > 0 and self._receive(until):
                    left -= len(self._buffer)
                    self._buffer.clear()
        self._socket.close()

    def _receive(self, until: float) -> bool:
        try:
            self._socket.settimeout(max(until - time.monotonic(), 0.001))
            data = self._socket.recv(_CHUNK_BYTES)
        except OSError:
            return False
        self._buffer += data
        return bool(data)

    def _fill(self, size: int, until: float) -> None:
        while len(self._buffer) < size:
            if not self._receive(until):
                late = time.monotonic() >= until
                raise HttpRefusedError(*((408, "The body took too long.") if late else (400, "The body is not whole.")))

    def _take(self, size: int, until: float) -> bytes:
        self._fill(size, until)
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _take_line(self, until: float) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > _MAX_LINE_BYTES:
                raise HttpRefusedError(400, "A chunk of the body has no size.")
            self._fill(len(self._buffer) + 1, until)
        return self._take(end + 2, until)[:-2]

    def _read_chunks(self, until: float) -> bytes:
        body = bytearray()
        while True:
            found = _CHUNK_SIZE.fullmatch(self._take_line(until))
            if found is None:
                raise HttpRefusedError(400, "A chunk of the body has no size.")
            if not (size := int(found[1], 16)):
                break
            _check_size(len(body) + size)
            chunk = self._take(size + 2, until)
            if not chunk.endswith(b"\r\n"):
                raise HttpRefusedError(400, "A chunk of the body has another size.")
            body += chunk[:-2]
        while self._take_line(until):  # trailers
            pass
        return bytes(body)

    def _make_head(self, status: int, headers: Headers) -> bytes:
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()).encode()
        lines = [b"HTTP/1.1 %d %b" % (status, _REASONS[status]), b"date: " + date]
        lines += [name + b": " + value for name, value in headers]
        if not self._keeps_alive:
            lines.append(b"connection: close")
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _as_part(self, data: bytes) -> bytes:
        return data if self._is_old else b"%x\r\n%b\r\n" % (len(data), data)

    def _send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:  # the time is that of a part: a client may take long for all of it
            self._socket.settimeout(_SEND_TIMEOUT_S)
            rest = rest[self._socket.send(rest) :]


def header_values(headers: Headers, name: bytes) -> list[str]:
    """The values of all headers of this name."""
    return [value.decode("latin-1") for key, value in headers if key == name]


def _check_size(size: int) -> None:
    if size > MAX_BODY_BYTES:
        raise HttpRefusedError(413, f"A message has at most {MAX_BODY_BYTES} bytes.")
