"""Calls of real tools over HTTP: many of them, and what becomes of the work when either end goes away."""

import asyncio
import contextlib
import http.client
import json
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.mcp.fixtures.served import BOTH, MODERN, Client, Served, served
from tests.mcp.test_session import Nothing
from tests.values import assert_values
from tests.waiting import until
from toolroll.control.client import ControlClient, find_processes
from toolroll.mcp.http import calls as calls_module
from toolroll.mcp.http import gate

CALLS = 100
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


class Gated(Nothing):
    """A tool that waits for the test, and notes with which peer it was called."""

    def __init__(self):
        self.peers, self.go = queue.Queue(), threading.Event()

    def call(self, name, _arguments, peer):
        self.peers.put(peer)
        if name == "long":
            assert self.go.wait(SECONDS)
        return {"content": [], "isError": False}


def context(number: int | None = 1, session: str | None = "s", *, modern: bool = False, gone: bool = False) -> Any:
    """What the SDK says of a request."""
    scope: dict[str, Any] = {gate._DISCONNECT: gate._Disconnect(happened=gone)}
    request = SimpleNamespace(headers={"mcp-session-id": session} if session else {}, scope=scope)
    return SimpleNamespace(
        request=request,
        request_id=number,
        protocol_version=MODERN if modern else "2025-11-25",
        session=SimpleNamespace(client_params=None, client_capabilities=None),
        meta=None,
    )


def params(name: str = "quick") -> types.CallToolRequestParams:
    return types.CallToolRequestParams(name=name, arguments={})


@contextmanager
def tool_calls() -> Iterator[tuple[calls_module.ToolCalls, Gated]]:
    backend = Gated()
    made = calls_module.ToolCalls(backend)  # type: ignore[arg-type]  # it has what calls need
    try:
        yield made, backend
    finally:
        backend.go.set()
        made.close()


async def taken(backend: Gated) -> Any:
    """The peer of the next call that a thread has taken."""
    return await asyncio.to_thread(backend.peers.get, timeout=SECONDS)


@pytest.mark.parametrize(
    ("cancelled", "begun", "ends"),
    [
        (context(7), context(7), True),
        (context(7), context(8), False),
        (context(7), context(7, "another"), False),
        (context(7, None), context(7, None), False),
        (context(7, modern=True), context(7, modern=True), False),
        (context(None), context(None), False),
    ],
)
def test_a_call_that_was_cancelled_before_it_came_does_not_begin(cancelled, begun, ends):
    async def run(made, backend):
        made.cancel_early(cancelled, cancelled.request_id)
        if not ends:
            assert (await made.call(begun, params()))["isError"] is False
            return backend.peers.qsize()
        with pytest.raises(MCPError, match="Request cancelled"):
            await made.call(begun, params())
        return backend.peers.qsize()

    with tool_calls() as (made, backend):
        assert asyncio.run(run(made, backend)) == (0 if ends else 1)


@pytest.mark.parametrize("how", ["the task", "the client", "stop"])
def test_whoever_gives_a_call_up_its_tool_is_told(how):
    async def run(made, backend):
        one = context()
        task = asyncio.create_task(made.call(one, params("long")))
        peer = await taken(backend)
        assert not peer.token.cancelled
        if how == "the task":
            task.cancel()
        elif how == "the client":
            one.request.scope[gate._DISCONNECT].happen()
        else:
            await made.stop(0.01)
        backend.go.set()
        found = await asyncio.gather(task, return_exceptions=True)
        await made.stop(SECONDS)
        return peer.token.cancelled, isinstance(found[0], BaseException), one.request.scope[gate._DISCONNECT].callbacks

    with tool_calls() as (made, backend):
        assert asyncio.run(run(made, backend)) == (True, how == "the task", [])


def test_a_call_whose_client_has_left_before_a_thread_was_free_is_not_run(monkeypatch):
    monkeypatch.setattr(calls_module, "MAX_CALL_THREADS", 1)

    async def run(made, backend):
        first = asyncio.create_task(made.call(context(1), params("long")))
        await taken(backend)
        second = asyncio.create_task(made.call(context(2, gone=True), params()))
        await asyncio.sleep(0.01)
        assert await made.run_aside(len, "abc") == 3, "lists do not wait for calls"
        backend.go.set()
        return await asyncio.gather(first, second, return_exceptions=True)

    with tool_calls() as (made, backend):
        first, second = asyncio.run(run(made, backend))
        assert (first["isError"], second.code, backend.peers.qsize()) == (False, "Cancelled", 0)


def test_the_end_waits_for_calls_as_long_as_it_is_told_and_drops_those_that_have_not_begun(monkeypatch):
    monkeypatch.setattr(calls_module, "MAX_CALL_THREADS", 1)

    async def run(made, backend):
        await made.stop(SECONDS)  # there is nothing to wait for
        tasks = [asyncio.create_task(made.call(context(number), params("long"))) for number in (1, 2)]
        await taken(backend)
        begun = time.monotonic()
        await made.stop(0.1)
        waited = time.monotonic() - begun
        made.close()  # does not wait for the call that runs
        backend.go.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return waited, [type(one) for one in found], backend.peers.qsize()

    with tool_calls() as (made, backend):
        waited, kinds, others = asyncio.run(run(made, backend))
    assert 0.1 <= waited < SECONDS / 2
    assert (kinds, others) == ([dict, asyncio.CancelledError], 0)
    assert [one.name for one in threading.enumerate() if one.name.startswith("toolroll-mcp-list")] == []


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


@pytest.mark.parametrize("modern", [True, False], ids=["stateless", "handshake"])
def test_a_question_that_was_answered_elsewhere_is_taken_back(server, folder, monkeypatch, modern):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent / "home"))
    client = server.client()
    call = {"name": "write", "arguments": {"path": "asked.txt", "content": "x"}}
    can = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    asked = client.modern("tools/call", call, **can).result if modern else client.handshake(elicitation={})
    with ExitStack() as closing:
        if not modern:
            stream = closing.enter_context(closing.enter_context(begin(client, call, modern=False)).makefile("rb"))
            question = event(stream)
        [process] = find_processes(str(folder))
        control = closing.enter_context(ControlClient(process["id"]))
        [shown] = control.request("approvals")["waiting"]
        refusal = {"id": shown["id"], "digest": shown["digest"], "answer": "no", "reason": "Later."}
        assert control.request("answer", **refusal) == {"state": "applied", "why": ""}
        if modern:
            answers = {name: {"action": "accept", "content": {"decision": "once"}} for name in asked["inputRequests"]}
            again = {**call, "requestState": asked["requestState"], "inputResponses": answers}
            result = client.modern("tools/call", again, **can).result
        else:
            said = [event(stream), event(stream)]
            [taken_back] = [one["params"] for one in said if one.get("method") == "notifications/cancelled"]
            [result] = [one["result"] for one in said if "result" in one]
            assert taken_back["requestId"] == question["id"]
    assert "The user was asked and declined ('Later.')" in text_of(result)
    assert not (folder / "asked.txt").exists()


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
