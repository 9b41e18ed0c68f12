from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.host.http.web import Asked, Server, redirect, reply, trusting
from toolroll.host.http.client import Client
from toolroll.host.http.httpx_transport import GuardedTransport
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError

Serve = Callable[..., Server]


def web(client: Client, token: CancelToken | None = None, seconds: float = 20.0) -> httpx2.Client:
    return httpx2.Client(transport=GuardedTransport(client, token or CancelToken(), seconds=seconds), trust_env=False)


def test_calls_share_the_connections_of_the_client(serve: Serve) -> None:
    server = serve(reply(gzip.compress(b'{"a": 1}'), content_encoding="gzip", content_type="application/json"))
    client = trusting(server)
    for _ in range(3):
        with web(client) as one:
            found = one.post(server.url("/v1?x=%20y"), json={"q": "ü"}, headers={"Authorization": "Bearer k"})
            assert (found.status_code, found.json()) == (200, {"a": 1})
    assert server.connections == 1
    asked = server.asked[0]
    assert (asked.path, asked.body, asked.headers["host"]) == ("/v1?x=%20y", '{"q":"ü"}'.encode(), server.host)
    assert (asked.headers["authorization"], asked.headers["content-type"]) == ("Bearer k", "application/json")


def test_a_body_is_read_as_it_comes(serve: Serve) -> None:
    more = threading.Event()

    def answer(_asked: Asked) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"
        more.wait(20)
        yield b"6\r\nsecond\r\n0\r\n\r\n"

    server = serve(answer)
    with web(trusting(server)) as one, one.stream("GET", server.url()) as found:
        pieces = found.iter_raw()
        assert next(pieces) == b"first"
        more.set()
        assert list(pieces) == [b"second"]


def test_redirects_are_left_to_the_caller(serve: Serve) -> None:
    server = serve(redirect("http://127.0.0.1:1/"))
    with web(trusting(server)) as one:
        assert one.get(server.url()).status_code == 302


def test_what_the_policy_forbids(serve: Serve) -> None:
    server = serve(reply("secret"))
    with web(server.attach(Client())) as one, pytest.raises(ToolError, match="is not fetched") as caught:
        one.get(server.url())
    assert (caught.value.code, server.asked) == (ErrorCode.SECURITY, [])


@pytest.mark.timeout(60)
def test_time_and_cancellation_hold_while_a_body_is_read(serve: Serve) -> None:
    def answer(_asked: Asked) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        server.closing.wait(50)

    server, token = serve(answer), CancelToken()
    client = trusting(server)
    with web(client, seconds=0.3) as one, pytest.raises(ToolError, match=r"No complete answer within 0.3 s"):
        one.get(server.url())
    threading.Timer(0.1, token.cancel).start()
    with web(client, token) as one, pytest.raises(ToolError, match="cancelled"):
        one.get(server.url())
