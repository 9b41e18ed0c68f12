"""The door of the HTTP server by itself: what a real client library would not send."""

import socket

import pytest

from toolroll.host.network.peers import TcpPeers
from toolroll.mcp.http import listen
from toolroll.mcp.http.connection import HttpConnection, HttpRefusedError, HttpRequest
from toolroll.mcp.http.gate import Gate

TOKEN = b"Bearer secret-secret-secret"


def ask(*headers: tuple[bytes, bytes], peers: TcpPeers | None = None, is_examined: bool = False) -> int:
    """The status that a request with these headers gets; 200 for one that may come in."""
    hosts = frozenset({"box.example:80", "[fd00::1]:80"})
    gate = Gate(token="secret-secret-secret", hosts=hosts, peers=peers)
    client, served = socket.socketpair()
    with client, served:
        connection = HttpConnection(served)
        connection.is_examined = is_examined
        try:
            gate.check(HttpRequest("POST", "/mcp", list(headers)), connection)
        except HttpRefusedError as refusal:
            return refusal.status
    return 200


HOST, KEY = (b"host", b"box.example:80"), (b"authorization", TOKEN)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((HOST, KEY), 200),
        (((b"host", b"[fd00::1]:80"), KEY), 200),
        ((HOST, KEY, (b"origin", b"https://box.example")), 200),
        ((HOST, KEY, (b"origin", b"http://[fd00::1]:3000")), 200),
        ((KEY,), 421),
        ((HOST, HOST, KEY), 421),
        ((HOST, (b"host", b"evil.example"), KEY), 421),
        (((b"host", b"127.0.0.1:80"), KEY), 421),
        ((HOST, KEY, KEY), 401),
        ((HOST, (b"authorization", b"Bearer wrong"), KEY), 401),
        ((HOST, (b"authorization", b"")), 401),
        ((HOST, (b"authorization", b"Bearer \xff\x00")), 401),
        ((HOST, KEY, (b"origin", b"http://localhost")), 403),
        ((HOST, KEY, (b"origin", b"http://boxaexample")), 403),
        ((HOST, KEY, (b"origin", b"http://box.example"), (b"origin", b"http://evil.example")), 403),
        ((HOST, KEY, (b"origin", b"http://box.example:123456")), 403),
        ((HOST, KEY, (b"origin", b"http://box.example\n")), 403),
        ((HOST, KEY, (b"origin", b"")), 403),
    ],
)
def test_only_what_is_exactly_right_comes_in(headers, status):
    assert ask(*headers) == status


def test_a_client_that_is_no_process_here_is_refused_after_the_token():
    assert (ask(HOST, KEY, peers=TcpPeers()), ask(HOST, peers=TcpPeers())) == (403, 401)


def test_a_connection_is_examined_once() -> None:
    assert ask(HOST, KEY, peers=TcpPeers(), is_examined=True) == 200
    assert ask(HOST, peers=TcpPeers(), is_examined=True) == 401


def test_an_address_that_others_reach_is_used_when_its_names_are_given():
    with listen("0.0.0.0", 0, ["box.example"]) as listening:
        assert listening.getsockname()[0] == "0.0.0.0"
