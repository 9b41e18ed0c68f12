"""Requests of commands over plain http to a host with a credential, sent on over TLS with that credential.

An answer that holds the credential, in any spelling, is ended. Addresses of the host in answers lead to the plain route
again; a redirect to another host is the client's to follow, which has no credential to carry there.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from toolroll.host.network.echoes import EchoedError, EchoFilter, EchoSearch

if TYPE_CHECKING:
    from toolroll.policy.urls import Target

_PIECE_BYTES = 256 * 1024
_MAX_LINE_BYTES = 8192
_MAX_INDEX_BYTES = 64 << 20  # of an answer in which addresses are changed
# Of pages and indexes that package managers take addresses from; other files stay as they are, for they have checksums.
_INDEXES = ("text/html", "application/json", "application/vnd.pypi.", "application/vnd.npm.")
_NOT_SENT = ("authorization", "accept-encoding", "expect", "upgrade", "http2-settings", "te", "trailer")
# With these a part of the answer, or another method than the one that was judged, could be asked for.
_NOT_SENT_WITH_CREDENTIAL = ("range", "if-range", "request-range", "x-http-method", "x-http-method-override",
                             "x-method-override")  # fmt: skip
ROUTE_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""TRACE, and what servers make of unknown ones, repeat what they are sent."""
_NOT_ANSWERED = ("connection", "keep-alive", "transfer-encoding", "content-length", "strict-transport-security")
_WITHOUT_BODY = (204, 304)


def send_request(
    client: socket.socket,
    server: socket.socket,
    request: tuple[str, Sequence[bytes], bytes],
    place: Target,
    secret: str,
) -> int:
    """Send a request to the server: its method, header lines and what has come of its body; and the answer back.

    `secret` is the value of Authorization; EchoedError if the answer holds it. Gives the status of the answer.
    """
    method, lines, rest = request
    fields = [
        (name.strip(), value.strip()) for name, _, value in (line.decode("latin-1").partition(":") for line in lines)
    ]
    given = {name.lower(): value for name, value in fields}
    if sum(name.lower() in ("content-length", "transfer-encoding") for name, _ in fields) > 1:
        raise ValueError("servers disagree where its body ends")
    left_out = (*_NOT_SENT, *(_NOT_SENT_WITH_CREDENTIAL if secret else ()))
    connection = http.client.HTTPConnection(place.host)
    connection.sock = server
    connection.putrequest(method, place.path, skip_host=True, skip_accept_encoding=True)
    own = [("Host", place.authority), ("Accept-Encoding", "identity"), ("Connection", "close")]
    if secret:
        own.append(("Authorization", secret))
    for name, value in (*own, *(one for one in fields if one[0].lower() not in left_out)):
        connection.putheader(name, value)
    connection.endheaders()
    if "100-continue" in given.get("expect", "").lower():
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    for piece in _read_body(io.BufferedReader(_Incoming(client, rest)), given):
        connection.send(piece)
    answer = connection.getresponse()
    _send_answer(client, answer, method, _Cleaner(place, secret), secret)
    return answer.status


class _Incoming(io.RawIOBase):
    """What a client sends after the head of its request."""

    def __init__(self, client: socket.socket, rest: bytes) -> None:
        self._client, self._rest = client, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # BufferedReader gives no other
        if not self._rest:
            return self._client.recv_into(buffer)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _read_body(source: io.BufferedReader, given: dict[str, str]) -> Iterator[bytes]:
    """The body of a request as it came; ValueError for one without an end."""
    if "chunked" not in given.get("transfer-encoding", "").lower():
        yield from _read_pieces(source, int(given.get("content-length") or 0))
        return
    size = -1
    while size:
        line = source.readline(_MAX_LINE_BYTES)
        size = int(line.partition(b";")[0], 16)
        yield line
        yield from _read_pieces(source, size + 2 if size else 0)
    while source.readline(_MAX_LINE_BYTES) not in (b"\r\n", b""):
        pass  # a header behind the body
    yield b"\r\n"


def _read_pieces(source: io.BufferedReader, size: int) -> Iterator[bytes]:
    while size > 0:
        piece = source.read1(min(size, _PIECE_BYTES))
        if not piece:
            raise ValueError("the body has no end")
        size -= len(piece)
        yield piece


class _Cleaner:
    """Takes the credential out of an answer, and has addresses of the host lead to the plain route."""

    def __init__(self, place: Target, secret: str) -> None:
        self.config = place.path.partition("?")[0].endswith("/config.json")  # of a registry of cargo
        self._secret = secret.partition(" ")[2] or secret
        self._address = f"//{place.authority}/"

    def clean(self, text: str) -> str:
        found = text.replace(self._secret, "***") if self._secret else text
        found = found.replace(f"https:{self._address}", f"http:{self._address}")
        # Else cargo would want a credential of its own.
        return re.sub(r'("auth-required"\s*:\s*)true', r"\1false", found) if self.config else found


def _send_answer(
    client: socket.socket, answer: http.client.HTTPResponse, method: str, cleaner: _Cleaner, secret: str
) -> None:
    headers = [(name, cleaner.clean(value)) for name, value in answer.getheaders()]
    size, encoding = answer.headers.get("content-length"), ", ".join(answer.headers.get_all("content-encoding", []))
    if (answer.headers.get("transfer-encoding") or "chunked").lower() != "chunked":
        raise EchoedError("its body is encoded in a way that was not asked for")
    body, has_body = b"", method != "HEAD" and answer.status not in _WITHOUT_BODY
    if has_body and not encoding and (answer.headers.get_content_type().startswith(_INDEXES) or cleaner.config):
        body = answer.read(_MAX_INDEX_BYTES + 1)
        if len(body) > _MAX_INDEX_BYTES:
            raise ValueError("the index is too large")
        body = cleaner.clean(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        size = str(len(body))
    kept = [(name, value) for name, value in headers if name.lower() not in _NOT_ANSWERED]
    kept += [("Connection", "close"), *([("Content-Length", size)] if size is not None else [])]
    fields = "".join(f"{name}: {value}\r\n" for name, value in kept)
    head = f"HTTP/1.1 {answer.status} {answer.reason}\r\n{fields}\r\n".encode("latin-1")
    if not secret:
        client.sendall(head + body)
        while piece := answer.read1(_PIECE_BYTES):
            client.sendall(piece)
        return
    EchoSearch(secret).feed(head)
    body_filter = EchoFilter(secret, encoding if has_body else "")
    ready, begun = body_filter.feed(body), False
    try:
        while piece := answer.read1(_PIECE_BYTES):
            if ready := ready + body_filter.feed(piece):
                client.sendall(ready if begun else head + ready)
                ready, begun = b"", True
    except EchoedError as error:
        error.begun = begun
        raise
    ready += body_filter.end()
    client.sendall(ready if begun else head + ready)
