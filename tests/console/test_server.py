"""Who can answer an approval through the console: the page for what it has shown, and no command for itself."""

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import toolroll
from tests.console.processes import TOKEN, ConsoleClient, running_console
from tests.waiting import until
from toolroll import Kit, Policy, Result
from toolroll.console import server
from toolroll.control.server import ControlServer
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.runtime import user_sockets
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.console_record import ConsoleRecord, claim_console, find_console, publish_console
from toolroll.policy.effects import Effect

SOURCE = str(Path(toolroll.__file__).parents[1])
# What a command could try, knowing everything but what it must not know. One line of JSON says what it got.
ATTACK = r"""
import http.client, json, os, re, socket, subprocess, sys
folder, name, port, pid, started, id, digest, token, workspace = sys.argv[1:]
process = {"id": name, "started": float(started)}
answer = {"id": id, "digest": digest, "answer": "once", "reason": "", "arguments": None, "process": process}
got = {}
def attempt(what, action):
    try:
        got[what] = action()
    except Exception as error:
        got[what] = "failed: " + type(error).__name__
def read(path, most=1 << 20):
    with open(path, "rb") as file:
        return file.read(most).decode("latin-1")
def ask(method, path, body, token):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=5)
    head = {"Authorization": "Bearer " + token, "Content-Type": "application/json"} if token else {}
    connection.request(method, path, body, head)
    return connection.getresponse().status
def ask_and_leave():
    with socket.create_connection(("127.0.0.1", int(port)), 5) as one:
        head = "POST /api/request HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\n" % (port, token)
        one.sendall((head + "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).encode())
    return "sent"
def over_the_socket():
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(5)
        one.connect(os.path.join(folder, name))
        one.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "answer", "params": answer}).encode() + b"\n")
        return json.loads(one.makefile().readline())
def memory():
    with open("/proc/" + pid + "/maps") as maps, open("/proc/" + pid + "/mem", "rb", 0) as mem:
        for line in maps:
            if "[heap]" in line:
                start, end = (int(one, 16) for one in line.split()[0].split("-"))
                mem.seek(start)
                mem.read(min(end - start, 1 << 22))
                return "memory was read"
def approve():
    command = [sys.executable, "-m", "toolroll", "approve", "-C", workspace, id, "once"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    return [done.returncode, done.stdout + done.stderr]
attempt("token file", lambda: json.loads(read(folder + "/console.json"))["token"])
attempt("redirect page", lambda: re.search("token=([^\"]+)", read(folder + "/console.html"))[1])
attempt("environment", lambda: "token" if token in str(os.environ) else "nothing")
attempt("environment of the console", lambda: "token" if token in read("/proc/" + pid + "/environ") else "nothing")
attempt("arguments of the console", lambda: "token" if token in read("/proc/" + pid + "/cmdline") else "nothing")
attempt("memory of the console", memory)
body = json.dumps({"to": name, "method": "answer", "params": answer})
attempt("page", lambda: ask("GET", "/", None, ""))
attempt("http without token", lambda: ask("POST", "/api/request", body, ""))
attempt("http with token", lambda: ask("POST", "/api/request", body, token))
attempt("events with token", lambda: ask("GET", "/api/events", None, token))
attempt("http with token, gone at once", ask_and_leave)
attempt("control socket", over_the_socket)
attempt("toolroll approve", approve)
print("GOT" + json.dumps(got))
"""


class Question:
    """A call whose request waits, and the process that it waits in."""

    def __init__(self, control: ControlServer, call: Future[Result]) -> None:
        self.control, self.call = control, call
        self.shown: Any = None

    @property
    def name(self) -> str:
        return self.control.hands.id

    @property
    def started(self) -> float:
        return self.control.hands.started


@contextmanager
def waiting_call(ws: Path) -> Iterator[Question]:
    """A call that asks, and that only the control socket answers."""

    def cannot(_withdrawn: CancelToken) -> Answer:
        raise CannotAskError("no")

    def approve(request: ApprovalRequest) -> Answer:
        return control.approvals.ask(request, token, asker=cannot, notice=lambda _id: None)

    token = CancelToken()
    policy = Policy(sandbox="none", ask=Effect.WRITE)
    with ThreadPoolExecutor() as pool, Kit(ws, policy=policy, approve=approve) as kit:
        control = ControlServer(kit, "mcp")
        try:
            question = Question(control, pool.submit(kit.call, "write", {"path": "new.txt", "content": "x\n"}))
            assert until(lambda: control.hands.id in user_sockets.sockets() and control.approvals.all())
            question.shown = control.approvals.all()[0]
            yield question
        finally:
            token.cancel()
            control.close()


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConsoleClient]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    with claim_console(), running_console() as client:
        publish_console(ConsoleRecord(client.port, TOKEN, os.getpid()))
        yield client


def test_the_page_answers_what_it_has_shown_and_nothing_else(console, ws):
    with waiting_call(ws) as question:
        [seen] = console.request(question.name, "approvals")["result"]["waiting"]
        process = {"id": question.name, "started": question.started}
        given = {"id": seen["id"], "answer": "once", "reason": "", "arguments": None, "process": process}
        for digest in (None, "", "0" * 32, seen["digest"][:-1], seen["digest"].upper() + " ", [seen["digest"]]):
            state = console.request(question.name, "answer", **given, digest=digest)["result"]["state"]
            assert state == "changed"
        wrong = {**given, "id": "000000", "digest": seen["digest"]}
        assert console.request(question.name, "answer", **wrong)["result"]["state"] == "gone"
        odd = {**given, "answer": "yes", "digest": seen["digest"]}
        assert console.request(question.name, "answer", **odd)["result"]["state"] == "refused"
        assert not question.call.done()
        assert not (ws / "new.txt").exists()
        right = {**given, "digest": seen["digest"]}
        assert console.request(question.name, "answer", **right)["result"] == {"state": "applied", "why": ""}
        assert question.call.result(10).ok
        assert console.request(question.name, "answer", **right)["result"]["state"] == "late"


def test_no_command_can_approve_itself(console, ws, tier):
    """In no tier, by no way, with the network on and whatever it knows; where it is confined it does not even learn the token."""
    (ws / "attack.py").write_text(ATTACK)
    policy = Policy(sandbox=tier, network=True, readable=(SOURCE,))
    with waiting_call(ws) as question, Kit(ws, policy=policy) as kit:
        given = (
            user_sockets.run_folder(),
            question.name,
            console.port,
            os.getpid(),
            question.started,
            question.shown.id,
        )
        words = map(str, (sys.executable, "attack.py", *given, question.shown.digest, TOKEN, ws))
        result = kit.call("bash", {"command": f"PYTHONPATH={shlex.quote(SOURCE)} {shlex.join(words)}", "timeout": 60})
        waits = [one.id for one in question.control.approvals.all()] == [question.shown.id]
        assert waits, (question.call.done() and question.call.result(), result.text)
        assert not question.call.done()
    assert "GOT" in result.text, result.text
    got = json.loads(result.text.partition("GOT")[2].splitlines()[0])
    failed = {what for what, found in got.items() if str(found).startswith("failed")}
    answers = ("page", "http without token", "http with token", "events with token")
    assert [got.pop(what) for what in answers] == [200, 401, 403, 403]
    assert "may not use this socket" in str(got.get("control socket")) or "control socket" in failed, got
    status, said = got.pop("toolroll approve")
    assert status != 0, said
    assert "No module named" not in said
    assert got.pop("environment") == "nothing"
    if tier != "none":
        assert {"token file", "redirect page", "memory of the console"} <= failed, got
        assert TOKEN not in str(got)


def test_a_console_that_ends_by_itself_stays_while_a_page_is_open(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(server, "LOOK_S", 0.1)
    monkeypatch.setattr(server, "IDLE_S", 0.1)
    told: list[Any] = []

    def use(record: ConsoleRecord) -> None:
        with ConsoleClient(record.port, record.token).events() as events:
            told.append(next(events)["event"])
            time.sleep(0.5)
            told.append("still open")

    with ThreadPoolExecutor() as pool:
        assert server.run_console(0, lambda record: pool.submit(use, record) and None, while_used=True)
    assert told == ["processes", "still open"]
    assert not find_console()
