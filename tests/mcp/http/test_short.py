"""The short way of calls over HTTP: who takes it, who is handed over, and that nobody passes a check by it."""

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.fixtures.served import BOTH, Answer, Client, Served, served
from toolroll.mcp.http.short import Split, split

SAYS = {"name": "test_simple_text", "arguments": {}}
SAID = {"content": [{"type": "text", "text": "This is a simple text response for testing."}]}
SECONDS = 60.0
TRIES = 200


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    home = tmp_path_factory.mktemp("short")
    folder = home / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (home / "toolroll").mkdir()
    (home / "toolroll" / "rules.toml").write_text('[[rule]]\npath = "asked.txt"\ndecision = "ask"\n')
    with served("toolroll", "mcp", "--http", "-C", str(folder), home=home) as running:
        yield running, folder


@pytest.fixture(autouse=True)
def tidy(request: pytest.FixtureRequest) -> Iterator[None]:
    """End the sessions of a test, of which a server has only so many."""
    servers = [request.getfixturevalue("suite")] if "suite" in request.fixturenames else []
    servers += [request.getfixturevalue("kit")[0]] if "kit" in request.fixturenames else []
    before = [len(one.clients) for one in servers]
    yield
    for server, count in zip(servers, before, strict=True):
        for client in server.clients[count:]:
            client.send("DELETE", None, {**BOTH, "authorization": f"Bearer {client.token}", **client.session})


def known(server: Served, call: dict[str, Any] = SAYS, version: str = "2025-11-25", **can: Any) -> Client:
    """A client whose next call may take the short way."""
    client = server.client()
    client.handshake(version, **can)
    client.request("tools/call", call)
    return client


def took(answer: Answer) -> str:
    """The way that an answer took: the SDK gives those of a session as events."""
    return {"application/json": "short", "text/event-stream": "long"}[answer.headers["content-type"].split(";")[0]]


def short(client: Client, params: dict[str, Any] = SAYS, number: int = 1) -> Answer:
    """The answer to a call that took the short way, as every call does whenever the machine is not too slow for it."""
    for _ in range(TRIES):
        answer = client.request("tools/call", params, number)
        if took(answer) == "short":
            return answer
    raise AssertionError("no call took the short way")


def raw(client: Client, message: Any, *, change: tuple[str, str] = ("", ""), body: bytes | None = None) -> bytes:
    """A call of this client as it goes over the wire, with something in its head replaced."""
    body = json.dumps(message).encode() if body is None else body
    usual = {"Host": f"127.0.0.1:{client.port}", "Authorization": f"Bearer {client.token}", **BOTH, **client.session}
    lines = [f"{name}: {value}\r\n" for name, value in {**usual, "Content-Length": str(len(body))}.items()]
    head = f"POST /mcp HTTP/1.1\r\n{''.join(lines)}\r\n"
    assert change[0] in head
    return head.replace(*change, 1).encode() + body


def call(number: int, params: dict[str, Any] = SAYS) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Wire:
    """A connection on which a test says what goes in which piece."""

    def __init__(self, client: Client) -> None:
        self.socket = socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self.socket.makefile("rb")

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self.socket.close()

    def answer(self) -> tuple[int, str, list[Any]]:
        """The status, the way it took, and the messages of the next answer."""
        status = int(self._stream.readline().split()[1])
        lines = iter(self._stream.readline, b"\r\n")
        headers = dict(line.decode().strip().lower().split(": ", 1) for line in lines)
        if "content-length" in headers:
            body = self._stream.read(int(headers["content-length"]))
            return status, "short", [json.loads(body)] if body.startswith(b"{") else [body.decode()]
        if headers.get("transfer-encoding") != "chunked":
            return status, "refused", [self._stream.read().decode()]
        body = b""
        while size := int(self._stream.readline(), 16):
            body += self._stream.read(size)
            self._stream.readline()
        self._stream.readline()
        return status, "long", [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]


def known_on_wire(client: Client, wire: Wire) -> None:
    """Let the server see the head that `raw` makes."""
    wire.socket.sendall(raw(client, call(0)))
    assert wire.answer() == (200, "long", [{"jsonrpc": "2.0", "id": 0, "result": SAID}])


def until(condition: Any) -> bool:
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


def running(mark: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in entry.read_bytes():
                return True
        except OSError:
            continue
    return False


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("tool", ["test_simple_text", "test_multiple_content_types", "test_embedded_resource"])
def test_either_way_gives_the_same_answer(suite, version, tool):
    client = suite.client()
    client.handshake(version)
    first = client.request("tools/call", {"name": tool, "arguments": {}}, 7)
    assert took(first) == "long"
    second = short(client, {"name": tool, "arguments": {}}, 7)
    assert (first.status, first.messages()) == (second.status, second.messages())
    assert first.headers["mcp-session-id"] == second.headers["mcp-session-id"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25"])
@pytest.mark.parametrize(
    "params",
    [
        {"name": "read", "arguments": {"path": "a.txt"}},
        {"name": "ls", "arguments": {}},
        {"name": "read", "arguments": {"path": "no.txt"}},
        {"name": "read", "arguments": {"path": 3}},
    ],
    ids=str,
)
def test_either_way_gives_the_same_answer_of_a_real_tool(kit, version, params):
    client = kit[0].client()
    client.handshake(version)
    first = client.request("tools/call", params)
    assert took(first) == "long"
    assert short(client, params).messages() == first.messages()


def test_whatever_else_is_asked_in_a_session_ends_what_is_known_of_it(suite):
    client = known(suite)
    short(client)
    client.request("tools/list")
    assert took(client.request("tools/call", SAYS)) == "long"
    short(client)


def test_what_is_known_of_one_session_does_not_serve_another(suite):
    first, second = known(suite), suite.client()
    short(first)
    second.handshake()
    assert took(second.request("tools/call", SAYS)) == "long"
    short(first)


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"name": "nothing"}, -32602, "There is no tool 'nothing'."),
        ({"name": 3}, -32602, "Invalid request parameters"),
        ({"name": "test_sampling", "arguments": {}}, -32603, "The server failed at this; its log says why."),
    ],
)
def test_a_call_that_fails_says_what_it_always_said(suite, params, code, message):
    client = known(suite)
    error = client.request("tools/call", params).error
    assert (error["code"], error["message"]) == (code, message)


def test_a_result_of_a_tool_that_failed_is_a_result(suite):
    assert short(known(suite), {"name": "test_error_handling", "arguments": {}}).result["isError"] is True


def test_what_is_told_comes_before_the_result(suite):
    told = known(suite).request("tools/call", {"name": "test_hurry", "arguments": {}}).messages()
    assert [one["params"]["data"] for one in told[:-1]] == list(range(100))
    assert told[-1]["result"]["content"] == [{"type": "text", "text": "All told."}]


def test_progress_comes_to_those_who_asked_for_it(suite):
    client = known(suite)
    params = {"name": "test_tool_with_progress", "arguments": {}}
    told = client.request("tools/call", {**params, "_meta": {"progressToken": "p"}}).messages()
    assert [one.get("params", {}).get("progress") for one in told] == [0, 50, 100, None]
    assert len(client.request("tools/call", params).messages()) == 1


def test_what_needs_approval_is_asked(kit):
    server, folder = kit
    client = known(server, {"name": "read", "arguments": {"path": "a.txt"}}, elicitation={})
    with Wire(client) as wire:
        read = {"name": "read", "arguments": {"path": "a.txt"}}
        wire.socket.sendall(raw(client, call(0, read)))
        assert wire.answer()[1] == "long"
        write = {"name": "write", "arguments": {"path": "asked.txt", "content": "x\n"}}
        wire.socket.sendall(raw(client, call(2, write)))
        stream = wire.socket.makefile("rb")
        asked = json.loads(next(line for line in iter(stream.readline, b"") if line.startswith(b"data: {"))[6:])
        assert (asked["method"], (folder / "asked.txt").exists()) == ("elicitation/create", False)
        accept = {"action": "accept", "content": {"decision": "once"}}
        client.post({"jsonrpc": "2.0", "id": asked["id"], "result": accept})
        last = json.loads(next(line for line in iter(stream.readline, b"") if line.startswith(b"data: {"))[6:])
    assert (last["id"], last["result"]["isError"], (folder / "asked.txt").read_text()) == (2, False, "x\n")


@pytest.mark.parametrize("how", ["cancel", "delete", "vanish"])
def test_work_ends_with_whoever_wanted_it(kit, how):
    """At once, when the SDK may not know of the call yet."""
    server, _ = kit
    mark = f"short-{how}-{os.getpid()}"
    read = {"name": "read", "arguments": {"path": "a.txt"}}
    client = known(server, read)
    bash = {"name": "bash", "arguments": {"command": f"touch {mark}; sleep 600 # {mark}", "timeout": 600}}
    with Wire(client) as wire:
        wire.socket.sendall(raw(client, call(0, read)))
        assert wire.answer()[1] == "long"
        wire.socket.sendall(raw(client, call(7, bash)))
        if how == "cancel":
            client.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
            answer = wire.answer()
            assert (answer[1], answer[2][-1]["error"]["message"]) == ("long", "Request cancelled")
        elif how == "delete":
            headers = {**BOTH, "authorization": f"Bearer {client.token}", **client.session}
            assert client.send("DELETE", None, headers).status == 200
    time.sleep(0.5)  # work that did not end would be seen by now
    assert until(lambda: not running(mark))
    if how == "delete":
        assert client.request("tools/call", read).status == 404


def test_a_call_that_takes_longer_is_answered_too(kit):
    server, _ = kit
    client = known(server, {"name": "read", "arguments": {"path": "a.txt"}})
    slow = {"name": "bash", "arguments": {"command": "sleep 0.3; echo late"}}
    assert "late" in client.request("tools/call", slow).result["content"][0]["text"]
    assert short(client, {"name": "read", "arguments": {"path": "a.txt"}}).result["isError"] is False


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
def test_whoever_may_not_come_in_does_not_come_in_by_the_short_way(suite, name):
    change, status = REFUSED[name]
    client = suite.client()
    client.handshake()
    with Wire(client) as wire:
        known_on_wire(client, wire)
        wire.socket.sendall(raw(client, call(1)))
        assert wire.answer()[0] == 200
        wire.socket.sendall(raw(client, call(2), change=change(client)))
        assert wire.answer()[0] == status


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe{", b"[" * 20_000, b'{"jsonrpc": "1.0", "id": 1}'])
def test_garbage_is_refused_and_survived(suite, body):
    client = suite.client()
    client.handshake()
    with Wire(client) as wire:
        known_on_wire(client, wire)
        wire.socket.sendall(raw(client, None, body=body))
        assert wire.answer()[0] == 400
        known_on_wire(client, wire)


@pytest.mark.parametrize("at", [1, 20, 200, -1, -30])
def test_a_request_may_come_in_pieces(suite, at):
    client = suite.client()
    client.handshake()
    with Wire(client) as wire:
        known_on_wire(client, wire)
        for number in (1, 2):
            data = raw(client, call(number))
            wire.socket.sendall(data[:at])
            time.sleep(0.01)
            wire.socket.sendall(data[at:])
            status, _, messages = wire.answer()
            assert (status, messages) == (200, [{"jsonrpc": "2.0", "id": number, "result": SAID}])


def test_a_request_may_come_byte_by_byte(suite):
    client = suite.client()
    client.handshake()
    with Wire(client) as wire:
        known_on_wire(client, wire)
        for one in raw(client, call(1)):
            wire.socket.sendall(bytes([one]))
        status, _, messages = wire.answer()
        assert (status, messages) == (200, [{"jsonrpc": "2.0", "id": 1, "result": SAID}])


def test_requests_that_come_together_are_answered_one_after_the_other(suite):
    client = suite.client()
    client.handshake()
    with Wire(client) as wire:
        known_on_wire(client, wire)
        wire.socket.sendall(b"".join(raw(client, call(number)) for number in range(1, 6)))
        assert [wire.answer()[2][-1]["id"] for _ in range(5)] == [1, 2, 3, 4, 5]
        wire.socket.sendall(raw(client, call(6)))
        wire.socket.sendall(raw(client, call(7)) + raw(client, {"jsonrpc": "2.0", "id": 8, "method": "ping"}))
        assert [wire.answer()[2][-1]["id"] for _ in range(3)] == [6, 7, 8]


def test_a_client_that_wants_the_connection_closed_gets_that(suite):
    client = suite.client()
    client.handshake()
    for _ in range(2):
        with Wire(client) as wire:
            wire.socket.sendall(raw(client, call(1), change=("Host:", "Connection: close\r\nHost:")))
            assert wire.answer()[:2] == (200, "long")
            assert wire.socket.recv(1) == b""


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b"POST / HTTP/1.1\r\nA: b\r\nContent-Length: 12\r\nC: d\r\n\r\nbody",
            (b"POST / HTTP/1.1\r\nA: b\r\nC: d", 12),
        ),
        (b"POST / HTTP/1.1\r\ncontent-LENGTH:3\r\n\r\nbody", (b"POST / HTTP/1.1", 3)),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nA: b", None),
        (b"POST / HTTP/1.1\r\nA: b\r\n\r\n\r\nContent-Length: 3\r\n\r\n", None),
        (b"POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\n", None),
        (b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", None),
        (b"POST / HTTP/1.1\r\nContent-Length: 1234567890\r\n\r\n", None),
        (b"\r\n\r\n", None),
        (b"", None),
    ],
)
def test_a_request_is_taken_apart(data, expected):
    found = split(data)
    assert found == (Split(*expected, b"body") if expected else None)
