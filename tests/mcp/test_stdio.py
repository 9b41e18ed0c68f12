"""The server as a client meets it: a real process on real pipes."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.mcp.pipes import WAIT, running, server, until
from tests.mcp.test_session import Nothing
from toolroll import __version__
from toolroll.host.rpc import channel
from toolroll.mcp import stdio, worker_threads

OWN = ("-m", "tests.mcp.own_server")
HASTY = (
    "-c",
    "import sys; from toolroll import cli; from toolroll.mcp import stdio; stdio._CALL_GRACE_S = 0.5; sys.exit(cli.main())",
    "mcp",
)


@pytest.fixture
def client(ws, tmp_path):
    """A server of its own for what ends it."""
    with server("-C", str(ws), cwd=tmp_path, state=tmp_path / "state") as pipes:
        yield pipes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    (folder / "ws").mkdir()
    (folder / "ws" / "a.txt").write_text("hello\n")
    return folder


@pytest.fixture(scope="module")
def own_process(folder):
    with server(cwd=folder / "ws", state=folder / "state", argv=OWN, stderr=subprocess.PIPE) as pipes:
        pipes.start()
        yield pipes
        assert pipes.end() == 0
        assert pipes.answers == {}, "a request that was cancelled is not answered"


@pytest.fixture
def own(own_process):
    """A server with tools of its own, for what leaves no trace in it."""
    own_process.other.clear()
    return own_process


@pytest.fixture(scope="module")
def plain_process(folder):
    with server("-C", str(folder / "ws"), cwd=folder, state=folder / "state", stderr=subprocess.PIPE) as pipes:
        pipes.start()
        yield pipes
        assert pipes.end() == 0
        assert pipes.came.get(timeout=WAIT) is None, "nothing came that was not asked for"


@pytest.fixture
def plain(plain_process):
    """A server as users start it, for what leaves no trace in it."""
    plain_process.other.clear()
    return plain_process


class Scene:
    """The server in this process, on pipes that the test holds the other ends of."""

    def __init__(self, backend, **options):
        source, self.input = os.pipe()
        self.output, target = os.pipe()
        self.ends = {source, self.input, self.output, target}
        given = {"on_roots": None, "on_client": None, "on_listed": None, **options}
        self.server = stdio._Server(backend, source, target, *given.values())
        self.thread = threading.Thread(target=self.server.run)

    def send(self, *messages):
        os.write(self.input, b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in messages))

    def ids(self):
        """The ids of the answers that come together."""
        return [json.loads(line).get("id") for line in os.read(self.output, 1 << 20).splitlines()]

    def hang_up(self, fd):
        self.ends.remove(fd)
        os.close(fd)

    def close(self):
        if self.input in self.ends:
            self.hang_up(self.input)
        self.server.close()
        self.thread.join(WAIT)
        for fd in self.ends:
            os.close(fd)


class Waiting(Nothing):
    """Calls and lists that wait for the test."""

    def __init__(self):
        self.begun, self.go = threading.Semaphore(0), threading.Event()

    def call(self, name, _arguments, peer):
        if name == "notify":
            peer.progress(1, 2, "")
        if name == "quick":
            return super().call()
        return self.tools() or super().call()

    def tools(self, _client=None):
        self.begun.release()
        assert self.go.wait(WAIT)
        return []


@pytest.fixture
def scene():
    scenes = []

    def make(backend=None, **options):
        scenes.append(Scene(backend or Nothing(), **options))
        scenes[-1].thread.start()
        return scenes[-1]

    yield make
    for one in scenes:
        one.close()


PING = {"method": "ping"}


def test_answers_to_what_came_together_are_written_together(scene, monkeypatch):
    monkeypatch.setattr(channel, "_MAX_DELAY_S", WAIT)
    monkeypatch.setattr(worker_threads, "_LONG_CALL_S", WAIT)  # no other thread reads on
    one = scene()
    one.send({"id": 1, **PING}, {"id": 2, **PING}, {"id": 3, **PING})
    assert one.ids() == [1, 2, 3]
    one.send({"id": 4, **PING})
    assert one.ids() == [4]


def test_an_answer_that_has_waited_long_enough_is_written_before_the_next_message_is_handled(scene, monkeypatch):
    monkeypatch.setattr(channel, "_MAX_DELAY_S", -1.0)
    monkeypatch.setattr(worker_threads, "_LONG_CALL_S", WAIT)
    backend = Waiting()
    one = scene(backend)
    one.send({"id": 1, **PING}, {"id": 2, "method": "tools/list"})
    assert one.ids() == [1]
    backend.go.set()
    assert one.ids() == [2]


def test_what_a_call_tells_is_written_while_it_runs(scene, monkeypatch):
    monkeypatch.setattr(worker_threads, "_LONG_CALL_S", WAIT)
    backend = Waiting()
    one = scene(backend)
    params = {"name": "notify", "_meta": {"progressToken": "p"}}
    one.send({"id": 1, "method": "tools/call", "params": params})
    assert one.ids() == [None], "a notification"
    backend.go.set()
    assert one.ids() == [1]


@pytest.mark.parametrize(
    ("methods", "graces", "ends"),
    [
        (["tools/call"], (0.0, WAIT), True),
        (["tools/call"], (WAIT, 0.0), False),
        (["tools/list"], (WAIT, 0.0), True),
        (["tools/list"], (0.0, WAIT), False),
        (["tools/call", "tools/list"], (0.0, WAIT), False),
    ],
)
def test_how_long_the_server_waits_for_what_is_under_way_when_the_input_ends(scene, monkeypatch, methods, graces, ends):
    for name, value in zip(("_CALL_GRACE_S", "_LIST_GRACE_S"), graces, strict=True):
        monkeypatch.setattr(stdio, name, value)
    backend = Waiting()
    one = scene(backend)
    for number, method in enumerate(methods):
        one.send({"id": number, "method": method, "params": {"name": "x"} if method == "tools/call" else {}})
        assert backend.begun.acquire(timeout=WAIT)
    one.hang_up(one.input)
    one.thread.join(WAIT if ends else 0.1)
    assert one.thread.is_alive() is not ends
    backend.go.set()
    one.thread.join(WAIT)
    assert not one.thread.is_alive()


def test_nobody_waits_for_a_client_that_reads_no_more(scene):
    backend = Waiting()
    one = scene(backend)
    one.send({"id": 1, "method": "tools/call", "params": {"name": "x"}})
    assert backend.begun.acquire(timeout=WAIT)
    assert not one.server._client_is_gone()
    one.hang_up(one.output)
    assert one.server._client_is_gone()
    one.hang_up(one.input)
    one.thread.join(WAIT)
    assert not one.thread.is_alive()
    backend.go.set()


def test_a_server_that_cannot_write_ends(scene):
    one = scene()
    one.hang_up(one.output)
    one.send({"id": 1, **PING})
    one.thread.join(WAIT)
    assert (one.thread.is_alive(), one.server._failed) == (False, True)


def test_after_the_first_list_something_else_may_begin(scene):
    listed = queue.Queue()
    one = scene(on_listed=lambda: listed.put(threading.current_thread().name))
    one.send({"id": 1, **PING})
    assert (one.ids(), listed.qsize()) == ([1], 0)
    for number in (2, 3):
        one.send({"id": number, "method": "tools/list"})
        assert one.ids() == [number]
    assert listed.get(timeout=WAIT) == "toolroll-open"
    one.send({"id": 4, **PING})
    assert (one.ids(), listed.qsize()) == ([4], 0), "once"


def test_faults_go_to_standard_error_and_to_a_client_that_asks(scene, capfd):
    one = scene()
    one.send({"id": 1, "method": "logging/setLevel", "params": {"level": "warning"}})
    assert one.ids() == [1]
    one.server._log("warning", "odd \udcff")
    assert capfd.readouterr().err == "toolroll mcp: warning: odd \\udcff\n"
    assert one.ids() == [None]


def test_the_descriptors_of_the_client_are_kept_from_others_and_given_back():
    def files(*fds):
        return [os.fstat(fd)[:3] for fd in fds]

    before = files(0, 1, 2)
    with stdio._pipes() as (source, target):
        assert files(source, target) == before[:2]
        assert (os.read(0, 1), files(1, 2)) == (b"", [before[2]] * 2)
    assert files(0, 1, 2) == before
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(target)
    os.close(source)


@pytest.mark.parametrize("main", [True, False])
def test_only_the_main_thread_can_ignore_signals(main):
    before = signal.getsignal(signal.SIGUSR1)
    try:
        if main:
            stdio._ignore(signal.SIGUSR1)
        else:
            thread = threading.Thread(target=stdio._ignore, args=[signal.SIGUSR1])
            thread.start()
            thread.join()
        assert signal.getsignal(signal.SIGUSR1) == (signal.SIG_IGN if main else before)
    finally:
        signal.signal(signal.SIGUSR1, before)


def shown(kit):
    """What clients are shown of a kit."""
    return [one for one in kit.definitions("mcp") if one["name"] != "finish"]


def test_a_session_from_its_beginning_to_its_end(client, put, ws, open_kit):
    put({"a.txt": "hello\n"})
    begun = client.start(roots={"listChanged": True})
    assert begun["serverInfo"] == {"name": "toolroll", "title": "toolroll", "version": __version__}
    assert begun["capabilities"] == {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    }
    assert "find_tools" in begun["instructions"]
    assert client.ask("ping") == {}
    assert client.ask("tools/list", {"cursor": "anything"}) == {"tools": shown(open_kit())}
    read = client.call("read", path="a.txt")
    assert read == {"content": [{"type": "text", "text": "1\thello"}], "isError": False}
    assert client.call("write", path="b.txt", content="x")["isError"] is False
    assert (ws / "b.txt").read_text() == "x"
    missing = client.call("read", path="none.txt")
    assert missing["isError"] is True
    assert missing["content"][0]["text"].startswith("File not found: there is no 'none.txt'.")
    assert client.call("bash", command="echo $((6*7))")["content"][0]["text"] == "42"
    assert client.other == [], "-C has named the workspace: the client is not asked for its roots"
    assert client.end() == 0


def test_tools_that_are_not_listed_are_called_all_the_same(plain):
    client = plain
    listed = [one["name"] for one in client.ask("tools/list")["tools"]]
    assert "stat" not in listed
    direct = client.call("stat", path="a.txt")
    relayed = client.call("call_tool", name="stat", arguments={"path": "a.txt"})
    assert direct == relayed
    assert "6 bytes" in direct["content"][0]["text"]
    found = client.call("find_tools", query="size and times of a file")
    assert found["content"][0]["text"].startswith("stat: ")
    assert client.call("call_tool", name="stat", arguments={"path": 3})["isError"] is True
    assert client.fails("tools/call", {"name": "nope", "arguments": {}})["code"] == -32602


def test_the_list_comes_from_the_last_run_and_is_held_against_the_kit(ws, tmp_path, open_kit):
    wanted = shown(open_kit())
    listed = tmp_path / "s" / "toolroll" / "listed"

    def list_of_a_run(calls):
        with server("-C", str(ws), "--tools", "core", cwd=ws, state=tmp_path / "s") as client:
            client.start()
            first = client.ask("tools/list")["tools"]
            if not calls:
                return first
            client.call("ls")
            changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"} in client.other
            assert client.ask("tools/list")["tools"] == wanted
            return first, changed

    assert list_of_a_run(calls=False) == wanted
    (kept,) = listed.iterdir()
    assert json.loads(kept.read_text())[""] == wanted
    old = [{"name": "old", "description": "", "inputSchema": {"type": "object"}}]
    kept.write_text(json.dumps({"": old, "core": old, "all": old}))
    assert list_of_a_run(calls=True) == (old, True)
    assert json.loads(kept.read_text())[""] == wanted


def test_nothing_waits_behind_long_calls(own):
    own.call("slow", seconds=0)
    long = [own.request("tools/call", {"name": "slow", "arguments": {"seconds": 30}}) for _ in range(4)]
    commands = [own.request("tools/call", {"name": "bash", "arguments": {"command": "sleep 30"}}) for _ in range(2)]
    for _ in range(3):
        assert own.ask("ping") == {}
        assert own.call("slow", seconds=0)["content"][0]["text"] == "done"
    for number in long + commands:
        own.notify("notifications/cancelled", {"requestId": number})
    assert own.ask("ping") == {}
    assert not set(long + commands) & own.answers.keys()


def test_an_answer_does_not_wait_for_a_long_call_that_came_with_it(own):
    slow = {"name": "slow", "arguments": {"seconds": 2 * WAIT}}
    lines = [
        {"jsonrpc": "2.0", "id": "quick", "method": "ping"},
        {"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": slow},
    ]
    own.raw(b"".join(json.dumps(one).encode() + b"\n" for one in lines))
    assert own.came.get(timeout=WAIT) == {"jsonrpc": "2.0", "id": "quick", "result": {}}
    own.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})


def test_an_answer_does_not_wait_for_what_is_not_answered(own):
    told = b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nothing"}}\n'
    own.raw(b'{"jsonrpc": "2.0", "id": "first", "method": "ping"}\n\n \n' + told + b'\n{"jsonrpc": "2.0", "id": "se')
    assert own.came.get(timeout=WAIT) == {"jsonrpc": "2.0", "id": "first", "result": {}}
    own.raw(b'cond", "method": "ping"}\n')
    assert own.came.get(timeout=WAIT) == {"jsonrpc": "2.0", "id": "second", "result": {}}


def test_more_long_calls_than_threads_are_all_answered(own):
    numbers = [own.request("tools/call", {"name": "slow", "arguments": {"seconds": 0.05}}) for _ in range(80)]
    assert own.ask("ping") == {}
    assert {own.answer(number)["result"]["content"][0]["text"] for number in numbers} == {"done"}


def test_a_cancelled_call_ends_its_processes(plain):
    client = plain
    number = client.request("tools/call", {"name": "bash", "arguments": {"command": "sleep 97.531"}})
    assert until(lambda: running("97.531"))
    client.notify("notifications/cancelled", {"requestId": number, "reason": "enough"})
    assert until(lambda: not running("97.531"))
    assert client.ask("ping") == {}
    assert number not in client.answers


ENDS = {
    "the input ends": (lambda pipes: pipes.process.stdin.close(), 0),
    "SIGTERM": (lambda pipes: pipes.process.send_signal(signal.SIGTERM), 143),
    "SIGINT": (lambda pipes: pipes.process.send_signal(signal.SIGINT), 130),
    "SIGHUP": (lambda pipes: pipes.process.send_signal(signal.SIGHUP), 129),
}


@pytest.mark.parametrize(
    ("end", "status"),
    [pytest.param(*one, id=name, marks=[pytest.mark.slow] * (one[1] in (129, 130))) for name, one in ENDS.items()],
)
def test_whatever_ends_the_server_ends_the_work(ws, tmp_path, end, status):
    mark = f"98.{status}"
    with server("-C", str(ws), cwd=tmp_path, state=tmp_path / "state", argv=HASTY) as client:
        client.start()
        client.request("tools/call", {"name": "bash", "arguments": {"command": f"sleep {mark}"}})
        client.request("tools/call", {"name": "bash", "arguments": {"command": f"sleep {mark}", "background": True}})
        assert until(lambda: len(running(mark)) >= 2)
        end(client)
        assert client.process.wait(WAIT) == status
        assert running(mark) == []


def test_a_client_that_is_killed_leaves_nothing_behind(ws, tmp_path):
    """Nobody says goodbye: the pipes just break, in the middle of commands and of writes."""
    code = f"""
import sys, time
from pathlib import Path
from tests.mcp.pipes import running, server
with server("-C", {str(ws)!r}, cwd=Path({str(ws)!r}), state=Path({str(tmp_path)!r})) as client:
    client.start()
    client.request("tools/call", {{"name": "bash", "arguments": {{"command": "sleep 99.137"}}}})
    while not running("99.137"):  # which the writes below would put off
        time.sleep(0.05)
    print(client.process.pid, flush=True)
    for number in range(1_000_000):
        client.request("tools/call", {{"name": "write", "arguments": {{"path": "a.txt", "content": str(number % 2) * 300_000}}}})
"""
    root = Path(__file__).parents[2]
    paths = f"{root / 'src'}:{root}"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        pid = int(client.stdout.readline())
        assert until(lambda: running("99.137") and (ws / "a.txt").exists())
        client.kill()
    assert until(lambda: not Path(f"/proc/{pid}").exists())
    assert running("99.137") == []
    assert set((ws / "a.txt").read_text()) in ({"0"}, {"1"})
    assert [path.name for path in ws.iterdir()] == ["a.txt"]
    assert (ws / "a.txt").stat().st_size == 300_000


@pytest.mark.parametrize("flight", [1, 16])
def test_a_thousand_calls_and_nothing_lost(plain, folder, flight):
    client = plain
    for number in range(50):
        (folder / "ws" / f"{number}.txt").write_text(f"text {number}\n")
    sent: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number in range(1000):
        sent[client.request("tools/call", {"name": "read", "arguments": {"path": f"{number % 50}.txt"}})] = number
        while len(sent) - len(texts) >= flight:
            message = client.next()
            assert message is not None
            texts[message["id"]] = message["result"]["content"][0]["text"]
    while len(texts) < len(sent):
        message = client.next()
        assert message is not None
        texts[message["id"]] = message["result"]["content"][0]["text"]
    assert texts == {id: f"1\ttext {number % 50}" for id, number in sent.items()}


def test_stray_prints_do_not_reach_the_client_and_stray_reads_get_nothing(own):
    assert own.call("babble")["content"] == [{"type": "text", "text": "said; heard b''"}]
    assert own.process.stderr.readline() == b"a stray line\n"
    assert own.process.stderr.readline() == b"another stray line\n"


def test_pictures_odd_text_and_faults_of_our_own(own):
    assert own.call("picture")["content"] == [
        {"type": "text", "text": "a picture"},
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
    ]
    assert own.call("odd")["content"] == [{"type": "text", "text": "odd \\udcff"}]
    broken = own.call("broken")
    assert (broken["isError"], broken["_meta"]) == (True, {"code": "ExecutionError"})
    assert "failed with ZeroDivisionError: by nothing (own_server.py:" in broken["content"][0]["text"]
    assert own.ask("ping") == {}


def test_progress_is_told_to_those_who_ask(own):
    own.call("count")
    assert own.other == []
    params = {"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": "p1"}}
    assert own.ask("tools/call", params)["content"][0]["text"] == "counted"
    assert [one["params"] for one in own.other] == [
        {"progressToken": "p1", "progress": number, "total": 3, "message": f"step {number}"} for number in (1, 2, 3)
    ]


def test_a_tool_that_comes_later_is_told(own):
    before = {one["name"] for one in own.ask("tools/list")["tools"]}
    own.call("more")
    assert {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"} in own.other
    assert {one["name"] for one in own.ask("tools/list")["tools"]} - before == {"late"}
    assert own.call("late")["content"][0]["text"] == "here"


def test_what_is_too_long_is_linked(own):
    said = own.call("talk")
    text, link = said["content"]
    assert link["type"] == "resource_link"
    assert {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"} in own.other
    assert [one["uri"] for one in own.ask("resources/list")["resources"]] == [link["uri"]]
    (whole,) = own.ask("resources/read", {"uri": link["uri"]})["contents"]
    assert whole["text"] == "\n".join(f"word {number}" for number in range(20_000))
    assert len(text["text"]) < len(whole["text"])


def test_the_clients_root_is_the_workspace(ws, tmp_path, put):
    put({"a.txt": "inside\n"})
    other = tmp_path / "other root"
    other.mkdir()
    (other / "a.txt").write_text("elsewhere\n")
    roots = [{"uri": "https://example.com/x"}, {"uri": "file:///no/such/folder"}, {"uri": ws.as_uri()}]
    with server(cwd=other, state=tmp_path / "s") as client:
        client.reply = lambda request: {"roots": roots} if request["method"] == "roots/list" else None
        client.start(roots={"listChanged": True})
        assert "inside" in client.call("read", path="a.txt")["content"][0]["text"]
        roots[:] = [{"uri": other.as_uri(), "name": "other"}]
        client.notify("notifications/roots/list_changed")
        while [one["method"] for one in client.other].count("roots/list") < 2:
            client.ask("ping")
        assert "elsewhere" in client.call("read", path="a.txt")["content"][0]["text"]
        assert client.end() == 0


def test_a_server_that_asks_asks_about_changes_and_commands_but_not_about_reading(ws, tmp_path):
    """The question is answered by the thread that reads on while the call waits for it."""
    (ws / "b.txt").write_text("b\n")
    decline, accept = {"action": "decline"}, {"action": "accept", "content": {"decision": "session"}}
    with server("--ask", "-C", str(ws), cwd=ws, state=tmp_path) as client:
        answers = iter([decline, decline, accept])
        client.reply = lambda _request: next(answers)
        client.start(elicitation={})
        assert client.call("read", path="b.txt")["isError"] is False
        assert client.other == []
        assert client.call("bash", command="touch c.txt")["isError"] is True
        wrote = [client.call("write", path="a.txt", content=text)["isError"] for text in "abc"]
        assert (wrote, (ws / "a.txt").read_text()) == ([True, False, False], "c")
        assert [one["method"] for one in client.other] == ["elicitation/create"] * 3
        assert sorted(one.name for one in ws.iterdir()) == ["a.txt", "b.txt"]
        assert client.end() == 0


def test_rules_that_cannot_be_read_end_the_server_with_the_reason(ws, tmp_path):
    folder = tmp_path / "config" / "toolroll"
    folder.mkdir(parents=True)
    (folder / "rules.toml").write_text("nonsense")
    with server("-C", str(ws), cwd=ws, state=tmp_path, stderr=subprocess.PIPE) as client:
        assert client.process.wait(WAIT) == 2
        assert b"rules.toml: Expected '=' after a key" in client.process.stderr.read()


WRONG = [
    (b"{bad\n", None, -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"\n', None, -32700),
    (b"\xff\xfe\n", None, -32700),
    (b"[" * 100_000 + b"\n", None, -32700),
    (b"[]\n", None, -32600),
    (b'"ping"\n', None, -32600),
    (b"7\n", None, -32600),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n', None, -32600),
    (b'{"jsonrpc": "1.0", "id": 5, "method": "ping"}\n', 5, -32600),
    (b'{"id": 5, "method": "ping"}\n', 5, -32600),
    (b'{"jsonrpc": "2.0", "id": "x", "method": 7}\n', "x", -32600),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}\n', None, -32600),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": [1]}\n', 6, -32600),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "tools/run"}\n', 6, -32601),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call"}\n', 6, -32602),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "ls", "arguments": 3}}\n', 6, -32602),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "resources/read", "params": {"uri": "toolroll://x"}}\n', 6, -32002),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "prompts/get", "params": {"name": "x"}}\n', 6, -32602),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "logging/setLevel", "params": {"level": "loud"}}\n', 6, -32602),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "initialize", "params": {}}\n', 6, -32600),
]


def test_bad_messages_are_refused_and_survived(plain):
    for line, id, code in WRONG:
        plain.raw(line)
        answer = plain.next()
        assert (answer["id"], answer["error"]["code"]) == (id, code), line
        if code in (-32700, -32600) and b"initialize" not in line:
            assert plain.process.stderr.readline().startswith(b"toolroll mcp: warning: ")
        assert plain.ask("ping") == {}
    plain.raw(b"\n   \n")
    plain.notify("notifications/of/something/new")
    plain.send({"jsonrpc": "2.0", "id": "never asked", "result": {}})
    assert plain.ask("ping") == {}
    assert plain.process.stderr.readline().endswith(b"Nothing was asked that 'never asked' could answer.\n")


def test_an_id_that_is_in_use_is_refused(own):
    own.send({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "slow"}})
    own.send({"jsonrpc": "2.0", "id": "a", "method": "ping"})
    assert own.answer("a")["error"] == {"code": -32600, "message": "A request with the id 'a' is under way."}
    own.notify("notifications/cancelled", {"requestId": "a"})


def test_a_script_gets_its_answers_though_the_input_ends(client, put):
    put({"a.txt": "hello\n"})
    client.start()
    wanted = [
        client.request("tools/list"),
        client.request("tools/call", {"name": "read", "arguments": {"path": "a.txt"}}),
    ]
    assert client.end() == 0
    assert all("result" in client.answer(number) for number in wanted)


OFFICIAL = """
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

async def look(mode):
    there = StdioServerParameters(command=sys.executable, args=["-m", "toolroll", "mcp", "-C", sys.argv[1]], env={**os.environ})
    async with Client(stdio_client(there), mode=mode) as client:
        tools = await client.list_tools()
        read = await client.call_tool("read", {"path": "a.txt"})
        wrong = await client.call_tool("read", {"path": "none"})
        prompt = await client.get_prompt("fix-tests", {"target": "tests"})
        resources = await client.list_resources()
        return [
            sorted(tool.name for tool in tools.tools)[:2], read.content[0].text, read.structured_content,
            read.is_error, wrong.is_error, prompt.messages[0].content.text[:28], resources.resources,
        ]

async def main():
    print(json.dumps(await asyncio.gather(*map(look, ["legacy", "auto"]))))

asyncio.run(main())
"""


def test_the_official_client(ws, tmp_path, put):
    """Both eras, by the library that most clients are built with."""
    put({"a.txt": "hello\n"})
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "s")}
    argv = [sys.executable, "-c", OFFICIAL, str(ws)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen = [["bash", "call_read_tool"], "1\thello", None, False, True, "Make the tests of tests pass", []]
    assert json.loads(done.stdout) == [seen] * 2


def test_a_server_that_is_started_in_a_folder_that_is_too_wide(ws, tmp_path, put, monkeypatch):
    """As desktop clients do: it answers all the same, and works once the client has named a folder."""
    put({"a.txt": "inside\n"})
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))

    def assert_told_why(client):
        assert {"read", "ls"} <= {one["name"] for one in client.ask("tools/list")["tools"]}
        told = client.call("read", path="a.txt")
        assert told["isError"]
        assert re.search(r"name a folder .*-C DIR.*--wide", told["content"][0]["text"])

    with server("--tools", "read,ls", "-C", str(home), cwd=ws, state=tmp_path / "s") as client:
        assert client.start()["serverInfo"]["name"] == "toolroll"
        assert_told_why(client)
        assert client.end() == 0
    roots = [{"uri": home.as_uri()}]
    with server(cwd=Path("/"), state=tmp_path / "s") as client:
        client.reply = lambda request: {"roots": roots} if request["method"] == "roots/list" else None
        client.start(roots={"listChanged": True})
        assert_told_why(client)
        roots[:] = [{"uri": ws.as_uri()}]
        client.notify("notifications/roots/list_changed")
        while [one["method"] for one in client.other].count("roots/list") < 2:
            client.ask("ping")
            time.sleep(0.02)
        assert "inside" in client.call("read", path="a.txt")["content"][0]["text"]
        assert client.end() == 0
    assert list(home.iterdir()) == []
    (home / "a.txt").write_text("here\n")
    with server("--wide", cwd=home, state=tmp_path / "s") as client:
        client.start()
        assert "here" in client.call("read", path="a.txt")["content"][0]["text"]
        assert client.end() == 0
