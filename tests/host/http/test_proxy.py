from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.host.http.web import AUTHORITY, Server, get, reply
from toolroll.host.http.client import Client
from toolroll.host.http.proxy import Proxy, parse
from toolroll.result import ErrorCode, ToolError

Serve = Callable[..., Server]


class Tunnels:
    """A proxy on the loopback: takes CONNECT, and joins every tunnel to one server, whatever address was asked for."""

    def __init__(self, behind: Server, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.heads: list[str] = []
        self._behind = behind
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets = [self._listener]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                head = b""
                while b"\r\n\r\n" not in head:
                    head += client.recv(65536)
                self.heads.append(head.decode())
                client.sendall(self._answer)
                if b" 200 " not in self._answer:
                    continue
                server = socket.create_connection(("127.0.0.1", self._behind.port))
                self._sockets.append(server)
                for ends in ((client, server), (server, client)):
                    self._threads.append(threading.Thread(target=_copy, args=ends))
                    self._threads[-1].start()

    def close(self) -> None:
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def through(serve: Serve) -> Iterator[Callable[..., Tunnels]]:
    opened: list[Tunnels] = []

    def start(*arguments: object) -> Tunnels:
        opened.append(Tunnels(*arguments))  # type: ignore[arg-type]  # handed through as given
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def client_by(proxy: Tunnels, server: Server, user: str = "") -> Client:
    way = f"http://{user}127.0.0.1:{proxy.port}"
    return server.attach(
        Client([server.host], resolve=lambda _name: ["93.184.215.1"], proxy=way, authorities=AUTHORITY)
    )


@pytest.mark.parametrize("tls", [False, True])
def test_a_tunnel_leads_to_the_judged_address(serve: Serve, through: Callable[..., Tunnels], tls: bool) -> None:
    server = serve(reply("through"), tls=tls)
    proxy = through(server)
    client = client_by(proxy, server, "u:p@")
    url = f"{'https' if tls else 'http'}://secure.example.com/"
    for _ in range(2):
        assert get(client, url, robots=False).body == b"through"
    place = f"93.184.215.1:{443 if tls else 80}"
    assert proxy.heads == [
        f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: Basic dTpw\r\n\r\n"
    ]  # one tunnel for both
    assert [asked.headers["host"] for asked in server.asked] == ["secure.example.com"] * 2
    assert "proxy-authorization" not in server.asked[0].headers


def test_an_open_private_host_is_reached_without_the_proxy(serve: Serve, through: Callable[..., Tunnels]) -> None:
    server = serve(reply("direct"))
    proxy = through(server)
    assert get(client_by(proxy, server), server.url()).body == b"direct"
    assert proxy.heads == []


def test_a_private_address_is_refused_before_the_proxy_is_asked(serve: Serve, through: Callable[..., Tunnels]) -> None:
    server = serve(reply("secret"))
    proxy = through(server)
    client = server.attach(Client(resolve=lambda _name: ["10.0.0.1"], proxy=f"http://127.0.0.1:{proxy.port}"))
    with pytest.raises(ToolError, match="not at a public address") as caught:
        get(client, "http://inside.example.com/")
    assert caught.value.code is ErrorCode.SECURITY
    assert proxy.heads == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "it answers CONNECT with status 403"),
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "it answers CONNECT with status 407"),
        (b"SSH-2.0\r\n\r\n", "it does not speak HTTP"),
    ],
)
def test_a_proxy_that_refuses(serve: Serve, through: Callable[..., Tunnels], answer: bytes, why: str) -> None:
    server = serve(reply("never"))
    proxy = through(server, answer)
    with pytest.raises(ToolError, match=f"opens no tunnel: {re.escape(why)}") as caught:
        get(client_by(proxy, server, "u:p@"), "http://a.example.com/", robots=False)
    assert caught.value.code is ErrorCode.NETWORK
    assert "dTpw" not in caught.value.message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", None),
        ("http://proxy:8080", Proxy("proxy", 8080)),
        ("http://proxy.example.com/", Proxy("proxy.example.com", 3128)),
        ("http://u%40x:p@proxy:1", Proxy("proxy", 1, "Basic dUB4OnA=")),
    ],
)
def test_the_setting(value: str, expected: Proxy | None) -> None:
    assert parse(value) == expected


@pytest.mark.parametrize(
    "value", ["proxy:3128", "https://u:s3cret@proxy", "socks5://proxy", "http://:80", "http://a:b"]
)
def test_a_setting_that_is_no_proxy(value: str) -> None:
    with pytest.raises(ToolError, match=r"TOOLROLL_PROXY is not of the form http://host:port") as caught:
        parse(value)
    assert "s3cret" not in caught.value.message
