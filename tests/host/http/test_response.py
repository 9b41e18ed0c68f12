from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable, Iterator

import pytest

from tests.host.http.web import Asked, Server, get, reply, trusting
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
    head = b"HTTP/1.1 200 OK\r\n" + (b"A: b" + b" " * 60_000 + b"c\r\n") * 20 + b"\r\n"
    assert len(answered(serve, head)[1]["a"]) == 20 * 60_002 + 19 * 2
    assert time.process_time() - started < 30


def test_headers(serve: Serve) -> None:
    head = b"HTTP/1.1 200 OK\r\nA: 1\r\na:\t2 \r\nno header\r\nB: x\r\n  folded\r\nC: \xc3\xbc\r\nD: \xfc\r\nE:\r\n\r\n"
    assert answered(serve, head)[1] == {"a": "1, 2", "b": "x folded", "c": "ü", "d": "ü", "e": ""}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the connection ended too early"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", "the connection ended too early"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"),
        (b"HTTP/2 200 OK\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "ended 2 bytes too early"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nabcde", "does not tell the length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcde", "does not tell the length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nabcde", "does not tell the length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "sends the body as 'gzip, chunked'"),
        (CHUNKED + b"zz\r\nab\r\n0\r\n\r\n", "no size"),
        (CHUNKED + b"-1\r\nab\r\n0\r\n\r\n", "no size"),
        (CHUNKED + b"+2\r\nab\r\n0\r\n\r\n", "no size"),
        (CHUNKED + b"1_0\r\nab\r\n0\r\n\r\n", "no size"),
        (CHUNKED + b"\r\nab\r\n0\r\n\r\n", "no size"),
        (CHUNKED + b"2\r\nabc\r\n0\r\n\r\n", "longer than its size"),
        (CHUNKED + b"5\r\nab", "ended 3 bytes too early"),
        (CHUNKED + b"2\r\nab\r\n", "the connection ended too early"),
        (CHUNKED + b"0\r\n" + b"a: b\r\n" * 500, "too many headers"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50, "does not come to its answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n", "too many headers"),
        (b"HTTP/1.1 200 OK\r\na: " + b"b" * 200_000, "a line without an end"),
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
