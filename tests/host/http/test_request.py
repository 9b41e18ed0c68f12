from __future__ import annotations

from typing import Any

import pytest

from toolroll.host.http.request import Request, prepare
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError


@pytest.mark.parametrize(
    ("method", "headers", "body", "message"),
    [
        ("TRACE", {}, None, "There is no `method` 'TRACE'"),
        ("CONNECT", {}, None, "There is no `method` 'CONNECT'"),
        ("GET / HTTP/1.1\r\nX: y", {}, None, "There is no `method`"),
        ("GET", {}, "x", "A GET request has no `body`"),
        ("HEAD", {}, {}, "A HEAD request has no `body`"),
        ("GET", {"X": "a\r\nHost: evil"}, None, "a line break"),
        ("GET", {"X": "a\nb"}, None, "a line break"),
        ("GET", {"X": "a\0"}, None, "a line break"),
        ("GET", {"X: y\r\nZ": "a"}, None, "is not a name"),
        ("GET", {"X Y": "a"}, None, "is not a name"),
        ("GET", {"": "a"}, None, "is not a name"),
        ("GET", {"Ü": "a"}, None, "is not a name"),
        ("GET", {"X": "a", "x": "b"}, None, "is there twice"),
        ("GET", {"Host": "evil"}, None, "is set by the connection itself"),
        ("POST", {"Content-Length": "3"}, "abc", "is set by the connection itself"),
        ("POST", {"transfer-encoding": "chunked"}, "abc", "is set by the connection itself"),
        ("GET", {"Proxy-Authorization": "x"}, None, "is set by the connection itself"),
        ("GET", {"X-Forwarded-For": "127.0.0.1"}, None, "is set by the connection itself"),
        ("GET", {"X": "a" * 20_000}, None, "Too many `headers`"),
        ("GET", {f"X{number}": "a" for number in range(100)}, None, "Too many `headers`"),
        ("POST", {}, {"a": float("nan")}, "cannot be written as JSON"),
        ("POST", {"Content-Type": "application/x-www-form-urlencoded"}, {"a": {"b": 1}}, "a form cannot hold it"),
    ],
)
def test_what_cannot_be_sent(method: str, headers: dict[str, str], body: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        prepare(method, "http://example.com/", headers, body)
    assert caught.value.code is ErrorCode.VALIDATION


def test_a_body_that_is_too_large() -> None:
    with pytest.raises(ToolError, match="has 10000001 bytes") as caught:
        prepare("POST", "http://example.com/", {}, "x" * 10_000_001)
    assert caught.value.code is ErrorCode.TOO_LARGE


def test_what_is_sent() -> None:
    asked = prepare("post", "http://example.com:8080/a?b", {"X-A": " ü "}, "text")
    assert asked == Request(
        "POST", "http://example.com:8080/a?b", {"content-type": "text/plain; charset=utf-8", "x-a": "ü"}, b"text"
    )
    assert asked.header_lines(urls.parse(asked.url), "agent/1") == [
        ("Host", "example.com:8080"),
        ("User-Agent", "agent/1"),
        ("Accept", "*/*"),
        ("Content-Type", "text/plain; charset=utf-8"),
        ("X-A", "ü"),
        ("Accept-Encoding", "gzip, deflate"),
        ("Content-Length", "4"),
    ]
