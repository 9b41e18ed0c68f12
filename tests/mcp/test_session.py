"""What is said to one client, message by message, without a process in between."""

import json
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mcp.pipes import META, until
from toolroll import Context, Effect, Kit, ToolError, tool
from toolroll.control.server import ControlServer
from toolroll.host.approval.request import Refusal
from toolroll.kit import preset
from toolroll.mcp.backend import UnknownItemError
from toolroll.mcp.kit_backend import KitBackend
from toolroll.mcp.session import Session

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
CAN = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {"elicitation": {}}}
SERVER = {"name": "toolroll", "title": "toolroll", "version": KitBackend.version}


class Talk:
    """A session whose answers are gathered; `reply` answers what it asks of us."""

    def __init__(self, backend, on_roots=None):
        self.backend = backend
        self.said, self.logged = [], []
        self.reply = lambda _message: None
        self.session = Session(backend, self._take, self._work, lambda *line: self.logged.append(line), on_roots)
        self._number = 0

    def _work(self, job, _long):
        job()
        return True

    def _take(self, message):
        message = json.loads(json.dumps(message, default=lambda raw: json.loads(bytes(raw))))
        if isinstance(message, dict) and "method" in message and "id" in message:
            answer = self.reply(message)
            if answer is not None:
                line = bytearray(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())
                threading.Thread(target=self.session.handle, args=(line,)).start()
        self.said.append(message)

    def send(self, message):
        self.session.handle(bytearray(json.dumps(message).encode()))

    def ask(self, method, params=None, id=None):
        """All that is said until the answer, which comes last."""
        self._number += 1
        before = len(self.said)
        self.send({"jsonrpc": "2.0", "id": id or self._number, "method": method, "params": params})
        return self.said[before:]

    def start(self, version="2025-11-25", **capabilities):
        params = {"protocolVersion": version, "capabilities": capabilities}
        answer = self.ask("initialize", params)[-1]["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer


@tool(Effect.READ)
def at_length() -> str:
    """Say more than is shown."""
    return "word " * 20_000


@tool(Effect.READ)
def counts(ctx: Context) -> str:
    """Tell how far it is."""
    ctx.progress(1, 1, "")
    return "counted"


@pytest.fixture
def talk(ws, tmp_path, monkeypatch):
    """A session about a kit that asks before it writes."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    backends = []

    def make(on_roots=None, wait_for_root=False, by_client=False, **options):
        policy = replace(preset("standard"), ask=Effect.WRITE)

        def open_kit(folder, approve):
            kit = Kit(folder or ws, state_dir=tmp_path / "state", approve=approve, policy=policy, **options)
            kit.register(at_length)
            kit.register(counts)
            return kit

        how = {"wait_for_root": wait_for_root, "by_client": by_client}
        backends.append(KitBackend(open_kit, open_control=lambda: ControlServer(None, "mcp"), **how))
        return Talk(backends[-1], on_roots)

    yield make
    for one in backends:
        one.close()


WRITE = {"name": "write", "arguments": {"path": "a.txt", "content": "x"}}


def answering(action, decision):
    content = {} if decision is None else {"content": {"decision": decision}}
    return {"result": {"action": action, **content}}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_with_a_handshake(talk, version):
    assert talk().start(version)["protocolVersion"] == version


def test_another_version_gets_the_newest_one_with_a_handshake(talk):
    one = talk()
    assert one.start("2199-01-01")["protocolVersion"] == VERSIONS[-1]
    assert one.ask("initialize", {"protocolVersion": VERSIONS[0]})[-1]["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("action", "decision", "written", "asked"),
    [
        ("accept", "once", True, 2),
        ("accept", "session", True, 1),
        ("accept", "always", True, 1),
        ("accept", "deny", False, 2),
        ("accept", "whatever", False, 2),
        ("accept", None, False, 2),
        ("decline", None, False, 2),
        ("cancel", "always", False, 2),
    ],
)
def test_the_user_is_asked_through_the_client(talk, ws, action, decision, written, asked):
    one = talk()
    one.start(elicitation={})
    one.reply = lambda _message: answering(action, decision)
    for _ in range(2):
        *questions, answer = one.ask("tools/call", WRITE)
        assert answer["result"]["isError"] is not written
        assert written or "The user was asked and declined." in answer["result"]["content"][0]["text"]
    assert (ws / "a.txt").exists() is written
    questions = [message for message in one.said if message.get("method") == "elicitation/create"]
    assert len(questions) == asked
    assert questions[0]["params"] == {
        "mode": "form",
        "message": (
            "May the agent do this?\n\nwrite: needs approval\n\npath: a.txt\ncontent: x\n\n"
            '"session" and "always" cover every call of \'write\'.'
        ),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "description": "What the agent may do.",
                    "enum": ["once", "session", "always", "deny"],
                    "enumNames": [
                        "Allow it this once",
                        "Allow every call of 'write' until the server ends",
                        "Always allow every call of 'write' in this workspace",
                        "Do not allow it",
                    ],
                }
            },
            "required": ["decision"],
        },
    }


def test_where_nobody_can_be_asked_it_is_denied_with_the_reason(talk, ws):
    one = talk()
    one.start()
    (answer,) = one.ask("tools/call", WRITE)
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"] == (
        "'write' was refused: needs approval. The user was not asked, because this MCP client cannot ask its user "
        "(it does not offer elicitation). Go on without it, or tell the user what you need and why."
    )
    assert list(ws.iterdir()) == []


def test_a_client_that_refuses_to_ask_is_told_to_the_model(talk, ws):
    one = talk()
    one.start(elicitation={})
    one.reply = lambda _message: {"error": {"code": -1, "message": "not now"}}
    answer = one.ask("tools/call", WRITE)[-1]["result"]
    assert (answer["isError"], answer["content"][0]["text"]) == (
        True,
        "'write' was refused: needs approval. The user was not asked, because asking through the MCP client failed: "
        "The client refused 'elicitation/create': not now. Go on without it, or tell the user what you need and why.",
    )
    assert list(ws.iterdir()) == []


def test_a_question_ends_with_its_call(talk, ws):
    one = talk()
    one.start(elicitation={})
    asked = threading.Event()
    one.reply = lambda _message: asked.set()
    call = threading.Thread(target=one.ask, args=("tools/call", WRITE, "w"))
    call.start()
    assert asked.wait(10)
    one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "w"}})
    call.join(10)
    assert not call.is_alive()
    assert [message["id"] for message in one.said if message.get("id") == "w"] == []
    assert list(ws.iterdir()) == []


def test_a_question_that_was_answered_elsewhere_is_taken_back(ws, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    control = ControlServer(None, "mcp")
    backend = KitBackend(lambda _folder, approve: Kit(ws, approve=approve, policy="ask"), open_control=lambda: control)
    one = Talk(backend)
    one.start(elicitation={})
    call = threading.Thread(target=one.ask, args=("tools/call", WRITE, "w"))
    call.start()
    until(lambda: any(message.get("method") == "elicitation/create" for message in one.said))
    [request] = control.approvals.all()
    assert control.approvals.answer(request.id, request.digest, Refusal("not that file")) == ("applied", "")
    call.join(10)
    answer = next(message["result"] for message in one.said if message.get("id") == "w")
    assert "The user was asked and declined ('not that file'). Do not try it" in answer["content"][0]["text"]
    until(lambda: any(message.get("method") == "notifications/cancelled" for message in one.said))
    taken_back = next(one for one in one.said if one.get("method") == "notifications/cancelled")["params"]
    assert taken_back == {"requestId": "toolroll-1", "reason": "It was answered elsewhere."}
    one.send({"jsonrpc": "2.0", "id": "toolroll-1", "result": {"action": "accept"}})
    assert one.logged == [("warning", "The answer 'toolroll-1' came late: the question was answered elsewhere.")]
    assert list(ws.iterdir()) == []
    backend.close()


def test_the_client_gets_the_questions_of_several_calls_and_one_answer_settles_them(ws, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    control = ControlServer(None, "mcp")
    backend = KitBackend(lambda _folder, approve: Kit(ws, approve=approve, policy="ask"), open_control=lambda: control)
    one = Talk(backend)
    one.start(elicitation={})
    for name in "ab":
        call = {"name": "write", "arguments": {"path": name, "content": name}}
        threading.Thread(target=one.ask, args=("tools/call", call, name), daemon=True).start()
    until(lambda: sum("params" in each for each in one.said) == 2)
    asked = [each for each in one.said if "params" in each]
    assert len(control.approvals.all()) == 2
    answer = {"action": "accept", "content": {"decision": "session"}}
    one.send({"jsonrpc": "2.0", "id": asked[1]["id"], "result": answer})
    until(lambda: {"a", "b"} <= {each.get("id") for each in one.said})
    assert sorted(each.read_text() for each in ws.iterdir()) == ["a", "b"]
    backend.close()


def test_a_session_that_closes_answers_its_own_questions(talk, ws):
    one = talk()
    one.start(elicitation={})
    asked = threading.Event()
    one.reply = lambda _message: asked.set()
    call = threading.Thread(target=one.ask, args=("tools/call", WRITE))
    call.start()
    assert asked.wait(10)
    one.session.close()
    call.join(10)
    assert not call.is_alive()
    assert list(ws.iterdir()) == []


def test_a_stateless_client_is_asked_by_the_result_and_its_next_request_is_the_same_call(talk, ws):
    one = talk()

    def ask(id, path, **more):
        """The answer to a request in a thread of its own: its call may wait."""
        arguments = {"path": path, "content": "x"}
        params = {"name": "write", "arguments": arguments, "_meta": CAN, **more}
        threading.Thread(target=one.ask, args=("tools/call", params, id)).start()
        until(lambda: any(message.get("id") == id for message in one.said))
        return next(message for message in one.said if message.get("id") == id)

    def again(id, path, first, **content):
        answers = {key: {"action": "accept", "content": content} for key in first["inputRequests"]}
        return ask(id, path, requestState=first["requestState"], inputResponses=answers)

    first, other = ask("1", "a.txt")["result"], ask("2", "b.txt")["result"]
    assert (first["resultType"], one.session.pending(), list(ws.iterdir())) == ("input_required", set(), [])
    assert [question["method"] for question in first["inputRequests"].values()] == ["elicitation/create"]
    refused = again("3", "b.txt", first, decision="once")["error"]
    assert refused["message"] == "No call waits under this requestState. Begin again without it."
    assert again("4", "a.txt", first, decision="deny")["result"]["isError"] is True
    assert again("5", "a.txt", first, decision="once")["error"] == refused, "a state is for one answer"
    assert again("6", "b.txt", other, decision="once")["result"]["isError"] is False
    assert [path.name for path in ws.iterdir()] == ["b.txt"]
    ask("7", "c.txt")
    one.session.close()
    until(lambda: not [thread for thread in threading.enumerate() if thread.name.endswith("(ask)")])


def test_stateless_requests(talk):
    one = talk()
    (found,) = one.ask("server/discover", {"_meta": CAN})
    assert found["result"] == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True},
            "prompts": {"listChanged": True},
            "completions": {},
        },
        "instructions": KitBackend.instructions,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {f"{META}serverInfo": SERVER},
    }
    (listed,) = one.ask("tools/list", {"_meta": CAN})
    assert listed["result"]["tools"] == one.backend.tools()
    assert (listed["result"]["resultType"], listed["result"]["ttlMs"]) == ("complete", 0)
    (missing,) = one.ask("resources/read", {"uri": "toolroll://note/none", "_meta": CAN})
    assert missing["error"]["code"] == -32602


def test_a_stateless_client_gets_what_fits_it(talk):
    one = talk(by_client=True)
    claude = {**CAN, f"{META}clientInfo": {"name": "claude-code", "version": "2"}}
    for meta, kinds in ((CAN, ["text", "resource_link"]), (claude, ["text"]), (CAN, ["text", "resource_link"])):
        (listed,) = one.ask("tools/list", {"_meta": meta})
        assert ("call_tool" in {tool["name"] for tool in listed["result"]["tools"]}) == (meta is CAN)
        (answer,) = one.ask("tools/call", {"name": "at_length", "_meta": meta})[-1:]
        assert [part["type"] for part in answer["result"]["content"]] == kinds


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({**CAN, f"{META}protocolVersion": "2030-01-01"}, -32022),
        ({f"{META}protocolVersion": "2026-07-28"}, -32602),
        ({}, -32602),
    ],
)
def test_stateless_requests_that_do_not_say_enough(talk, meta, code):
    (answer,) = talk().ask("server/discover", {"_meta": meta})
    assert answer["error"]["code"] == code
    if code == -32022:
        assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}


def test_a_stateless_client_listens_for_what_it_names(talk, open_kit):
    one = talk()
    wanted = {"toolsListChanged": True, "promptsListChanged": False}
    (acknowledged,) = one.ask("subscriptions/listen", {"notifications": wanted, "_meta": CAN}, id="s")
    meta = {"_meta": {f"{META}subscriptionId": "s"}}
    assert acknowledged == {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": {"toolsListChanged": True}, **meta},
    }
    one.session._on_list_changed("tools")
    one.session._on_list_changed("resources")
    told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": meta}
    assert one.said[1:] == [told]
    one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}})
    one.session._on_list_changed("tools")
    assert one.said[1:] == [told]


def test_an_id_is_taken_as_long_as_its_request_is_under_way(talk):
    one = talk()
    listen = {"notifications": {"toolsListChanged": True}, "_meta": CAN}
    one.ask("subscriptions/listen", listen, id="s")
    (refused,) = one.ask("ping", id="s")
    assert refused["error"] == {"code": -32600, "message": "A request with the id 's' is under way."}
    assert one.session.pending() == set()  # nobody waits for a client that listens
    one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}})
    assert [one.ask("ping", id="s") for _ in range(2)] == [[{"jsonrpc": "2.0", "id": "s", "result": {}}]] * 2


@pytest.mark.parametrize("name", [["read"], {}, 7, None])
def test_a_tool_is_called_by_its_name(talk, name):
    one = talk()
    one.start()
    one.ask("tools/list")
    (refused,) = one.ask("tools/call", {"name": name})
    assert refused["error"] == {"code": -32602, "message": "`name` must be a string."}


def test_batches_in_the_one_version_that_has_them(talk):
    one = talk()
    one.start("2025-03-26")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    one.send([ping, {"jsonrpc": "2.0", "method": "notifications/initialized"}, 7, {**ping, "id": 2, "method": "no"}])
    answers = one.said[-1]
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in answers] == [
        (None, -32600),
        (1, None),
        (2, -32601),
    ]
    other = talk()
    other.start("2025-06-18")
    other.send([ping])
    assert other.said[-1]["error"]["code"] == -32600


def test_a_batch_waits_neither_for_what_is_only_told_nor_for_what_was_cancelled(talk):
    one = talk()
    one.start("2025-03-26", elicitation={})
    one.reply = lambda message: one.send(cancel) if message["method"] == "elicitation/create" else None
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    told = {"name": "counts", "_meta": {"progressToken": "p"}}
    calls = {1: ("tools/call", told), 2: ("tools/call", WRITE), 3: ("ping", {})}
    before = len(one.said)
    one.send([{"jsonrpc": "2.0", "id": id, "method": name, "params": asked} for id, (name, asked) in calls.items()])
    progress, asked, answers = one.said[before:]
    assert progress["params"] == {"progressToken": "p", "progress": 1, "total": 1}
    assert asked["method"] == "elicitation/create"
    assert [answer["id"] for answer in answers] == [1, 3]


def test_old_clients_get_no_links(talk):
    both = ["text", "resource_link"]
    for version, kinds in (("2025-03-26", ["text"]), ("2025-06-18", both), ("2025-11-25", both)):
        one = talk()
        one.start(version)
        answer = one.ask("tools/call", {"name": "at_length"})[-1]
        assert [part["type"] for part in answer["result"]["content"]] == kinds


def test_the_log_goes_to_those_who_ask_at_the_level_they_ask_for(talk):
    one = talk()
    one.start()
    one.session.tell("error", "before")
    assert one.ask("logging/setLevel", {"level": "warning"})[-1]["result"] == {}
    for level in ("info", "warning", "error"):
        one.session.tell(level, f"of level {level}")
    assert [message["params"] for message in one.said[2:]] == [
        {"level": level, "logger": "toolroll", "data": f"of level {level}"} for level in ("warning", "error")
    ]


def test_the_list_of_tools_is_known_once_it_was_given(talk):
    one = talk()
    one.start()
    assert one.session.listed is False
    assert "at_length" in [tool["name"] for tool in one.ask("tools/list")[-1]["result"]["tools"]]
    assert one.session.listed is True


def test_roots_are_asked_for_only_where_they_matter(talk, ws):
    places = []
    one = talk(on_roots=places.append)
    one.reply = lambda _message: {"result": {"roots": [{"uri": ws.as_uri()}, {"name": "no address"}, 7]}}
    one.start(roots={})
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.name.startswith("Thread-"):
            thread.join(50)
    assert places == [[ws.as_uri()]]
    places.clear()
    other = talk(on_roots=places.append)
    other.start()
    assert places == [None]
    assert [message["method"] for message in talk().said if "method" in message] == []


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_a_client_that_does_not_say_that_it_is_ready_is_answered_at_once(talk, ws, method, monkeypatch):
    """Without `initialized`, and without a handshake: no call waits for roots that nobody asks for."""
    monkeypatch.setattr("toolroll.mcp.kit_backend._WAIT_S", 60.0)
    places = []

    def take(uris):
        places.append(uris)
        one.backend.set_root(str(ws))

    one = talk(on_roots=take, wait_for_root=True)
    one.reply = lambda _message: {"result": {"roots": [{"uri": ws.as_uri()}]}}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}}
    if method == "tools/call":
        one.ask("initialize", hello)
    started = time.monotonic()
    assert "result" in one.ask(method, {"name": "ls", "arguments": {}})[-1]
    assert time.monotonic() - started < 40
    assert places == [[ws.as_uri()] if method == "tools/call" else None]


class Nothing:
    """A backend with next to nothing, so that what is tried is the session."""

    name, version, title, instructions = "nothing", "0", "Nothing", ""

    def tools(self, _client=None):
        return []

    def call(self, *_):
        return {"content": [], "isError": False}

    resources = templates = prompts = tools

    def read(self, _):
        return []

    def prompt(self, *_):
        return {"messages": []}

    def complete(self, *_):
        return []

    def watch(self, _):
        return lambda: None

    def close(self):
        pass


METHODS = [
    "initialize", "server/discover", "ping", "logging/setLevel", "subscriptions/listen", "tools/list", "tools/call",
    "resources/list", "resources/read", "prompts/get", "completion/complete", "notifications/cancelled",
    "notifications/initialized", "nothing/of/the/kind",
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5)
KEYS = st.sampled_from(
    ["name", "arguments", "uri", "level", "ref", "argument", "_meta", "protocolVersion", "requestId"]
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=3)
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | SCALARS,
        "id": SCALARS,
        "method": st.sampled_from(METHODS) | SCALARS,
        "params": st.dictionaries(KEYS, VALUES, max_size=4) | VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)
LINES = st.binary(max_size=60) | (MESSAGES | VALUES).map(lambda one: json.dumps(one).encode())


@settings(max_examples=40)
@given(st.lists(LINES, max_size=4))
def test_whatever_comes_is_survived(lines):
    one = Talk(Nothing())
    for line in lines:
        for part in line.split(b"\n"):
            one.session.handle(bytearray(part))
    for message in one.said:
        whole = message if isinstance(message, list) else [message]
        for answer in whole:
            assert answer["jsonrpc"] == "2.0"
            assert ("result" in answer) + ("error" in answer) + ("method" in answer) == 1
    assert one.ask("ping", id="the last")[-1] == {"jsonrpc": "2.0", "id": "the last", "result": {}}
    assert not [text for level, text in one.logged if level == "error"], one.logged


def test_a_stateless_client_is_announced_once(talk):
    backend, seen = talk().backend, []
    session = Session(backend, lambda _: None, lambda job, _long: job() or True, print, on_client=seen.append)
    for id in (1, 2):
        line = {"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": CAN}}
        session.handle(bytearray(json.dumps(line).encode()))
    assert seen == [{"capabilities": {"elicitation": {}}}]
    session.close()


def test_a_second_handshake_on_one_pipe_is_refused_and_the_session_goes_on(talk):
    one = talk()
    one.start()
    error = one.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})[-1]["error"]
    assert (error["code"], error["message"]) == (-32600, "The session has begun already.")
    assert "result" in one.ask("tools/list")[-1]


class Failing(Nothing):
    """Has a tool that raises what it is told to, and a list that is counted."""

    def __init__(self, fault=None):
        self.fault, self.lists, self.watcher, self.calls = fault, 0, None, []

    def tools(self, _client=None):
        self.lists += 1
        hints = ({}, {"annotations": {"destructiveHint": True}}, {"annotations": {"openWorldHint": True}})
        return [{"name": name, **more} for name, more in zip(("plain", "breaks", "sends"), hints, strict=True)]

    def call(self, name, arguments, peer):
        self.calls.append((name, arguments, peer.client))
        if self.fault is not None:
            raise self.fault
        return super().call()

    def watch(self, on_change):
        self.watcher = on_change
        return lambda: setattr(self, "watcher", None)


@pytest.mark.parametrize(
    ("fault", "error", "logged"),
    [
        (UnknownItemError("no tool"), {"code": -32602, "message": "no tool"}, None),
        (ToolError("IOError", "the disk"), {"code": -32603, "message": "the disk"}, "tools/call: the disk"),
        (
            ZeroDivisionError("by nothing"),
            {"code": -32603, "message": "Internal error: ZeroDivisionError."},
            "tools/call failed: ZeroDivisionError: by nothing (",
        ),
    ],
)
def test_a_fault_is_answered_and_logged(fault, error, logged):
    one = Talk(Failing(fault))
    assert one.ask("tools/call", {"name": "x"}, id=7) == [{"jsonrpc": "2.0", "id": 7, "error": error}]
    assert [(level, text.startswith(logged or "?")) for level, text in one.logged] == (
        [("error", True)] if logged else []
    )
    assert one.session.pending() == set()


def test_a_call_for_which_there_is_no_room_is_refused():
    said, jobs = [], []
    session = Session(Failing(), said.append, lambda _job, long: jobs.append(long), print)
    for number, name in enumerate((None, "plain", "breaks", "sends", "other")):
        method, params = ("tools/call", {"name": name}) if name else ("tools/list", {})
        line = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        session.handle(json.dumps(line).encode())
    assert jobs == [False, True, True, False], "what runs programs or uses the network is long"
    assert [one["error"] for one in said[1:]] == [
        {"code": -32000, "message": "Too many calls wait. Send fewer at once."}
    ] * 4
    assert session.pending() == set()


def test_what_is_under_way_is_known_and_ends_with_the_session():
    jobs, said, backend = [], [], Failing()
    session = Session(backend, said.append, lambda job, _long: jobs.append(job) or True, print)
    session.handle(b'{"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "plain"}}')
    assert (session.pending(), backend.watcher is not None) == ({"tools/call"}, True)
    session.close()
    assert backend.watcher is None
    jobs.pop()()
    assert (session.pending(), said) == (set(), []), "who has gone gets no answer"


def test_a_call_gets_its_arguments_and_the_name_of_its_client():
    one = Talk(Failing())
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}}
    one.ask("initialize", hello)
    one.ask("tools/call", {"name": "plain", "arguments": {"a": 1}})
    one.ask("tools/call", {"name": "plain", "_meta": CAN})
    assert one.backend.calls == [("plain", {"a": 1}, {"name": "me", "version": "1"}), ("plain", {}, {})]


def test_the_list_is_made_again_when_it_changed_and_for_another_client():
    one = Talk(Failing())
    assert one.session.listed is False
    one.ask("tools/list")
    one.ask("tools/list")
    assert (one.backend.lists, one.session.listed) == (1, True)
    one.backend.watcher("prompts")
    assert one.session.listed is True
    one.backend.watcher("tools")
    assert (one.session.listed, one.said[2:]) == (False, []), "without a handshake nobody is told"
    one.ask("tools/list")
    one.ask("tools/list", {"_meta": {**CAN, f"{META}clientInfo": {"name": "other"}}})
    assert one.backend.lists == 3
    told = Talk(Failing())
    told.start()
    told.backend.watcher("resources")
    assert told.said[-1] == {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}


@pytest.mark.parametrize(
    ("message", "logged"),
    [
        ({"id": "toolroll-9", "result": {}}, "Nothing was asked that 'toolroll-9' could answer."),
        ({"method": "notifications/cancelled", "params": {"requestId": [1]}}, None),
        ({"method": "notifications/cancelled", "params": {"requestId": "never"}}, None),
        ({"method": "notifications/else"}, None),
    ],
)
def test_what_is_about_nothing_changes_nothing(message, logged):
    places = []
    one = Talk(Failing(), places.append)
    one.send({"jsonrpc": "2.0", **message})
    assert (one.said, places, one.logged) == ([], [], [("warning", logged)] if logged else [])


def test_a_client_that_is_ready_or_changes_its_roots_is_asked_for_them_again():
    places = []
    one = Talk(Failing(), places.append)
    one.start()
    one.ask("tools/call", {"name": "plain"})
    assert places == [None]
    one.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    assert places == [None, None]


@pytest.mark.parametrize(
    ("answer", "uris"),
    [
        ({"roots": [{"uri": "file:///a"}, {"uri": 7}, {}, 7, {"uri": "file:///b"}]}, ["file:///a", "file:///b"]),
        ({"roots": []}, None),
        ({}, None),
        ([], None),
    ],
)
def test_the_roots_of_a_client_are_those_with_an_address(answer, uris):
    places = []
    one = Talk(Failing(), places.append)
    one.start(roots={})
    question = one.said[-1]
    assert (question["method"], places) == ("roots/list", [])
    one.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})
    assert (places, one.logged) == ([uris], [])
    one.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})
    assert (places, len(one.logged)) == ([uris], 1), "a question is answered once"


def test_what_only_one_kind_of_client_can_ask():
    one = Talk(Failing())
    assert one.ask("server/discover")[-1]["error"]["code"] == -32602
    (error,) = one.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert error["error"] == {"code": -32601, "message": "There is no method 'subscriptions/listen' in this version."}
    assert one.ask("logging/setLevel", {"level": "loud"})[-1]["error"]["message"].startswith(
        "There is no level 'loud'. There are: debug, "
    )
    assert one.ask("logging/setLevel", {"level": "debug"})[-1]["result"] == {}
    one.session.tell("debug", "x")
    assert one.said[-1]["params"]["data"] == "x"


def test_an_empty_line_stands_for_one_that_was_too_long():
    one = Talk(Failing())
    one.session.handle(b"")
    assert one.said == [
        {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32600, "message": "This message is too long and was passed over."},
        }
    ]


def test_a_list_has_no_links_to_lose_and_stays_as_it_is_for_old_clients():
    one = Talk(Failing())
    one.start("2025-03-26")
    assert [tool["name"] for tool in one.ask("tools/list")[-1]["result"]["tools"]] == ["plain", "breaks", "sends"]
    assert one.ask("prompts/list")[-1]["result"]["prompts"] == []
