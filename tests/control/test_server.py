"""The control socket: what a process answers, which events it sends, and whom it refuses."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from toolroll import Effect, Kit, Policy, Result
from toolroll.control.client import ControlClient
from toolroll.control.methods import ACTS
from toolroll.control.server import ControlServer
from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.rpc.channel import RefusedError
from toolroll.host.rpc.codecs import LineCodec
from toolroll.host.runtime import user_sockets
from toolroll.host.runtime.cancellation import CancelToken

TRY = """
import json, socket, sys
try:
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.sendall(b'{"id": 1, "method": "hello"}\\n')
    print("answered:", one.makefile().readline())
except OSError as error:
    print("refused:", error)
"""


def test_calls_are_events_as_they_begin_and_end(kit: Kit, client: ControlClient) -> None:
    kit.call("ls", {})
    assert client.request("subscribe", since=0) == {"seq": 1}
    events = client.events()
    assert next(events)[1]["status"] == "success"
    Path(kit.workspace, "a.txt").write_text("one\n")
    kit.call("read", '{"path": "a.txt"}', client="editor")
    begun, ended = next(events)[1], next(events)[1]
    assert (begun["seq"], begun["tool"], begun["status"], begun["arguments"]) == (
        2,
        "read",
        "running",
        {"path": "a.txt"},
    )
    assert (ended["seq"], ended["status"], ended["client"], ended["session"]) == (2, "success", "editor", kit.session)
    assert "one" in ended["text"]
    assert (ended["tokens"], ended["seconds"] > 0, ended["cut"]) == (-(-len(ended["text"]) // 4), True, False)


def test_only_the_events_that_were_asked_for(server: ControlServer, client: ControlClient) -> None:
    client.request("subscribe", events=["jobs"])
    assert (server.has_subscriber("jobs"), server.has_subscriber("call")) == (True, False)
    server.publish("journal", {"size": 1})
    server.publish("jobs", {})
    assert next(client.events()) == ("jobs", {})
    client.close()
    until(lambda: not server.has_subscriber("jobs"))


def test_a_connection_subscribes_once(server: ControlServer, client: ControlClient) -> None:
    client.request("subscribe", events=["jobs"])
    with pytest.raises(RefusedError, match="Subscribe once"):
        client.request("subscribe", events=["call"])
    assert not server.has_subscriber("call")


def test_a_client_that_does_not_read_gets_resync(
    server: ControlServer, client: ControlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolroll.control.server._MAX_QUEUED_EVENTS", 5)
    client.request("subscribe")
    for _ in range(500):
        server.publish("jobs", {"text": "x" * 10_000})
    events = client.events()
    assert "resync" in (next(events)[0] for _ in range(500))


def test_calls_are_listed_searched_and_shown_whole(kit: Kit, client: ControlClient) -> None:
    kit.call("write", {"path": "long.txt", "content": "x" * 5_000})
    kit.call("read", {"path": "none.txt"})
    found = client.request("calls", limit=1)
    assert ([one["tool"] for one in found["calls"]], found["more"]) == (["read"], True)
    assert (found["calls"][0]["status"], found["calls"][0]["code"]) == ("error", "NotFound")
    [one] = client.request("calls", before=2, limit=5, text="LONG.txt")["calls"]
    assert (one["seq"], one["cut"], len(one["arguments"]["content"]) < 2_000) == (1, True, True)
    assert client.request("call_text", seq=1)["arguments"]["content"] == "x" * 5_000


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("nothing", {}, "There is no method 'nothing'. There are: hello, "),
        ("call_text", {"seq": 99}, "There is no call 99"),
        ("call_text", {}, "'seq' is None. Give a number."),
        ("calls", {"limit": "all"}, "'limit' is 'all'. Give a number."),
        ("subscribe", {"events": "call"}, "Subscribe once"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(client: ControlClient, method: str, params: dict, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        client.request(method, **params)
    assert client.request("hello")["kind"] == "mcp"


@pytest.mark.parametrize("line", [b"{", b"[]", b"\xff", b'{"method": 1}', b'{"method": "hello", "params": [1]}'])
def test_a_line_that_is_no_request(server: ControlServer, line: bytes) -> None:
    with user_sockets.connect(server.hands.id, 5) as raw, raw.makefile() as lines:
        raw.sendall(line + b'\n{"id": 7, "method": "calls"}\n')
        assert (lines.readline() == "") == (not line.startswith(b'{"'))  # no message at all ends the connection


def test_without_a_run_folder_the_process_goes_on(kit: Kit, tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "xdg/toolroll").mkdir(parents=True, exist_ok=True)
    (tmp_path / "xdg/toolroll/run").write_text("no folder")
    server = ControlServer(kit, "mcp", warn=said.append)
    until(lambda: said)
    assert "cannot reach this process: The folder" in said[0]
    assert kit.call("ls", {}).ok
    server.close()


def test_a_command_cannot_connect(tier: str, ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    (ws / "try.py").write_text(TRY)
    with Kit(ws, policy=Policy(sandbox=tier, network=True)) as kit:
        server = ControlServer(kit, "mcp")
        until(lambda: server.hands.id in user_sockets.sockets())
        path = os.path.join(user_sockets.run_folder(), server.hands.id)
        result = kit.call("bash", {"command": f"python3 try.py {path}; setsid -w python3 try.py {path}"})
        server.close()
    assert result.text.count("refused:") + result.text.count("may not use this socket") == 2, result.text
    assert "workspace" not in result.text


def test_many_clients_are_answered_side_by_side(server: ControlServer) -> None:
    answers: list[int] = []

    def ask() -> None:
        with ControlClient(server.hands.id) as one:
            answers.append(one.request("hello")["pid"])

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(20)
    assert answers == [os.getpid()] * 20


def test_a_connection_too_many_is_refused(client: ControlClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolroll.control.server._MAX_CONNECTIONS", 1)
    client.request("hello")  # the server has accepted it
    with (
        ControlClient(client.name) as other,
        pytest.raises((RefusedError, OSError), match=r"Too many connections|ended"),
    ):
        other.request("hello")


def test_a_line_that_is_too_long(server: ControlServer, kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolroll.control.server.LineCodec", partial(LineCodec, 1_000))
    with user_sockets.connect(server.hands.id, 5) as raw:
        raw.sendall(b"x" * 1_001)
        assert raw.recv(1_000) == b""
    kit.call("ls", {"path": "x" * 1_000})
    with ControlClient(server.hands.id) as one, pytest.raises(RefusedError, match="1,000 can be sent"):
        one.request("calls")


@pytest.fixture
def asked(kit: Kit, server: ControlServer, client: ControlClient) -> Iterator[Future[Result]]:
    """A call whose request waits, and that only the control socket answers."""

    def cannot(_withdrawn: CancelToken) -> Answer:
        raise CannotAskError("no")

    def approve(request: ApprovalRequest) -> Answer:
        return server.approvals.ask(request, token, asker=cannot, notice=lambda _id: None)

    token = CancelToken()
    with ThreadPoolExecutor() as pool, Kit(kit.workspace, policy="ask", approve=approve) as other:
        answer = pool.submit(other.call, "bash", {"command": "touch a && rm -f c"})
        until(lambda: client.request("approvals")["waiting"])
        yield answer
        token.cancel()


def send_answer(client: ControlClient, **given: Any) -> dict[str, str]:
    [shown] = client.request("approvals")["waiting"]
    answer: dict[str, str] = client.act(
        client.request("hello"), "answer", **{"id": shown["id"], "digest": shown["digest"], **given}
    )
    return answer


def test_a_request_is_shown_with_its_parts(client: ControlClient, asked: Future[Result]) -> None:
    [shown] = client.request("approvals")["waiting"]
    assert [one["text"] for one in shown["parts"]] == ["touch a", "rm -f c"]
    assert (shown["tool"], shown["effects"], shown["editable"], shown["lasting"]) == ("bash", ["shell"], True, True)
    assert shown["text"].startswith(shown["title"])


def test_an_answer_that_changes_the_call(client: ControlClient, asked: Future[Result], ws: Path) -> None:
    assert send_answer(client, answer="once", arguments={"command": "touch b"}) == {"state": "applied", "why": ""}
    assert asked.result(10).ok
    assert [path.name for path in ws.iterdir()] == ["b"]


@pytest.mark.parametrize(
    ("given", "state", "why"),
    [
        ({"answer": "yes"}, "refused", "There is no answer 'yes'"),
        ({"answer": "session", "arguments": {"command": "ls"}}, "refused", "A changed call is allowed once."),
        ({"answer": "once", "arguments": "ls"}, "refused", "cannot be answered with another call"),
        ({"answer": "once", "arguments": {"cmd": 1}}, "refused", "The changed call is not valid: "),
        ({"answer": "once", "digest": "other"}, "changed", "not the request that was shown"),
        ({"answer": "once", "id": "other"}, "gone", "No such request waits."),
    ],
)
def test_an_answer_that_is_none(
    client: ControlClient, asked: Future[Result], given: dict[str, Any], state: str, why: str
) -> None:
    said = send_answer(client, **given)
    assert (said["state"], why in said["why"], asked.done()) == (state, True, False)


def test_a_long_reason_is_cut(client: ControlClient, asked: Future[Result]) -> None:
    assert send_answer(client, answer="no", reason="x" * 2_001)["state"] == "applied"
    text = asked.result(10).text
    assert ("x" * 2_000 in text, "x" * 2_001 in text) == (True, False)


@pytest.mark.parametrize("word", ["session", "always"])
def test_a_request_that_is_asked_each_time_is_allowed_only_once(
    client: ControlClient, server: ControlServer, word: str
) -> None:
    def cannot(_withdrawn: CancelToken) -> Answer:
        raise CannotAskError("no")

    request = ApprovalRequest("write", Effect.WRITE, {"path": "a"}, "needs approval")
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(server.approvals.ask, request, CancelToken(), asker=cannot, notice=lambda _id: None)
        until(lambda: client.request("approvals")["waiting"])
        said = send_answer(client, answer=word)
        assert (said["state"], said["why"]) == ("refused", "This request can be allowed only once.")
        changed = send_answer(client, answer="once", arguments={"path": "b", "content": "a valid call"})
        assert (changed["state"], asked.done()) == ("refused", False)
        assert send_answer(client, answer="once")["state"] == "applied"
        assert asked.result(10) == "once"


def test_who_subscribes_is_shown_what_waits_and_what_no_longer_does(
    client: ControlClient, server: ControlServer
) -> None:
    client.request("subscribe", events=["approvals"])
    assert server.approvals.is_watched()
    request = ApprovalRequest("write", Effect.WRITE, {"path": "a"}, "needs approval")
    go_on = threading.Event()
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(server.approvals.ask, request, CancelToken(), asker=lambda _withdrawn: go_on.wait(10))
        events = client.events()
        [shown] = next(events)[1]["waiting"]
        assert (shown["tool"], shown["lasting"], shown["scope"]) == ("write", False, "")
        go_on.set()
        assert (next(events), asked.result(10)) == (("approvals", {"waiting": []}), True)


def test_views_are_methods_and_their_changes_are_events(kit: Kit, client: ControlClient) -> None:
    client.request("subscribe", events=["journal", "jobs"])
    kit.call("write", {"path": "a.txt", "content": "one"})
    event, data = next(client.events())
    assert (event, data["size"] > 0) == ("journal", True)
    assert [one["tool"] for one in client.request("journal", limit=5)["entries"]] == ["write"]
    this, digest = client.request("hello"), client.request("journal_entry", number=1)["digest"]
    assert client.act(this, "undo", number=1, digest=digest)["ok"]
    assert client.request("calls", limit=1)["calls"][0]["tool"] == "undo"
    with pytest.raises(RefusedError, match="missing required field `number`"):
        client.act(this, "undo")


ALL_ACTS = ("answer", "checkpoint", "job_keys", "job_stop", "rewind", "undo")


@pytest.mark.parametrize("method", sorted({*ALL_ACTS, *ACTS}))
def test_an_act_for_another_process_is_refused(kit: Kit, client: ControlClient, ws: Path, method: str) -> None:
    kit.call("write", {"path": "a.txt", "content": "one"})
    digest = client.request("journal_entry", number=1)["digest"]
    this = client.request("hello")
    given = {"number": 1, "to": 0, "digest": digest}
    for other in ({**this, "id": "control-1-abcdef"}, {**this, "started": this["started"] - 1}):
        with pytest.raises(RefusedError, match="This act is for another process, or an earlier one"):
            client.act(other, method, **given)
    with pytest.raises(RefusedError, match="This act names no process"):
        client.request(method, **given)
    assert ((ws / "a.txt").read_text(), len(client.request("journal")["entries"])) == ("one", 1)


def test_usage_counts_calls_errors_and_tokens_of_every_kit(
    kit: Kit, server: ControlServer, client: ControlClient
) -> None:
    kit.call("write", {"path": "a.txt", "content": "x" * 4_000})
    with Kit(kit.workspace) as other:
        server.follow(other)
        texts = [one.call("read", given).text for one in (kit, other) for given in ({"path": "a.txt"}, {})]
        rows = {one["tool"]: one for one in client.request("usage")["tools"]}
    assert (rows["read"]["calls"], rows["read"]["errors"], rows["write"]["calls"]) == (4, 2, 1)
    assert rows["read"]["tokens"] == -(-sum(map(len, texts)) // 4)
    assert rows["read"]["seconds"] > 0


def test_todos_are_those_of_the_session_that_was_used_last(
    kit: Kit, server: ControlServer, client: ControlClient
) -> None:
    assert client.request("todos") == {"todos": [], "session": kit.session}
    with Kit(kit.workspace, session="other") as other:
        other.watch_calls(server.calls.begin)
        for one, text in ((kit, "mine"), (other, "of the other")):
            one.call("todo_write", {"todos": [{"content": text}]})
    with Kit(kit.workspace, session="third") as third:
        third.watch_calls(server.calls.begin)
        third.call("ls", {})
    found = client.request("todos")
    assert (found["session"], [one["text"] for one in found["todos"]]) == ("other", ["of the other"])
