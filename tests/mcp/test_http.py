"""The HTTP server: who comes in, what it bears, and what it says to clients of either era."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.mcp.fixtures.served import BOTH, ROOT, Client, Served
from toolroll.mcp.http import serve
from toolroll.result import ToolError

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture
def client(suite: Served) -> Client:
    return suite.client()


def test_it_says_once_how_to_connect(suite):
    header = f"Authorization: Bearer {suite.token}"
    entry = {"type": "http", "url": suite.url, "headers": {"Authorization": f"Bearer {suite.token}"}}
    assert suite.url == f"http://127.0.0.1:{suite.port}/mcp"
    assert len(suite.token) >= 43
    assert suite.help.splitlines() == [
        f"Serving MCP at {suite.url}",
        f"Each request needs the header  {header}",
        "",
        "Claude Code:",
        f"  claude mcp add --transport http toolroll-suite {suite.url} --header '{header}'",
        "Any other client, in its mcpServers:",
        f"  {json.dumps({'toolroll-suite': entry})}",
        "",
        "Ctrl-C ends the server and all that it has begun.",
    ]


REFUSED = {
    "no token": ("POST", {"authorization": ""}, 401, "A token is needed."),
    "wrong token": ("POST", {"authorization": "Bearer x"}, 401, "The token is not the right one."),
    "token cut short": ("POST", {"authorization": "Bearer {token[:-1]}"}, 401, "The token is not the right one."),
    "other scheme": ("POST", {"authorization": "Basic {token}"}, 401, "The token is not the right one."),
    "other host": ("POST", {"host": "evil.example:{port}"}, 421, "The Host header does not name this server."),
    "other port": ("POST", {"host": "127.0.0.1:1"}, 421, "The Host header does not name this server."),
    "no port": ("POST", {"host": "127.0.0.1"}, 421, "The Host header does not name this server."),
    "longer host": (
        "POST",
        {"host": "127.0.0.1:{port}.evil.example"},
        421,
        "The Host header does not name this server.",
    ),
    "other origin": (
        "POST",
        {"origin": "http://evil.example"},
        403,
        "Requests from pages of other origins are refused.",
    ),
    "no origin": ("POST", {"origin": "null"}, 403, "Requests from pages of other origins are refused."),
    "user in origin": (
        "POST",
        {"origin": "http://localhost:1@evil.example"},
        403,
        "Requests from pages of other origins are refused.",
    ),
    "file origin": ("POST", {"origin": "file://localhost"}, 403, "Requests from pages of other origins are refused."),
    "preflight": ("OPTIONS", {"origin": "http://localhost:3000"}, 405, "Only POST, GET and DELETE."),
    "wrong method": ("PUT", {}, 405, "Only POST, GET and DELETE."),
    "too large": ("POST", {"content-length": "4194305"}, 413, "A message has at most 4194304 bytes."),
}


def filled(headers: dict[str, str], client: Client) -> dict[str, str]:
    usual = {**BOTH, "authorization": "Bearer {token}", "host": "127.0.0.1:{port}"}
    values = {"{token}": client.token, "{token[:-1]}": client.token[:-1], "{port}": str(client.port)}
    every = {**usual, **headers}
    return {name: re.sub(r"\{.*?\}", lambda found: values[found[0]], value) for name, value in every.items() if value}


@pytest.mark.parametrize("name", REFUSED)
def test_whoever_may_not_come_in_is_refused(client, name):
    method, headers, status, reason = REFUSED[name]
    answer = client.send(method, None, filled(headers, client))
    assert (answer.status, answer.body.decode()) == (status, f"{reason}\n")
    assert [one for one in answer.headers if one.startswith("access-control")] == []
    assert answer.headers.get("www-authenticate", "").startswith("Bearer ") == (status == 401)
    assert answer.headers.get("allow") == ("POST, GET, DELETE" if status == 405 else None)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "localhost:{port}"},
        {"host": "LOCALHOST:{port}"},
        {"host": "[::1]:{port}"},
        {"origin": "http://localhost:3000"},
        {"origin": "http://[::1]:{port}"},
        {"authorization": "bearer {token}"},
    ],
    ids=str,
)
def test_whoever_may_come_in_is_answered(client, headers):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
    answer = client.send("POST", body, filled(headers, client))
    assert (answer.status, answer.result["protocolVersion"]) == (200, "2025-06-18")
    assert [one for one in answer.headers if one.startswith("access-control")] == []


def test_another_path_has_nothing(client):
    answer = client.send("POST", b"{}", filled({}, client), path="/")
    assert (answer.status, answer.body) == (404, b"There is nothing here. The server is at /mcp.\n")


def test_a_message_that_grows_too_large_on_its_way_is_refused(client):
    def chunks() -> Iterator[bytes]:
        for _ in range(5):
            yield b"x" * 1024 * 1024

    client.connection.request("POST", "/mcp", chunks(), filled({}, client), encode_chunked=True)
    answer = client.connection.getresponse()
    assert (answer.status, answer.read()) == (413, b"A message has at most 4194304 bytes.\n")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"\xff\xfe{", -32700),
        (b"{", -32700),
        (b"[" * 100_000, -32700),
        (b"12", -32600),
        (b"[]", -32600),
        (json.dumps([LIST]).encode(), -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_garbage_is_answered_with_an_error_and_survived(client, body, code):
    client.handshake()
    answer = client.post(body)
    assert (answer.status, answer.error["code"]) == (400, code)
    assert client.request("ping").result == {}


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("no/such/method", {}, -32601, "There is no method 'no/such/method'."),
        ("tools/call", {"name": "nothing"}, -32602, "There is no tool 'nothing'."),
        ("tools/call", {"name": 3}, -32602, "`name` must be a string."),
        ("prompts/get", {"name": "nothing"}, -32602, "There is no prompt 'nothing'."),
        ("prompts/get", {"name": "test_prompt_with_arguments"}, -32602, "Missing: arg1, arg2."),
        ("resources/read", {"uri": "test://none"}, -32002, "There is no resource 'test://none'."),
    ],
)
def test_a_request_that_cannot_be_done_says_why(client, method, params, code, message):
    client.handshake()
    error = client.request(method, params).error
    assert (error["code"], error["message"]) == (code, message)


def test_a_fault_in_a_tool_stays_in_the_log(client):
    """`test_sampling` without its argument fails with a KeyError, of which the client learns only the kind."""
    error = client.modern("tools/call", {"name": "test_sampling"}).error
    assert error == {"code": -32603, "message": "Internal error: KeyError."}


@pytest.mark.parametrize("modern", [True, False], ids=["stateless", "handshake"])
def test_progress_comes_whole_and_before_the_result(client, modern):
    if not modern:
        client.handshake()
    call = {"name": "test_tool_with_progress", "arguments": {}}
    asked = client.modern("tools/call", call, progressToken="p") if modern else None
    told = (asked or client.request("tools/call", {**call, "_meta": {"progressToken": "p"}})).messages()
    way = {"progressToken": "p", "total": 100, "message": "on the way"}
    assert [one.get("params") for one in told] == [
        {"progressToken": "p", "progress": 0, "total": 100},
        {**way, "progress": 50},
        {**way, "progress": 100},
        None,
    ]
    assert told[-1]["result"]["content"] == [{"type": "text", "text": "Went all the way."}]


@pytest.mark.parametrize("modern", [True, False], ids=["stateless", "handshake"])
def test_a_result_does_not_overtake_what_was_told_before_it(client, modern):
    if modern:
        level = {"io.modelcontextprotocol/logLevel": "info"}
        told = client.modern("tools/call", {"name": "test_hurry"}, **level).messages()
    else:
        client.handshake()
        told = client.request("tools/call", {"name": "test_hurry"}).messages()
    assert [one["params"]["data"] for one in told[:-1]] == list(range(100))
    assert told[-1]["result"]["content"] == [{"type": "text", "text": "All told."}]


def test_no_progress_comes_that_was_not_asked_for(client):
    answer = client.modern("tools/call", {"name": "test_tool_with_progress"})
    assert (answer.headers["content-type"], len(answer.messages())) == ("application/json", 1)


@pytest.mark.parametrize("more", [{}, {"last-event-id": "of nothing that is kept"}], ids=["new", "again"])
def test_a_client_with_a_stream_learns_that_a_list_changed(suite, client, more):
    client.handshake()
    listener = suite.client(timeout=10)
    headers = filled({**client.session, "accept": "text/event-stream", **more}, client)
    listener.connection.request("GET", "/mcp", None, headers)
    stream = listener.connection.getresponse()
    client.request("tools/call", {"name": "test_trigger_tool_change"})
    told = next(line for line in iter(stream.readline, b"") if line.startswith(b"data: {"))
    assert json.loads(told[6:]) == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    listener.connection.close()


def test_a_token_that_was_given_is_not_shown(small):
    assert small.token not in small.help
    assert small.client().modern("tools/list").status == 200


@pytest.mark.clock
def test_sessions_are_bounded_and_end_when_nobody_uses_them(small):
    clients = [small.client() for _ in range(3)]
    for one in clients[:2]:
        one.handshake()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    assert clients[2].post(opening).status == 503
    deadline = time.monotonic() + 60
    while (status := clients[2].post(opening).status) == 503 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert status == 200
    assert clients[0].request("ping").status == 404


def test_whoever_does_not_finish_a_body_is_told(small):
    client = small.client()
    headers = {**filled({}, client), "content-length": "100"}
    assert client.send("POST", b"{", headers).status == 408


def test_a_port_that_is_taken_is_said(suite):
    backend = type("Closed", (), {"close": lambda _: None})()
    with pytest.raises(ToolError, match=rf"Port {suite.port} of 127.0.0.1 cannot be used: Address already in use"):
        serve(backend, port=suite.port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_can_reach_is_refused(host):
    backend = type("Closed", (), {"close": lambda _: None})()
    with pytest.raises(ToolError, match="can be reached from other machines"):
        serve(backend, host=host)


@pytest.mark.parametrize("token", ["short", "a token with spaces in it", "ein-schlüssel-mit-umlaut"])
def test_a_weak_token_is_refused(token):
    backend = type("Closed", (), {"close": lambda _: None})()
    with pytest.raises(ToolError, match="at least 16 ASCII characters"):
        serve(backend, token=token)


def test_nothing_heavy_is_imported_before_it_serves():
    code = (
        "import sys, toolroll.mcp.http; print([m for m in ('mcp', 'uvicorn', 'pydantic', 'anyio') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_a_client_that_comes_again_is_answered(client):
    """Without `initialized`; with a session that is gone; with a new one on the old connection; in an old protocol."""
    hello = {"protocolVersion": "2023-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    opened = client.post(opening)
    assert opened.result["protocolVersion"] == "2025-11-25"
    first = {"mcp-session-id": opened.headers["mcp-session-id"]}
    assert client.send("POST", json.dumps(listing).encode(), filled(first, client)).result["tools"]
    for gone, status in (({"mcp-session-id": "gone"}, 404), ({}, 400)):
        answer = client.send("POST", json.dumps(listing).encode(), filled(gone, client))
        assert (answer.status, answer.error["code"]) == (status, -32600)
    again = client.post(opening).headers["mcp-session-id"]
    assert again != first["mcp-session-id"]
    for one in (again, *first.values()):
        session = filled({"mcp-session-id": one}, client)
        assert client.send("POST", json.dumps(listing).encode(), session).result["tools"]
        assert client.send("DELETE", b"", session).status == 200
