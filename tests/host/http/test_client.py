from __future__ import annotations

import socket
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.host.http.web import AUTHORITY, Asked, Internet, Server, get, redirect, reply, trusting
from toolroll.host.http.client import Client, Response
from toolroll.host.http.network import Route
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy import urls
from toolroll.result import ErrorCode, ToolError

Serve = Callable[..., Server]


def test_a_request_and_its_answer(serve: Serve) -> None:
    server = serve(reply("hello", etag='"x"'))
    found = get(trusting(server), server.url("/a?b=ü"), headers={"Accept": "text/plain", "X-Key": "1"})
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": "5", "etag": '"x"'}
    assert found == Response(200, server.url("/a?b=%C3%BC"), headers, b"hello", "GET")
    assert server.asked == [
        Asked(
            "GET",
            "/a?b=%C3%BC",
            {"host": server.host, "user-agent": "toolroll/0.1", "accept": "text/plain", "x-key": "1", "accept-encoding": "gzip, deflate"},
            b"",
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "headers", "body", "kind", "sent"),
    [
        ("POST", {}, {"a": [1, "ü"]}, "application/json", '{"a": [1, "ü"]}'.encode()),
        ("PUT", {}, [1, 2], "application/json", b"[1, 2]"),
        ("PATCH", {}, '{"a": 1}', "application/json", b'{"a": 1}'),
        ("POST", {}, "{broken", "text/plain; charset=utf-8", b"{broken"),
        ("DELETE", {}, "why", "text/plain; charset=utf-8", b"why"),
        ("POST", {"Content-Type": "application/x-www-form-urlencoded"}, {"a": "1 &", "b": [2, True], "c": None}, "application/x-www-form-urlencoded", b"a=1+%26&b=2&b=true&c="),
        ("POST", {"content-type": "text/csv"}, "a,b", "text/csv", b"a,b"),
        ("POST", {}, "x" * 300_000, "text/plain; charset=utf-8", b"x" * 300_000),
    ],
)  # fmt: skip
def test_bodies(serve: Serve, method: str, headers: dict[str, str], body: Any, kind: str, sent: bytes) -> None:
    server = serve(reply("ok"))
    assert get(trusting(server), server.url(), method=method, headers=headers, body=body).status == 200
    (asked,) = server.asked
    assert (asked.method, asked.headers["content-type"], asked.body) == (method, kind, sent)


def test_a_request_without_a_body_says_so(serve: Serve) -> None:
    server = serve(reply("ok"))
    get(trusting(server), server.url(), method="POST")
    get(trusting(server), server.url(), method="DELETE")
    assert [one.headers.get("content-length") for one in server.asked] == ["0", None]


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "418 Teapot", "999 Odd"])
def test_an_error_status_is_an_answer(serve: Serve, status: str) -> None:
    server = serve(reply("sorry", status))
    found = get(trusting(server), server.url())
    assert (found.status, found.body) == (int(status[:3]), b"sorry")


def test_head_has_no_body(serve: Serve) -> None:
    server = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    assert get(trusting(server), server.url(), method="HEAD").headers == {"content-length": "100"}


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        ("301", "GET", "GET"), ("302", "HEAD", "HEAD"), ("303", "GET", "GET"), ("301", "POST", "GET"), ("302", "PUT", "GET"),
        ("303", "DELETE", "GET"), ("307", "POST", "POST"), ("308", "PUT", "PUT"),
    ],
)  # fmt: skip
def test_redirects(serve: Serve, status: str, method: str, then: str) -> None:
    server = serve(lambda asked: redirect("/b", f"{status} Moved") if asked.path == "/a" else reply("there"))
    body = "data" if method in ("POST", "PUT") else None
    found = get(trusting(server), server.url("/a"), method=method, body=body)
    assert (found.status, found.url, found.hops, found.note) == (200, server.url("/b"), (server.url("/a"),), "")
    assert [(one.method, one.path) for one in server.asked] == [(method, "/a"), (then, "/b")]
    assert server.asked[1].body == (b"data" if then == method and body else b"")
    assert ("content-type" in server.asked[1].headers) == (then == method and body is not None)


def test_redirects_need_not_be_followed(serve: Serve) -> None:
    server = serve(redirect("/b"))
    found = get(trusting(server), server.url("/a"), follow=False)
    assert (found.status, found.headers["location"], found.hops) == (302, "/b", ())


def test_redirects_come_to_an_end(serve: Serve) -> None:
    server = serve(lambda asked: redirect(f"{asked.path}x"))
    with pytest.raises(ToolError, match="More than 5 redirects") as caught:
        get(trusting(server), server.url("/"))
    assert caught.value.code is ErrorCode.NETWORK
    assert len(server.asked) == urls.MAX_REDIRECTS + 1


@pytest.mark.parametrize("location", ["http://127.0.0.1:{private}/", "http://localhost:{private}/", "//[::1]:{private}/",
                                      "http://2130706433:{private}/", "http://intranet.example.com:{private}/", "file:///etc/passwd", "gopher://x/"])  # fmt: skip
def test_a_redirect_does_not_lead_inside(serve: Serve, location: str) -> None:
    private = serve(reply("secret"))
    public = serve(redirect(location.format(private=private.port)))
    with pytest.raises(ToolError) as caught:
        get(trusting(public, resolve=lambda _name: ["127.0.0.1"]), public.url())
    assert caught.value.code is ErrorCode.SECURITY
    assert (len(public.asked), private.asked) == (1, [])


def test_credentials_do_not_travel(serve: Serve) -> None:
    other = serve(reply("got it"))
    first = serve(lambda asked: redirect("/2") if asked.path == "/1" else redirect("http://b.example.com/x"))
    headers = {"Authorization": "Bearer s3cret", "Cookie": "a=b", "X-Api-Key": "s3cret", "Accept": "text/plain"}
    client = Internet(a=first, b=other).client()
    found = get(client, "http://a.example.com/1", headers=headers, robots=False)
    assert [one.headers.get("authorization") for one in first.asked] == ["Bearer s3cret", "Bearer s3cret"]
    (asked,) = other.asked
    assert set(asked.headers) == {"host", "user-agent", "accept", "accept-encoding"}
    assert asked.headers["host"] == "b.example.com"
    assert found.note == "Not sent to the other host: authorization, cookie, x-api-key."


def test_a_body_does_not_travel(serve: Serve) -> None:
    other = serve(reply("got it"))
    first = serve(redirect("http://b.example.com/x", "307 Temporary Redirect"))
    client = Internet(a=first, b=other).client()
    found = get(client, "http://a.example.com/1", method="POST", body={"password": "x"})
    assert (found.status, other.asked) == (307, [])
    assert found.note.startswith("Not followed: it would send the body to another host.")


def test_many_at_a_time(serve: Serve) -> None:
    server = serve(lambda asked: reply(asked.path * 1000))
    client = trusting(server)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: get(client, server.url(f"/{number}")).body, range(40)))
    assert found == [f"/{number}".encode() * 1000 for number in range(40)]


def test_no_cookie_is_kept(serve: Serve) -> None:
    server = serve(reply("ok", set_cookie="a=b"))
    client = trusting(server)
    get(client, server.url())
    get(client, server.url())
    assert "cookie" not in server.asked[1].headers


def test_no_proxy_of_the_environment_is_used(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server, proxy = serve(reply("ok")), serve(reply("spy"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url())
    assert get(trusting(server), server.url()).body == b"ok"
    assert proxy.asked == []


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::ffff:127.0.0.1]:{port}/"]
)
def test_the_loopback_is_closed_unless_it_is_opened(serve: Serve, url: str) -> None:
    server = serve(reply("secret"))
    with pytest.raises(ToolError, match="is not fetched") as caught:
        get(Client(), url.format(port=server.port))
    assert caught.value.code is ErrorCode.SECURITY
    assert server.asked == []


def test_nobody_is_there() -> None:
    with pytest.raises(ToolError, match=r"Cannot reach '127.0.0.1': Connection refused") as caught:
        get(Client(["127.0.0.1:1"]), "http://127.0.0.1:1/")
    assert caught.value.code is ErrorCode.NETWORK


def test_the_next_address_is_tried(serve: Serve) -> None:
    server = serve(reply("second"))
    ways = {"93.184.215.1": ("127.0.0.1", 1), "93.184.215.2": ("127.0.0.1", server.port)}
    client = server.attach(Client(resolve=lambda _name: list(ways), route=lambda address, _port: ways[address]))
    assert get(client, "http://a.example.com/", robots=False).body == b"second"


def test_a_name_is_looked_up_by_the_system(serve: Serve) -> None:
    server = serve(reply("ok"))
    assert get(server.attach(Client([f"localhost:{server.port}"])), f"http://localhost:{server.port}/").body == b"ok"
    assert server.asked[0].headers["host"] == f"localhost:{server.port}"
    with pytest.raises(ToolError, match=r"'no-such-host.invalid' cannot be looked up") as caught:
        get(Client(), "http://no-such-host.invalid/")
    assert caught.value.code is ErrorCode.NETWORK


def test_tls_checks_the_certificate(serve: Serve) -> None:
    server = serve(reply("ok"), tls=True)
    internet = Internet(secure=server, other=server)
    client = internet.client(authorities=AUTHORITY)
    assert get(client, "https://secure.example.com/", robots=False).body == b"ok"
    assert get(trusting(server, authorities=AUTHORITY), server.url()).body == b"ok"
    for bad, url in ((client, "https://other.example.com/"), (internet.client(), "https://secure.example.com/")):
        with pytest.raises(ToolError, match="has no certificate that can be trusted") as caught:
            get(bad, url, robots=False)
        assert caught.value.code is ErrorCode.NETWORK
    assert len(server.asked) == 2


def test_tls_with_a_server_that_speaks_none(serve: Serve) -> None:
    server = serve(reply("ok"))
    with pytest.raises(ToolError, match=r"No TLS with '127.0.0.1'") as caught:
        get(trusting(server), f"https://{server.host}/", seconds=5)
    assert caught.value.code is ErrorCode.NETWORK


@pytest.mark.parametrize("where", ["head", "body", "drip"])
def test_a_slow_server_is_given_up(serve: Serve, where: str) -> None:
    def answer(_asked: Asked) -> Iterator[bytes]:
        if where == "head":
            server.closing.wait(90)
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while not server.closing.wait(90 if where == "body" else 0.05):
            yield b"x"

    server = serve(answer)
    started = time.monotonic()
    with pytest.raises(ToolError, match=r"No complete answer within 0.5 s") as caught:
        get(trusting(server), server.url(), seconds=0.5)
    assert caught.value.code is ErrorCode.TIMEOUT
    assert time.monotonic() - started < 50


@pytest.mark.timeout(60)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems queue more connections than they are told to")
def test_a_server_that_takes_no_connection_is_given_up() -> None:
    with full() as route, pytest.raises(ToolError, match=r"No complete answer within 0.5 s") as caught:
        get(Client(resolve=lambda _name: ["93.184.215.1"], route=route), "http://a.example.com/", seconds=0.5)
    assert caught.value.code is ErrorCode.TIMEOUT


@contextmanager
def full() -> Iterator[Route]:
    """The way to a listener that takes no more connections: one to it stays half open."""
    with ExitStack() as held:
        listener = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            one = held.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield lambda _address, _port: listener.getsockname()


@pytest.mark.timeout(60)
def test_a_call_can_be_cancelled(serve: Serve) -> None:
    def answer(_asked: Asked) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        threading.Timer(0.1, token.cancel).start()
        server.closing.wait(20)

    server, token = serve(answer), CancelToken()
    with pytest.raises(ToolError, match="cancelled") as caught:
        get(trusting(server), server.url(), token=token, seconds=20)
    assert caught.value.code is ErrorCode.CANCELLED


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"x" * 200_001),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 300_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n" + b"x" * 0xFFFFF,
    ],
    ids=["length", "claimed", "endless", "chunks"],
)
def test_too_much(serve: Serve, answer: bytes) -> None:
    server = serve(answer)
    with pytest.raises(ToolError, match="sends more than 200000 bytes") as caught:
        get(trusting(server, max_bytes=200_000), server.url())
    assert caught.value.code is ErrorCode.TOO_LARGE


@pytest.mark.parametrize(("coding", "window"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
def test_a_bomb_does_not_go_off(serve: Serve, coding: str, window: int) -> None:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, window)
    bomb = squeeze.compress(bytes(50_000_000)) + squeeze.flush()
    server = serve(reply(bomb, content_encoding=coding))
    client = trusting(server, max_bytes=200_000)
    assert len(bomb) < 60_000
    tracemalloc.start()
    try:
        with pytest.raises(ToolError, match="sends more than 200000 bytes"):
            get(client, server.url())
        ours = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        assert len(zlib.decompress(bomb, window)) == 50_000_000  # the control
        assert ours < 5_000_000 < tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(60)
def test_an_endless_body_ends(serve: Serve) -> None:
    def answer(_asked: Asked) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            yield bytes(65536)

    server = serve(answer)
    with pytest.raises(ToolError, match="more than 10000000 bytes"):
        get(trusting(server), server.url())


def test_rebinding_finds_nobody(serve: Serve) -> None:
    """A name that is public when it is judged and private when it is used: only the first answer is ever used."""
    private = serve(reply("secret"))

    class Rebinding:
        def __init__(self) -> None:
            self.asked: list[str] = []
            self.went_to: list[str] = []

        def resolve(self, name: str) -> list[str]:
            self.asked.append(name)
            return ["93.184.215.14"] if self.asked.count(name) == 1 else ["127.0.0.1"]

        def route(self, address: str, _port: int) -> tuple[str, int]:
            self.went_to.append(address)
            return "127.0.0.1", private.port if address == "127.0.0.1" else 1  # nobody listens at port 1

    ours, naive = Rebinding(), Rebinding()
    client = Client(resolve=ours.resolve, route=ours.route)
    names = [f"rebind{number}.example.com" for number in range(300)]
    for name in names:
        with pytest.raises(ToolError, match="Cannot reach") as caught:
            get(client, f"http://{name}/", robots=False)
        assert caught.value.code is ErrorCode.NETWORK
    assert (ours.asked, ours.went_to, private.asked) == (names, ["93.184.215.14"] * 300, [])

    for name in names:  # the control: judge the name, then connect by the name
        assert urls.judge(f"http://{name}/", naive.resolve).decision == "allow"
        with socket.create_connection(naive.route(naive.resolve(name)[0], 80)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(1000).endswith(b"secret")
    assert len(private.asked) == 300


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
def test_a_redirect_from_tls_to_none_is_not_followed(serve: Serve, status: str) -> None:
    plain = serve(reply("plain"))
    secure = serve(redirect(plain.url("/x"), status), tls=True)
    client = trusting(plain, secure, authorities=AUTHORITY)
    with pytest.raises(ToolError, match=r"which is not followed: it would go on without TLS") as caught:
        get(client, secure.url())
    assert caught.value.code is ErrorCode.SECURITY
    assert plain.asked == []
    assert get(client, secure.url(), follow=False).status == int(status[:3])
