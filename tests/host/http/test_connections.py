from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable, Iterator

import pytest

from tests.host.http.web import AUTHORITY, Asked, Server, get, redirect, reply, trusting
from toolroll.host.http.client import Client
from toolroll.result import ErrorCode, ToolError

Serve = Callable[..., Server]
TEXT = b"The same text, " * 1000


def answered(serve: Serve, *pieces: bytes) -> tuple[int, dict[str, str], bytes]:
    """What the client makes of these bytes, sent one after the other."""

    def answer(_asked: Asked) -> Iterator[bytes]:
        for piece in pieces:
            yield piece
            if len(pieces) > 1:
                server.closing.wait(0.002)  # so that each arrives alone

    server = serve(answer)
    found = get(trusting(server), server.url(), seconds=10)
    return found.status, found.headers, found.body


def raw(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", b"ab"),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nab", b"ab"),
        (b"HTTP/1.0 200 OK\n\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nab", b"ab"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nab", b""),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", b""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nab", b"ab"),
        (CHUNKED + b"2\r\nab\r\n0003;x=y\r\ncde\r\n0\r\n\r\n", b"abcde"),
        (CHUNKED + b"A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", b"0123456789"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\nab\r\n0\r\n\r\n", b"ab"),
        (b"HTTP/1.1 301 Moved\r\nContent-Length: 4\r\n\r\nhere", b"here"),  # it does not say where to
        (reply(gzip.compress(TEXT), content_encoding="gzip"), TEXT),
        (reply(gzip.compress(TEXT), content_encoding="X-GZIP"), TEXT),
        (reply(gzip.compress(b"one ") + gzip.compress(b"two"), content_encoding="gzip"), b"one two"),
        (reply(gzip.compress(TEXT) + b"\0\0\0", content_encoding="gzip"), TEXT),
        (reply(zlib.compress(TEXT), content_encoding="deflate"), TEXT),
        (reply(raw(TEXT), content_encoding="deflate"), TEXT),
        (reply(b"", content_encoding="gzip"), b""),
        (reply(b"plain", content_encoding="identity"), b"plain"),
        (reply(gzip.compress(TEXT), content_encoding="aws-chunked, gzip"), TEXT),
    ],
)
def test_bodies(serve: Serve, data: bytes, body: bytes) -> None:
    assert answered(serve, data)[2] == body


@pytest.mark.parametrize(
    "data",
    [
        CHUNKED + b"5\r\nabcde\r\nb\r\n0123456789a\r\n0\r\n\r\n",
        reply(gzip.compress(b"abcde0123456789a"), content_encoding="gzip"),
        reply(raw(b"abcde0123456789a"), content_encoding="deflate"),
    ],
)
def test_bytes_that_come_one_by_one(serve: Serve, data: bytes) -> None:
    assert answered(serve, *(data[at : at + 1] for at in range(len(data))))[2] == b"abcde0123456789a"


def test_a_header_of_nothing_but_blanks_takes_no_time(serve: Serve) -> None:
    started = time.process_time()
    head = b"HTTP/1.1 200 OK\r\nA: b" + b" " * 60_000 + b"c\r\nD: e" + b" " * 30_000 + b"\r\n\r\n"
    headers = answered(serve, head)[1]
    assert (len(headers["a"]), headers["d"]) == (60_002, "e")
    assert time.process_time() - started < 30


def test_headers(serve: Serve) -> None:
    head = b"HTTP/1.1 200 OK\r\nA: 1\r\na:\t2 \r\nB: x\r\n  folded\r\nC: \xc3\xbc\r\nD: \xfc\r\nE:\r\n\r\n"
    assert answered(serve, head)[1] == {"a": "1, 2", "b": "x folded", "c": "ü", "d": "ü", "e": ""}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "disconnected without sending a response"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", "disconnected without sending a response"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "disconnected without sending a response"),
        (b"HTTP/2 200 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "received 3 bytes, expected 5"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nabcde", "conflicting Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcde", "bad Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nabcde", "bad Content-Length"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "Only Transfer-Encoding: chunked is supported",
        ),
        (b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", "illegal header line"),
        (CHUNKED + b"zz\r\nab\r\n0\r\n\r\n", "illegal chunk header"),
        (CHUNKED + b"-1\r\nab\r\n0\r\n\r\n", "illegal chunk header"),
        (CHUNKED + b"+2\r\nab\r\n0\r\n\r\n", "illegal chunk header"),
        (CHUNKED + b"1_0\r\nab\r\n0\r\n\r\n", "illegal chunk header"),
        (CHUNKED + b"\r\nab\r\n0\r\n\r\n", "illegal chunk header"),
        (CHUNKED + b"2\r\nabc\r\n0\r\n\r\n", "malformed chunk footer"),
        (CHUNKED + b"5\r\nab", "incomplete chunked read"),
        (CHUNKED + b"2\r\nab\r\n", "incomplete chunked read"),
        (CHUNKED + b"0\r\n" + b"a: b\r\n" * 40_000, "Receive buffer too long"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50, "disconnected without sending a response"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 40_000 + b"\r\n", "Receive buffer too long"),
        (b"HTTP/1.1 200 OK\r\na: " + b"b" * 200_000, "Receive buffer too long"),
        (reply(gzip.compress(TEXT)[:-9], content_encoding="gzip"), "ends too early"),
        (reply(b"\x1f", content_encoding="gzip"), "ends too early"),
        (reply(b"\x1f\x8bgarbage", content_encoding="gzip"), "is damaged"),
        (reply(b"\xff\xff\xff\xff", content_encoding="deflate"), "is damaged"),
    ],
)
def test_broken_answers(serve: Serve, data: bytes, message: str) -> None:
    with pytest.raises(ToolError, match=f"The answer of '127.0.0.1' is broken: .*{message}") as caught:
        answered(serve, data)
    assert caught.value.code is ErrorCode.NETWORK


def test_an_encoding_that_nobody_asked_for(serve: Serve) -> None:
    with pytest.raises(ToolError, match="sends 'br', which cannot be decoded") as caught:
        answered(serve, reply(b"x", content_encoding="br"))
    assert caught.value.code is ErrorCode.UNSUPPORTED


def test_interim_answers_without_end_are_bounded(serve: Serve) -> None:
    def answer(_asked: Asked) -> Iterator[bytes]:
        while True:
            yield b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000

    server = serve(answer)
    with pytest.raises(ToolError, match="is broken: the head of the answer has no end") as caught:
        get(trusting(server), server.url(), seconds=30)
    assert caught.value.code is ErrorCode.NETWORK


def test_one_connection_serves_many_requests(serve: Serve) -> None:
    plain, secure = serve(reply("ok")), serve(reply("ok"), tls=True)
    client = trusting(plain, secure, authorities=AUTHORITY)
    for server in (plain, secure):
        for number in range(5):
            assert get(client, server.url(f"/{number}"), method="POST", body="x").body == b"ok"
        assert (len(server.asked), server.connections) == (5, 1)
    client.close()
    assert get(client, plain.url()).body == b"ok"
    assert plain.connections == 2


def test_an_answer_that_is_not_read_to_its_end_frees_no_connection(serve: Serve) -> None:
    server = serve(lambda asked: redirect("/b") if asked.path == "/a" else reply("there"))
    assert get(trusting(server), server.url("/a")).body == b"there"
    assert server.connections == 2


@pytest.mark.parametrize(("method", "answered"), [("GET", True), ("DELETE", True), ("POST", False)])
def test_a_kept_connection_that_is_dead(serve: Serve, method: str, answered: bool) -> None:
    """What may be sent twice is sent again on a new connection; the rest could have been carried out."""

    def answer(_asked: Asked) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" if len(server.asked) != 2 else b""

    server = serve(answer)
    client = trusting(server)
    get(client, server.url())
    if answered:
        assert get(client, server.url(), method=method).status == 200
        assert (len(server.asked), server.connections) == (3, 2)
    else:
        with pytest.raises(ToolError, match="disconnected without sending a response"):
            get(client, server.url(), method=method)
        assert (len(server.asked), server.connections) == (2, 1)


def test_a_kept_connection_is_not_used_when_the_name_has_moved(serve: Serve) -> None:
    first, second = serve(reply("first")), serve(reply("second"))
    places = {"93.184.215.1": first, "93.184.215.2": second}
    now = ["93.184.215.1"]
    client = first.attach(
        Client(resolve=lambda _name: now, route=lambda address, _port: ("127.0.0.1", places[address].port))
    )
    bodies = []
    for now[0] in ("93.184.215.1", "93.184.215.1", "93.184.215.2", "93.184.215.2"):
        bodies.append(get(client, "http://a.example.com/", method="POST", body="x").body)
    assert bodies == [b"first", b"first", b"second", b"second"]
    assert (first.connections, second.connections) == (1, 1)


def test_a_kept_connection_to_an_open_host_is_of_no_use_to_others(serve: Serve) -> None:
    server = serve(reply("secret"))
    client = server.attach(Client())
    assert get(client.for_host(server.host, max_bytes=1000), server.url()).body == b"secret"
    with pytest.raises(ToolError, match="is not fetched"):
        get(client, server.url())
    assert len(server.asked) == 1
