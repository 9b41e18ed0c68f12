"""One session, two transports: the same messages get the same bytes over standard input and output and over HTTP."""

import json
import os
import re
import socket
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest

from toolroll import Kit
from toolroll.host.approval.request import Approver
from toolroll.mcp import stdio
from toolroll.mcp.http.connection import HttpConnection
from toolroll.mcp.http.gate import Gate
from toolroll.mcp.http.transport import StreamableHttp
from toolroll.mcp.kit_backend import KitBackend

Item = dict[str, Any]
TOKEN = "a-token-of-the-transports"
TIMES = re.compile(rb"\d+(?:\.\d+)? ?(?:ms|s)\b|\d{4}-\d\d-\d\d[T ][\d:.]+Z?")  # what a clock says
READ = {"path": "a.txt"}
CALLS = [
    *(("read", {**READ, "offset": offset, "limit": limit}) for offset in (1, 2, 50) for limit in (1, 2)),
    *(("read", {"path": path}) for path in ("a.txt", "b.py", "none.txt", "../a.txt", "sub", "picture.png", "")),
    *(("grep", {"pattern": pattern}) for pattern in ("one", "n[", "nothing", ".", "é")),
    *(("grep", {"pattern": "one", "output": output}) for output in ("files", "count", "other")),
    *(("find", {"pattern": pattern}) for pattern in ("*.py", "**/*", "[", "none")),
    *(("ls", {"path": path}) for path in (".", "sub", "none")),
    *(("stat", {"path": path}) for path in ("none", "/etc")),
    *(("outline", {"path": path}) for path in ("b.py", "a.txt")),
    ("edit", {"path": "a.txt", "old": "zzz", "new": "y"}),
    ("edit", {"path": "a.txt", "old": 3}),
    ("write", {}),
    ("bash", {"command": "echo one; echo two >&2; exit 3"}),
    ("bash", {"command": "printf 'x%.0s' $(seq 100)"}),
    ("none", {}),
    ("read", "no object"),
    ("read", '{"path": "a.txt"}'),
    ("todo_read", {}),
    ("undo", {"steps": 0}),
    ("delete", {"path": "none"}),
    ("multiedit", {"pattern": "*.txt", "find": "one", "replace": "1", "preview": True}),
    ("patch", {"patch": "no patch"}),
]
OTHERS = [
    ("ping", {}),
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "toolroll://none"}),
    ("resources/read", {}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "none"}),
    ("prompts/get", {"name": 3}),
    ("completion/complete", {"ref": {"type": "none"}, "argument": {}}),
    ("logging/setLevel", {"level": "loud"}),
    ("logging/setLevel", {"level": "error"}),
    ("tools/call", {}),
    ("tools/call", {"name": 3}),
    ("no/such", {}),
    ("initialize", {}),
]
MESSAGES = [("tools/call", {"name": name, "arguments": given}) for name, given in CALLS] + OTHERS


@pytest.fixture(scope="module")
def backends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KitBackend, KitBackend]]:
    home = tmp_path_factory.mktemp("transports")
    folder = home / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo é\nthree\n")
    (folder / "b.py").write_text("def one():\n    return 1\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n no picture")

    def open_kit(_folder: str | None, _approve: Approver) -> Kit:
        return Kit(folder, state_dir=home / "state")

    made = KitBackend(open_kit), KitBackend(open_kit)
    yield made
    for one in made:
        one.close()


def encode(messages: Iterable[Item]) -> list[bytes]:
    return [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in messages]


def ask_stdio(backend: KitBackend, messages: list[Item]) -> list[bytes]:
    """The line that answers each message, one after the other."""
    (source, ours), (theirs, target) = os.pipe(), os.pipe()
    running = stdio._Server(backend, source, target, None, None, None)
    thread = threading.Thread(target=running.run)
    thread.start()
    answers = []
    with open(theirs, "rb") as lines:
        for message, data in zip(messages, encode(messages), strict=True):
            os.write(ours, data + b"\n")
            if "id" in message:
                answers.append(next(line for line in lines if b'"method"' not in line[:60]).rstrip(b"\n"))
        os.close(ours)
        thread.join()
    running.close()
    for fd in (source, target):
        os.close(fd)
    return answers


def ask_http(backend: KitBackend, messages: list[Item]) -> list[bytes]:
    """The last message of the answer to each."""
    transport, session, answers = StreamableHttp(backend, Gate(token=TOKEN, hosts=frozenset(("box",)))), "", []
    for message, data in zip(messages, encode(messages), strict=True):
        client, served = socket.socketpair()
        with client, served:
            head = f"POST /mcp HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
            head += f"Accept: */*\r\n{session}Content-Length: {len(data)}\r\n\r\n"
            client.sendall(head.encode() + data)
            connection = HttpConnection(served)
            request = connection.read_request()
            assert request is not None
            transport.answer(request, connection)
            served.shutdown(socket.SHUT_WR)
            said, _, body = b"".join(iter(partial(client.recv, 1 << 16), b"")).partition(b"\r\n\r\n")
        if found := re.search(rb"mcp-session-id: .*\r\n", said + b"\r\n"):
            session = found[0].decode()
        if "id" in message:
            events = re.findall(rb"^data: (.*)\r$", body, re.MULTILINE)
            answers.append(events[-1] if events else body)
    transport.stop(0)
    return answers


@pytest.mark.parametrize(
    ("version", "messages"),
    [
        ("2025-11-25", MESSAGES),
        *((version, MESSAGES[::5]) for version in ("2024-11-05", "2025-03-26", "2025-06-18")),
    ],
)
def test_the_same_messages_get_the_same_bytes(backends, version, messages):
    who = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    hello = [{"id": 0, "method": "initialize", "params": who}, {"method": "notifications/initialized"}]
    asked = [{"id": number, "method": method, "params": given} for number, (method, given) in enumerate(messages, 1)]
    own, web = ask_stdio(backends[0], hello + asked), ask_http(backends[1], hello + asked)
    assert [json.loads(one)["id"] for one in own] == list(range(len(messages) + 1))
    assert [TIMES.sub(b"", one) for one in own] == [TIMES.sub(b"", one) for one in web]


def test_there_are_sixty_messages():
    assert len(MESSAGES) >= 60
