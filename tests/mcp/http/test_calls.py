"""Calls of real tools over HTTP: many of them, and what becomes of the work when either end goes away."""

import contextlib
import http.client
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.fixtures.served import BOTH, MODERN, Client, Served, served
from tests.values import assert_values
from tests.waiting import until
from toolroll.mcp.http import calls as calls_module

CALLS = 200
FILES = 50
SECONDS = 60.0  # spent on faults alone


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    for number in range(FILES):
        (made / f"{number}.txt").write_text(f"this is {number}\n")
    return made


@contextmanager
def kit_on(folder: Path, *options: str) -> Iterator[Served]:
    rules = folder.parent / "home" / "toolroll" / "rules.toml"
    rules.parent.mkdir(parents=True, exist_ok=True)
    rules.write_text('[[rule]]\npath = "asked.txt"\ndecision = "ask"\n')
    with served("toolroll", "mcp", "--http", "-C", str(folder), *options, home=folder.parent / "home") as running:
        yield running


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    """Ends, when all is done, with work under way: in order, and nothing is left."""
    with kit_on(folder) as running:
        yield running
        assert end(running, folder, signal.SIGTERM) == 0


def text_of(result: dict[str, Any]) -> str:
    return "".join(one["text"] for one in result["content"])


def read_all(client: Client, numbers: range, *, modern: bool) -> dict[int, str]:
    """What a read of file after file gives, by the number of the call."""
    send = client.modern if modern else client.request
    return {
        number: text_of(
            send("tools/call", {"name": "read", "arguments": {"path": f"{number % FILES}.txt"}}, number).result
        )
        for number in numbers
    }


def test_hundreds_of_calls_one_after_the_other(server):
    assert read_all(server.client(), range(CALLS), modern=True) == {n: f"1\tthis is {n % FILES}" for n in range(CALLS)}


def test_hundreds_of_calls_sixteen_at_a_time(server):
    clients = [server.client() for _ in range(16)]
    shares = [range(start, CALLS, 16) for start in range(16)]
    found: dict[int, str] = {}

    def work(client: Client, numbers: range) -> None:
        modern = bool(numbers.start % 2)
        if not modern:
            client.handshake()
        found.update(read_all(client, numbers, modern=modern))

    threads = [threading.Thread(target=work, args=pair) for pair in zip(clients, shares, strict=True)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == {n: f"1\tthis is {n % FILES}" for n in range(CALLS)}


def running(mark: str) -> list[int]:
    """The processes whose command line has this mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def sleeping(mark: str, number: str = "") -> dict[str, Any]:
    """A call that runs a process, which runs another one, for a long time; a file says that it does."""
    command = f"touch {mark}{number}; sh -c 'sleep 600 # {mark}'; true"
    return {"name": "bash", "arguments": {"command": command, "timeout": 600}}


def begin(client: Client, params: dict[str, Any], *, modern: bool) -> socket.socket:
    """Send a call on a socket and do not wait for its result."""
    named: dict[str, str] = client.session
    if modern:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {**params, "_meta": meta}
        named = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": params["name"]}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()
    usual = {**BOTH, "authorization": f"Bearer {client.token}", "host": f"127.0.0.1:{client.port}"}
    headers = {**usual, **named, "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection = socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS)
    connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
    return connection


@pytest.mark.parametrize("modern", [True, False], ids=["stateless", "handshake"])
def test_when_the_client_vanishes_its_work_ends(server, folder, modern):
    client, mark = server.client(), f"vanish-{os.getpid()}-{modern}"
    if not modern:
        client.handshake()
    with begin(client, sleeping(mark), modern=modern):
        assert until((folder / mark).exists)
    assert until(lambda: not running(mark))
    send = client.modern if modern else client.request
    assert text_of(send("tools/call", {"name": "read", "arguments": {"path": "1.txt"}}).result) == "1\tthis is 1"


def test_when_the_client_cancels_its_work_ends(server, folder):
    client, mark = server.client(), f"cancel-{os.getpid()}"
    client.handshake()
    with begin(client, sleeping(mark), modern=False) as waiting:
        assert until((folder / mark).exists)
        client.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        assert until(lambda: not running(mark))
        assert b"Request cancelled" in waiting.recv(65_536)


def test_when_the_session_is_deleted_its_work_ends(server, folder):
    client, mark = server.client(), f"delete-{os.getpid()}"
    client.handshake()
    with begin(client, sleeping(mark), modern=False):
        assert until((folder / mark).exists)
        headers = {**BOTH, "authorization": f"Bearer {client.token}", **client.session}
        assert client.send("DELETE", None, headers).status == 200
        assert until(lambda: not running(mark))


def end(server: Served, folder: Path, ending: signal.Signals) -> int:
    """End a server while two calls run; gives its status. The work must be gone, too."""
    client, mark = server.client(), f"end-{os.getpid()}-{server.process.pid}"
    client.handshake()
    one, two = begin(client, sleeping(mark, "1"), modern=False), begin(client, sleeping(mark, "2"), modern=True)
    with one, two:
        assert until(lambda: (folder / f"{mark}1").exists() and (folder / f"{mark}2").exists())
        server.process.send_signal(ending)
        status = server.process.wait(SECONDS)
        told = [connection.makefile("rb").read() for connection in (one, two) if ending != signal.SIGKILL]
    assert [words for words in told if b"cancelled" not in words] == []
    assert until(lambda: not running(mark))
    return status


def test_when_the_server_is_killed_no_work_is_left_and_no_file_is_torn(folder, landlock):
    """Whichever moment it is, the file holds one of the versions that were written, as a whole."""
    target = folder / "torn.txt"
    versions = [f"{letter * 400_000}\n" for letter in "ab"]
    target.write_text(versions[0])
    written = []

    def write(client: Client) -> None:
        while True:
            content = versions[len(written) % 2]
            call = {"name": "write", "arguments": {"path": "torn.txt", "content": content}}
            written.append(client.modern("tools/call", call).result["isError"])

    def write_on(client: Client) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            write(client)

    with kit_on(folder, "--sandbox", "landlock") as server:
        writer = threading.Thread(target=write_on, args=(server.client(),))
        writer.start()
        assert until(lambda: written)
        assert end(server, folder, signal.SIGKILL) == -signal.SIGKILL
        writer.join()
    assert set(written) == {False}
    assert target.read_text() in versions
    assert [one.name for one in folder.glob("*torn*")] == ["torn.txt"]


@pytest.mark.parametrize("modern", [True, False], ids=["stateless", "handshake"])
def test_what_needs_approval_is_asked_of_the_client(server, folder, modern):
    """A client without the handshake gets the question as a result; one with it is asked while it waits."""
    client, target = server.client(), folder / "asked.txt"
    call = {"name": "write", "arguments": {"path": "asked.txt", "content": f"{modern}\n"}}
    accept = {"action": "accept", "content": {"decision": "once"}}
    if modern:
        can = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        asked = client.modern("tools/call", call, **can).result
        (name, question), before = asked["inputRequests"].popitem(), target.exists()
        again = {**call, "requestState": asked["requestState"], "inputResponses": {name: accept}}
        result = client.modern("tools/call", again, **can).result
    else:
        client.handshake(elicitation={})
        with begin(client, call, modern=False) as waiting, waiting.makefile("rb") as stream:
            question, before = event(stream), target.exists()
            client.post({"jsonrpc": "2.0", "id": question["id"], "result": accept})
            result = event(stream)["result"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"].startswith(
        "May the agent do this?\n\nwrite: needs approval for 'asked.txt'\n\npath: asked.txt\n"
    )
    assert (before, result["isError"], target.read_text()) == (False, False, f"{modern}\n")
    target.unlink()


def event(stream: Any) -> dict[str, Any]:
    """The next message of a stream of events."""
    return json.loads(next(line for line in iter(stream.readline, b"") if line.startswith(b"data: {"))[6:])


def test_a_stateless_call_waits_for_its_answer_and_goes_on(suite):
    client = suite.client()
    can = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    call = {"name": "test_input_required_result_multi_round", "arguments": {}}
    first = client.modern("tools/call", call, **can).result
    assert list(first["inputRequests"]) == ["step1"]
    answers = {"step1": {"action": "accept", "content": {"name": "Ada"}}}
    again = {**call, "inputResponses": answers, "requestState": first["requestState"]}
    second = client.modern("tools/call", again, **can).result
    assert (list(second["inputRequests"]), second["requestState"] == first["requestState"]) == (["step2"], False)
    used = client.modern("tools/call", again, **can).error
    assert used["message"] == "No call waits under this requestState. Begin again without it."
    last = {"inputResponses": {"step2": {"action": "decline"}}, "requestState": second["requestState"]}
    other = client.modern("tools/call", {**call, **last, "arguments": {"x": 1}}, **can).error
    assert other["message"] == "No call waits under this requestState. Begin again without it."
    done = client.modern("tools/call", {**call, **last}, **can).result
    assert json.loads(done["content"][0]["text"]) == [answers["step1"], {"action": "decline"}]


@pytest.mark.clock
def test_a_call_does_not_wait_for_an_answer_for_ever(small):
    client = small.client()
    can = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    call = {"name": "test_input_required_result_elicitation", "arguments": {}}
    asked = [client.modern("tools/call", call, **can) for _ in range(3)]
    assert [one.messages()[0].get("result", {}).get("resultType") for one in asked] == ["input_required"] * 2 + [None]
    assert asked[2].error["message"].startswith("Too many calls wait for an answer.")
    time.sleep(0.8)
    answers = {"inputResponses": {"user_name": {"action": "decline"}}, "requestState": asked[0].result["requestState"]}
    assert client.modern("tools/call", {**call, **answers}, **can).error["code"] == -32602
    assert client.modern("tools/call", call, **can).result["resultType"] == "input_required"


def test_values_stay_as_they_are():
    assert_values(calls_module, "HttpCall")
