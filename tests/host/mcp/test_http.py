"""Servers that are reached by HTTP: a small one on this machine that misbehaves on request."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.host.mcp.conftest import call
from toolroll.host.mcp.http import MessageStream
from toolroll.result import ErrorCode

SCHEMA = {"type": "object", "properties": {}}
TOOLS = [
    {"name": name, "inputSchema": SCHEMA} for name in ("plain", "stream", "open", "hang", "garbage", "error", "huge")
]


class Handler(BaseHTTPRequestHandler):
    """Answers by the name of the tool; keeps sessions, and what it was asked."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, body["method"], dict(self.headers)))
        if self.path in ("/old", "/away"):
            away = "http://127.0.0.2:1/mcp" if self.path == "/away" else "/mcp"
            return self.reply(307, b"", location=away)
        if self.headers["authorization"] not in (None, "Bearer the-key-of-it"):
            return self.reply(401, b"secret words")
        if body["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "w"}}
            self.server.session += 1
            return self.json(body, result, mcp_session_id=f"s{self.server.session}")
        if self.headers["mcp-session-id"] != f"s{self.server.session}":
            return self.reply(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}')
        if "id" not in body:
            return self.reply(202, b"")
        if body["method"] == "tools/list":
            return self.json(body, {"tools": TOOLS})
        return getattr(self, f"tool_{body['params']['name']}")(body)

    def do_DELETE(self) -> None:
        self.server.seen.append((self.path, "DELETE", dict(self.headers)))
        self.reply(200, b"")

    def tool_plain(self, body):
        self.json(body, text("plain"))

    def tool_stream(self, body):
        notice = {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": body["params"]["_meta"]["progressToken"], "progress": 1},
        }
        self.events(
            [b": hello\r\n\r\n", event(notice), event({"jsonrpc": "2.0", "id": body["id"], "result": text("streamed")})]
        )

    def tool_open(self, body):
        """The answer, and then the stream stays open."""
        self.events([event({"jsonrpc": "2.0", "id": body["id"], "result": text("early")})], stay=True)

    def tool_hang(self, _body):
        self.server.over.wait(30)

    def tool_garbage(self, _body):
        self.reply(200, b"<html>Welcome</html>", content_type="text/html")

    def tool_error(self, _body):
        self.reply(500, b"a stack trace")

    def tool_huge(self, body):
        self.json(body, text("x" * 17_000_000))

    def json(self, body, result, **headers):
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": body.get("id"), "result": result}).encode(), **headers)

    def reply(self, status, data, **headers):
        self.send_response(status)
        for name, value in {"content_type": "application/json", "content_length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def events(self, events, stay=False):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for one in events:
            for at in range(0, len(one), 7):
                self.wfile.write(one[at : at + 7])
                self.wfile.flush()
        if stay:
            self.server.over.wait(30)
        self.close_connection = True

    def log_message(self, *_):
        pass


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def event(message):
    return b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"


class Server(ThreadingHTTPServer):
    """Says nothing of clients that leave early."""

    def handle_error(self, *_):
        pass


@pytest.fixture
def web() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.seen, server.session, server.over = [], 0, threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def reach(open_kit, web):
    def make(path="/mcp", **options):
        return open_kit(mcp={"w": {"url": f"http://127.0.0.1:{web.server_port}{path}", **options}})

    return make


def test_json_and_streams_and_the_goodbye(reach, web):
    told = []
    kit = reach()
    assert call(kit, "plain").data["text"] == "plain"
    found = kit.call("mcp", {"action": "call_tool", "name": "stream"}, progress=lambda *step: told.append(step))
    assert found.data["text"] == "streamed"
    assert told == [(1, None, "")]
    kit.close()
    assert [method for _, method, _ in web.seen] == [
        "initialize", "notifications/initialized", "tools/list", "tools/call", "tools/call", "DELETE",
    ]  # fmt: skip
    first, second = web.seen[0][2], web.seen[1][2]
    assert ("Mcp-Session-Id" in first, "Mcp-Protocol-Version" in first) == (False, False)
    assert (second["Mcp-Session-Id"], second["Mcp-Protocol-Version"]) == ("s1", "2025-06-18")


def test_a_stream_that_stays_open_is_left_when_the_answer_is_there(reach):
    began = time.monotonic()
    assert call(reach(), "open").data["text"] == "early"
    assert time.monotonic() - began < 40


def test_a_session_that_has_ended_is_opened_again(reach, web):
    kit = reach()
    assert call(kit, "plain").ok
    web.session += 1
    assert call(kit, "plain").ok
    assert [method for _, method, _ in web.seen].count("initialize") == 2


@pytest.mark.parametrize(
    ("tool", "code", "told"),
    [
        ("garbage", ErrorCode.EXECUTION, "It sent no answer to the request, or one that cannot be read."),
        ("error", ErrorCode.NETWORK, "It answers with the status 500 Internal Server Error."),
        ("huge", ErrorCode.TOO_LARGE, "'127.0.0.1' sends more than 16000000 bytes, the limit."),
    ],
)
def test_what_is_wrong_is_told_and_survived(reach, tool, code, told):
    kit = reach()
    found = call(kit, tool)
    assert found.error.code == code
    assert found.text.startswith(f"The MCP server 'w' cannot be used: {told}")
    assert call(kit, "plain").ok


def test_a_server_that_hangs_is_late_at_the_limit(reach):
    began = time.monotonic()
    found = call(reach(timeout=0.5), "hang")
    assert found.error.code == ErrorCode.TIMEOUT
    assert found.text == "The MCP server 'w' did not answer in time. Ask for less at once, or do without it."
    assert time.monotonic() - began < 40


def test_the_operators_headers_are_sent_and_never_told(reach, web, monkeypatch):
    monkeypatch.setenv("W_KEY", "the-key-of-it")
    assert call(reach(headers={"Authorization": "Bearer ${W_KEY}"}), "plain").ok
    assert web.seen[0][2]["Authorization"] == "Bearer the-key-of-it"
    monkeypatch.setenv("W_KEY", "another-key")
    found = call(reach(headers={"Authorization": "Bearer ${W_KEY}"}), "plain")
    assert (found.error.code, found.text) == (
        ErrorCode.PERMISSION,
        "The MCP server 'w' cannot be used: It refuses (401). Check its 'headers'.",
    )


def test_a_redirect_is_followed_to_the_same_server_only(reach, web):
    assert call(reach("/old"), "plain").ok
    found = call(reach("/away"), "plain")
    assert found.error.code == ErrorCode.NETWORK
    assert "It redirects to 'http://127.0.0.2:1/mcp', which is not followed. Check its 'url'." in found.text


def test_nobody_there(open_kit, web):
    kit = open_kit(mcp={"w": {"url": "http://127.0.0.1:1/mcp"}})
    assert kit.call("mcp", {"action": "list_tools"}).error.code == ErrorCode.NETWORK


def test_what_is_no_address_of_a_server(open_kit):
    found = open_kit(mcp={"w": {"url": "file:///etc/passwd"}}).call("mcp", {"action": "list_tools"})
    assert (found.error.code, found.text) == (
        ErrorCode.UNSUPPORTED,
        "The MCP server 'w' cannot be used: Its 'url' cannot be asked, because only http:// and https:// are fetched.",
    )


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_in_pieces(size, end):
    text = 'id: 7{0}retry: 250{0}data: {{"id": 1,{0}data: "result": {{}}}}{0}{0}: note{0}{0}data: {{"id": 2}}'
    data = text.format(end).encode()
    body, found = MessageStream(), []
    for at in range(0, len(data), size):
        found += body.feed(data[at : at + size])
    found += body.finish()
    assert found == [{"id": 1, "result": {}}, {"id": 2}]
    assert (body.last_event_id, body.retry_s) == ("7", 0.25)
