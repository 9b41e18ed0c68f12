"""Requests to the HTTP server on a plain socket: in pieces, together, malformed, and given up at once."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.fixtures.served import BOTH, Client, Served, served
from tests.waiting import until
from toolroll.mcp.http import server

TEXT = {"name": "test_simple_text", "arguments": {}}
RESULT = {"content": [{"type": "text", "text": "This is a simple text response for testing."}]}
READ = {"name": "read", "arguments": {"path": "a.txt"}}
SECONDS = 60.0


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("listener")
    folder = home / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    with served("toolroll", "mcp", "--http", "-C", str(folder), home=home) as running:
        yield running


@pytest.fixture
def client(suite: Served) -> Iterator[Client]:
    """A client in a session, which ends with the test: a server has only so many."""
    made = suite.client()
    made.handshake()
    yield made
    assert delete(made) == 200


def delete(client: Client) -> int:
    return client.send("DELETE", None, {**BOTH, "authorization": f"Bearer {client.token}", **client.session}).status


def raw(client: Client, message: Any, *, change: tuple[str, str] = ("", ""), body: bytes | None = None) -> bytes:
    """A request of this client as bytes, with something in its head replaced."""
    body = json.dumps(message).encode() if body is None else body
    usual = {"Host": f"127.0.0.1:{client.port}", "Authorization": f"Bearer {client.token}", **BOTH, **client.session}
    lines = [f"{name}: {value}\r\n" for name, value in {**usual, "Content-Length": str(len(body))}.items()]
    head = f"POST /mcp HTTP/1.1\r\n{''.join(lines)}\r\n"
    assert change[0] in head
    return head.replace(*change, 1).encode() + body


def call(number: int, params: dict[str, Any] = TEXT) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def answer_to(number: int) -> tuple[int, list[Any]]:
    return 200, [{"jsonrpc": "2.0", "id": number, "result": RESULT}]


class Wire:
    """A connection on which the test decides which bytes go together."""

    def __init__(self, client: Client) -> None:
        self.socket = socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self.socket.makefile("rb")

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self) -> tuple[int, list[Any]]:
        """The status and the messages of the next answer."""
        status = int(self._stream.readline().split()[1])
        lines = iter(self._stream.readline, b"\r\n")
        headers = dict(line.decode().strip().lower().split(": ", 1) for line in lines)
        if headers.get("transfer-encoding") != "chunked":
            body = self._stream.read(int(headers.get("content-length", -1)))
            return status, [json.loads(body)] if body.startswith(b"{") else [body.decode()]
        body = b""
        while size := int(self._stream.readline(), 16):
            body += self._stream.read(size)
            self._stream.readline()
        self._stream.readline()
        return status, [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]


def is_running(mark: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in entry.read_bytes():
                return True
        except OSError:
            continue
    return False


def test_a_call_that_is_given_up_at_once_ends(kit):
    """The server may not have begun the call yet."""
    mark = f"listener-given-up-{os.getpid()}"
    for how in ("cancel", "delete", "vanish"):
        client = kit.client()
        client.handshake()
        bash = {"name": "bash", "arguments": {"command": f"sleep 600 # {mark}-{how}", "timeout": 600}}
        with Wire(client) as wire:
            wire.send(raw(client, call(7, bash)))
            if how == "cancel":
                cancel(client, 7)
                assert wire.answer()[1][-1]["error"]["message"] == "Request cancelled"
            elif how == "delete":
                assert delete(client) == 200
                assert client.request("tools/call", READ).status == 404
    time.sleep(0.5)  # a call that did not end would be seen by now
    assert until(lambda: not is_running(mark))


def cancel(client: Client, number: int) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
    assert client.post(message).status == 202


def test_a_cancellation_does_not_reach_a_later_call_with_the_same_id(kit):
    """Neither one of a call that runs, nor one of a call that has its answer."""
    mark = f"listener-again-{os.getpid()}"
    client = kit.client()
    client.handshake()
    bash = {"name": "bash", "arguments": {"command": f"sleep 600 # {mark}", "timeout": 600}}
    with Wire(client) as wire:
        wire.send(raw(client, call(7, bash)))
        assert until(lambda: is_running(mark))
        cancel(client, 7)
        assert wire.answer()[1][-1]["error"]["message"] == "Request cancelled"
        for _ in range(2):
            assert client.request("tools/call", READ, 7).result["isError"] is False
            cancel(client, 7)
    assert delete(client) == 200


def test_a_flood_of_cancellations_changes_nothing_for_others(client, suite):
    other = suite.client()
    other.handshake()
    cancel(other, 1)
    for number in range(1, 101):
        cancel(client, number)
    assert client.request("tools/call", TEXT, 1).result == RESULT
    assert client.request("tools/call", TEXT, 100).error == {"code": -32800, "message": "Request cancelled"}
    assert client.request("tools/call", TEXT, 100).result == RESULT
    assert other.request("tools/call", TEXT, 1).error["message"] == "Request cancelled"
    assert delete(other) == 200


REFUSED = {
    "token": (lambda client: (client.token or "", (client.token or "")[:-1] + "!"), 401),
    "no token": (lambda _: ("Authorization", "X-Authorization"), 401),
    "host": (lambda client: (f"127.0.0.1:{client.port}", f"evil.example:{client.port}"), 421),
    "origin": (lambda _: ("Host:", "Origin: http://evil.example\r\nHost:"), 403),
    "path": (lambda _: ("/mcp", "/other"), 404),
    "method": (lambda _: ("POST", "PUT"), 405),
    "too large": (lambda _: ("Content-Length: ", "Content-Length: 9999999"), 413),
    "two lengths": (lambda _: ("Content-Length: ", "Content-Length: 1\r\nContent-Length: "), 400),
    "no number": (lambda _: ("Content-Length: ", "Content-Length: +"), 400),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_good_request_before_it_does_not_let_a_bad_one_in(client, name):
    change, status = REFUSED[name]
    with Wire(client) as wire:
        wire.send(raw(client, call(1)))
        assert wire.answer() == answer_to(1)
        wire.send(raw(client, call(2), change=change(client)))
        assert wire.answer()[0] == status


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe{", b"[" * 20_000, b'{"jsonrpc": "1.0", "id": 1}'])
def test_the_connection_survives_garbage(client, body):
    with Wire(client) as wire:
        wire.send(raw(client, None, body=body))
        assert wire.answer()[0] == 400
        wire.send(raw(client, call(1)))
        assert wire.answer() == answer_to(1)


@pytest.mark.parametrize("at", [1, 20, 200, -1, -30])
def test_a_request_may_come_in_pieces(client, at):
    with Wire(client) as wire:
        for number in (1, 2):
            data = raw(client, call(number))
            wire.send(data[:at])
            time.sleep(0.01)
            wire.send(data[at:])
            assert wire.answer() == answer_to(number)


def test_a_request_may_come_byte_by_byte(client):
    with Wire(client) as wire:
        for one in raw(client, call(1)):
            wire.send(bytes([one]))
        assert wire.answer() == answer_to(1)


def test_requests_that_come_together_are_answered_in_order(client):
    with Wire(client) as wire:
        wire.send(b"".join(raw(client, call(number)) for number in range(1, 6)))
        assert [wire.answer() for _ in range(5)] == [answer_to(number) for number in range(1, 6)]
        wire.send(raw(client, call(6)) + raw(client, {"jsonrpc": "2.0", "id": 7, "method": "ping"}))
        assert [wire.answer()[1][-1]["id"] for _ in range(2)] == [6, 7]


def test_a_client_that_wants_the_connection_closed_gets_that(client):
    with Wire(client) as wire:
        wire.send(raw(client, call(1), change=("Host:", "Connection: close\r\nHost:")))
        assert wire.answer() == answer_to(1)
        assert wire.socket.recv(1) == b""


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nHost: x"])
def test_a_connection_without_a_whole_head_is_closed(small, sent):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", small.port), timeout=10) as connection:
        connection.sendall(sent)
        while connection.recv(65_536):
            pass
    assert time.monotonic() - began < 40


def test_an_unfinished_head_after_an_answer_closes_the_connection_too(small):
    client = small.client(timeout=10)
    assert client.modern("tools/list").headers.get("connection") != "close"
    began = time.monotonic()
    client.connection.sock.sendall(b"POST /m")
    assert client.connection.sock.recv(1) == b""
    assert time.monotonic() - began < 40


def test_a_whole_head_stops_the_clock(small):
    """Longer than a head may take, between requests and while a call runs."""
    client = small.client()
    with Wire(client) as wire:
        client.handshake()
        for number in (1, 2):
            wire.send(raw(client, call(number)))
            assert wire.answer() == answer_to(number)
            time.sleep(0.5)
    delete(client)


def test_an_answer_does_not_say_what_serves_it(client):
    assert [name for name in client.request("ping").headers if name in ("server", "x-powered-by")] == []


@pytest.mark.parametrize(("handler", "ends"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)], ids=["usual", "nohup"])
def test_a_signal_that_is_ignored_from_the_start_does_not_end_the_server(handler, ends, monkeypatch):
    """What the other signals do is seen when the servers of these tests end."""
    monkeypatch.setattr(server.signal, "getsignal", lambda _number: handler)
    assert server.ending_signals() == (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if ends else []))
