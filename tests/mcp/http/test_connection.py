"""Requests and responses on one connection: in pieces, too large, too slow, and after the client has left."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from toolroll.mcp.http import connection as module
from toolroll.mcp.http.connection import HttpConnection, HttpRefusedError

HEAD = b"POST /mcp?x=1 HTTP/1.1\r\nHost: a\r\n%b\r\n"


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, HttpConnection]]:
    client, served = socket.socketpair()
    client.settimeout(50)
    with client, served:
        yield client, HttpConnection(served)


def read(pair: tuple[socket.socket, HttpConnection], *lines: bytes, body: bytes = b"", ends: bool = False) -> object:
    """The body of a request, or the refusal."""
    client, connection = pair
    client.sendall(HEAD % b"".join(line + b"\r\n" for line in lines) + body)
    if ends:
        client.shutdown(socket.SHUT_WR)
    try:
        request = connection.read_request()
        assert request is not None
        assert (request.method, request.path, request.headers[0]) == ("POST", "/mcp", (b"host", b"a"))
        return connection.read_body(request.headers)
    except HttpRefusedError as refusal:
        return refusal.status, str(refusal)


CHUNKED = b"Transfer-Encoding: chunked"


def test_the_body_comes_as_one_piece(pair):
    assert read(pair) == b""
    assert read(pair, b"Content-Length: 4", body=b"abcd") == b"abcd"
    assert read(pair, CHUNKED, body=b"2;x=y\r\nab\r\n02\r\ncd\r\n0\r\nTrailer: 1\r\n\r\n") == b"abcd"
    assert read(pair, CHUNKED, body=b"0\r\n\r\n") == b""


def test_a_client_that_asks_first_is_told_to_go_on(pair):
    assert read(pair, b"Content-Length: 2", b"Expect: 100-continue", body=b"ab") == b"ab"
    assert pair[0].recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"


TWO = (400, "Content-Length is one number, without Transfer-Encoding.")
NO_SIZE = (400, "A chunk of the body has no size.")


@pytest.mark.parametrize(
    ("lines", "body", "refusal"),
    [
        ((b"Content-Length: many",), b"", TWO),
        ((b"Content-Length: -1",), b"", TWO),
        ((b"Content-Length: \xb2",), b"", TWO),
        ((b"Content-Length: 1", b"Content-Length: 1"), b"a", TWO),
        ((b"Content-Length: 1", CHUNKED), b"a", TWO),
        ((b"Transfer-Encoding: gzip, chunked",), b"", (400, "The only Transfer-Encoding is chunked.")),
        ((CHUNKED,), b"-1\r\n", NO_SIZE),
        ((CHUNKED,), b"x" * 2_000, NO_SIZE),
        ((CHUNKED,), b"1\r\nabc\r\n", (400, "A chunk of the body has another size.")),
        ((CHUNKED,), b"5\r\nabc", (400, "The body is not whole.")),
        ((b"Content-Length: 5",), b"abc", (400, "The body is not whole.")),
    ],
)
def test_a_body_whose_end_is_not_clear_is_refused(pair, lines, body, refusal):
    assert read(pair, *lines, body=body, ends=True) == refusal


def test_a_body_has_a_largest_size(pair, monkeypatch):
    monkeypatch.setattr(module, "MAX_BODY_BYTES", 4)
    refusal = (413, "A message has at most 4 bytes.")
    assert read(pair, b"Content-Length: 4", body=b"abcd") == b"abcd"
    assert read(pair, b"Content-Length: 5") == refusal
    assert read(pair, CHUNKED, body=b"3\r\nabc\r\nFFFFFFFF\r\n") == refusal


def test_a_head_has_a_largest_size(pair, monkeypatch):
    monkeypatch.setattr(module, "MAX_HEAD_BYTES", 100)
    pair[0].sendall(b"x" * 101)
    with pytest.raises(HttpRefusedError, match="at most 100 bytes"):
        pair[1].read_request()


def test_a_body_that_does_not_end_is_refused(pair, monkeypatch):
    monkeypatch.setattr(module, "BODY_TIMEOUT_S", 0.01)
    assert read(pair, b"Content-Length: 5", body=b"abc") == (408, "The body took too long.")


def test_a_client_of_an_old_version_gets_a_plain_response_and_no_more(pair):
    client, connection = pair
    client.sendall(b"GET /mcp HTTP/1.0\r\n\r\n")
    assert connection.read_request() is not None
    connection.begin_stream([])
    connection.send_part(b"one")
    connection.end_stream()
    head, _, body = client.recv(1000).partition(b"\r\n\r\n")
    body = body or client.recv(1000)
    assert (b"connection: close" in head, b"chunked" in head, body, connection.keeps_alive) == (
        True,
        False,
        b"one",
        False,
    )


def test_a_client_that_does_not_read_holds_nobody_up(pair):
    client, connection = pair
    client.sendall(HEAD % b"")
    connection.read_request()
    connection.begin_stream([])
    began = time.monotonic()
    while connection.offer_part(b"x" * 100_000):
        pass
    assert time.monotonic() - began < 40


@pytest.mark.parametrize("reads", [True, False])
def test_a_response_may_take_long_while_the_client_reads(pair, monkeypatch, reads):
    monkeypatch.setattr(module, "_SEND_TIMEOUT_S", 0.1)
    client, connection = pair
    client.sendall(HEAD % b"")
    connection.read_request()
    sent = []

    def send() -> None:
        try:
            connection.respond(200, [], b"x" * 3_000_000)
            sent.append(True)
        except OSError:
            sent.append(False)

    sending = threading.Thread(target=send)
    sending.start()
    left = 3_000_000
    while reads and left > 0:
        left -= len(client.recv(500_000))
        time.sleep(0.03)
    sending.join()
    assert sent == [reads]


def test_a_client_that_leaves_is_noticed_although_nothing_is_read(pair):
    client, connection = pair
    assert not connection.has_left()
    client.sendall(b"GET")  # which another thread may take meanwhile
    assert not connection.has_left()
    client.close()
    assert connection.has_left()
    assert connection.read_request() is None
