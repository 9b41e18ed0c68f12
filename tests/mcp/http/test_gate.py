"""The door of the HTTP server by itself: what a real client library would not send."""

import asyncio
from typing import Any

import pytest

from toolroll.host.network.peers import TcpPeers
from toolroll.mcp.http import gate as module
from toolroll.mcp.http import listen
from toolroll.mcp.http.gate import EXAMINED, Gate

TOKEN = b"Bearer secret-secret-secret"


def ask(
    *headers: tuple[bytes, bytes], scheme: str = "http", peers: TcpPeers | None = None, **state: set[TcpPeers]
) -> list[int]:
    """The status that a request with these headers gets; 200 comes from behind the door."""
    sent: list[dict[str, Any]] = []

    async def inside(_: Any, body: bytes, __: Any, send: Any) -> None:
        assert body == b"{}"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": scheme, "path": "/mcp", "method": "POST", "headers": list(headers), "state": state}
    scope |= {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80)}
    hosts = frozenset({"box.example:80", "[fd00::1]:80"})
    asyncio.run(Gate(inside, token="secret-secret-secret", hosts=hosts, peers=peers)(scope, receive, send))
    assert not sent or (sent[-1]["type"], sent[-1].get("more_body", False)) == ("http.response.body", False)
    return [one["status"] for one in sent if one["type"] == "http.response.start"]


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
    assert ask(*headers) == [status]


def test_a_client_that_is_no_process_here_is_refused_after_the_token():
    assert (ask(HOST, KEY, peers=TcpPeers()), ask(HOST, peers=TcpPeers())) == ([403], [401])


def test_a_connection_is_examined_once() -> None:
    peers = TcpPeers()
    assert ask(HOST, KEY, peers=peers, **{EXAMINED: {peers}}) == [200]
    assert ask(HOST, KEY, peers=peers, **{EXAMINED: {TcpPeers()}}) == [403]
    assert ask(HOST, peers=peers, **{EXAMINED: {peers}}) == [401]


def test_nothing_but_http_is_answered():
    assert ask(HOST, KEY, scheme="websocket") == []


def test_an_address_that_others_reach_is_used_when_its_names_are_given():
    with listen("0.0.0.0", 0, ["box.example"]) as listening:
        assert listening.getsockname()[0] == "0.0.0.0"


def chunks(*parts: bytes, last: str = "http.request") -> list[dict[str, Any]]:
    """The messages of a body that comes in these parts."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    return [*messages, {"type": last}]


def run(app: Any, messages: list[dict[str, Any]], *headers: tuple[bytes, bytes]) -> tuple[list[int], bytes]:
    """The status and the body of the answer to one request with these messages."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.sleep(3600)
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/mcp", "method": "POST", "headers": [HOST, KEY, *headers]}
    asyncio.run(Gate(app, token="secret-secret-secret", hosts=frozenset({"box.example:80"}))(scope, receive, send))
    body = b"".join(one.get("body", b"") for one in sent if one["type"] == "http.response.body")
    return [one["status"] for one in sent if one["type"] == "http.response.start"], body


async def echo(_: Any, body: bytes, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def test_the_body_comes_as_one_piece():
    assert run(echo, chunks(b"ab", b"", b"cd")) == ([200], b"abcd")
    assert run(echo, chunks()) == ([200], b"")


def test_a_body_has_a_largest_size(monkeypatch):
    monkeypatch.setattr(module, "MAX_BODY_BYTES", 4)
    refused = ([413], b"A message has at most 4 bytes.\n")
    assert run(echo, chunks(b"abc", b"d"), (b"content-length", b"4")) == ([200], b"abcd")
    assert run(echo, chunks(b"abc", b"de")) == refused
    assert run(echo, chunks(b"abc"), (b"content-length", b"5")) == refused
    assert run(echo, chunks(b"abc"), (b"content-length", b"many")) == ([200], b"abc")


def test_a_body_that_does_not_end_is_refused(monkeypatch):
    assert run(echo, chunks(b"abc", last="http.disconnect")) == ([400], b"The body did not come to its end.\n")
    monkeypatch.setattr(module, "BODY_TIMEOUT_S", 0.01)
    assert run(echo, chunks(b"abc")[:-1]) == ([408], b"The body took too long.\n")
