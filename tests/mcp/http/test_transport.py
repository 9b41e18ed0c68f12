"""Calls of real tools over HTTP: many of them, and what becomes of the work when either end goes away."""

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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.fixtures.served import BOTH, MODERN, Client, Served, served
from tests.mcp.test_session import Nothing
from tests.waiting import until
from toolroll.control.client import ControlClient, find_processes
from toolroll.mcp.http import transport as module
from toolroll.mcp.http.connection import HttpConnection
from toolroll.mcp.http.gate import Gate
from toolroll.mcp.http.transport import StreamableHttp

CALLS = 100
FILES = 50
TOKEN = "a-token-of-the-transport"
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
        super().__init__()
        self.peers, self.go = queue.Queue(), threading.Event()

    def call(self, name, _arguments, peer):
        self.peers.put(peer)
        if name == "long":
            assert self.go.wait(SECONDS)
        return {"content": [], "isError": False}


class Http:
    """A transport with its backend, and clients of it, each request on a connection of its own."""

    def __init__(self):
        self.backend = Gated()
        self.transport = StreamableHttp(self.backend, Gate(token=TOKEN, hosts=frozenset(("box",))))
        self.session = ""
        self.pool = ThreadPoolExecutor(16)

    def post(self, message: dict[str, Any], client: socket.socket, served: socket.socket) -> tuple[int, list[Any]]:
        """The status and the messages of the answer."""
        named = {**BOTH, "host": "box", "authorization": f"Bearer {TOKEN}"}
        named |= {"mcp-session-id": self.session} if self.session else {}
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**named, "content-length": len(body)}.items())
        client.sendall(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
        connection = HttpConnection(served)
        with served:
            request = connection.read_request()
            assert request is not None
            self.transport.answer(request, connection)
        try:
            head, _, text = b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")
        except OSError:  # it has left
            return 0, []
        names = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        self.session = names.get("mcp-session-id", self.session)
        events = [line[6:] for line in text.splitlines() if line.startswith(b"data: ")]
        return int(head.split()[1]), [json.loads(one) for one in events or ([text] if text else [])]

    def ask(self, message: dict[str, Any]) -> tuple[int, list[Any]]:
        client, served = socket.socketpair()
        with client:
            return self.post(message, client, served)

    def call(self, id: Any, name: str = "quick") -> "tuple[Future[tuple[int, list[Any]]], socket.socket]":
        """The answer that comes, and the socket of the client."""
        client, served = socket.socketpair()
        message = {"id": id, "method": "tools/call", "params": {"name": name}}
        return self.pool.submit(self.post, message, client, served), client

    def made(self, id: Any) -> list[Any]:
        answer, client = self.call(id)
        with client:
            return [one.get("error") for one in answer.result(SECONDS)[1]]

    def cancel(self, id: Any) -> None:
        assert self.ask({"method": "notifications/cancelled", "params": {"requestId": id}}) == (202, [])

    def taken(self) -> Any:
        """The peer of the next call that a thread has taken."""
        return self.backend.peers.get(timeout=SECONDS)


@pytest.fixture
def web() -> Iterator[Http]:
    """A client that has a session; nothing is left running."""
    made = Http()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    assert made.ask({"id": 0, "method": "initialize", "params": hello})[0] == 200
    yield made
    made.backend.go.set()
    made.transport.stop(SECONDS)
    made.pool.shutdown()


GIVEN_UP = {"code": -32800, "message": "Request cancelled"}


def test_a_call_that_was_cancelled_before_it_came_does_not_begin(web, monkeypatch):
    for id in (7, "7", 8):
        web.cancel(id)
    assert web.made(7) == [GIVEN_UP]
    assert web.made(9) == [None]
    web.cancel(7)  # that one has begun
    assert web.made(7) == [None]
    assert web.made("7") == [GIVEN_UP]
    monkeypatch.setattr(module, "EARLY_CANCELLATION_TIMEOUT_S", -1)
    web.cancel(10)
    assert web.made(10) == [None]
    for id in range(100, 300):
        web.cancel(id)
    (client,) = web.transport._clients.values()
    assert (len(client._cancelled), len(client._begun)) == (module.MAX_IDS_PER_SESSION, 5)


@pytest.mark.parametrize("how", ["cancelled", "the client", "stop", "deleted"])
def test_the_tool_of_a_call_that_is_given_up_is_told(web, how):
    answer, client = web.call(1, "long")
    peer = web.taken()
    assert not peer.token.cancelled
    if how == "cancelled":
        web.cancel(1)
    elif how == "the client":
        client.close()
        web.transport.look()
    elif how == "stop":
        web.transport.stop(0.01)
    else:
        next(iter(web.transport._clients.values())).close()
    assert peer.token.cancelled
    web.backend.go.set()
    told = [one["error"] for one in answer.result(SECONDS)[1]]
    assert told == ([] if how == "the client" else [GIVEN_UP])
    client.close()


def test_a_call_whose_client_has_left_before_a_thread_was_free_is_not_run(monkeypatch):
    monkeypatch.setattr(module, "MAX_CALL_THREADS", 1)
    web = Http()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    web.ask({"id": 0, "method": "initialize", "params": hello})
    (first, one), (second, other) = web.call(1, "long"), web.call(2)
    web.taken()
    assert until(lambda: len(web.transport._exchanges) == 2)
    other.close()
    web.transport.look()
    status, [listed] = web.ask({"id": 3, "method": "tools/list"})
    assert (status, "tools" in listed["result"]) == (200, True), "lists do not wait for calls"
    web.backend.go.set()
    assert first.result(SECONDS)[1][0]["result"] == {"content": [], "isError": False}
    second.result(SECONDS)
    assert web.made(4) == [None]
    assert web.backend.peers.qsize() == 1, "the second was not run"
    one.close()
    web.transport.stop(SECONDS)
    web.pool.shutdown()


def test_the_end_waits_for_calls_as_long_as_it_is_told(web):
    answer, client = web.call(1, "long")
    web.taken()
    begun = time.monotonic()
    web.transport.stop(0.1)
    assert 0.1 <= time.monotonic() - begun < SECONDS / 2
    web.backend.go.set()
    assert [one["error"] for one in answer.result(SECONDS)[1]] == [GIVEN_UP]
    client.close()


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
        answer = b""
        while b"Request cancelled" not in answer and (more := waiting.recv(65_536)):  # the head may come by itself
            answer += more
        assert b"Request cancelled" in answer


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
        assert control.act(process, "answer", **refusal) == {"state": "applied", "why": ""}
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
