"""A kit as a backend: what can be read, completed and filled in, and where the kit works."""

import shutil
import threading

import pytest

from tests.mcp.pipes import running, until
from toolroll import Effect, Kit, Policy, Token, ToolError, tool
from toolroll.control.server import ControlServer
from toolroll.mcp.backend import UnknownItemError
from toolroll.mcp.kit_backend import KitBackend, list_tools


class Peer:
    """A client that cannot be asked."""

    def __init__(self, client="anyone", **meta):
        self.token = Token()
        self.meta = meta
        self.client = {"name": client}

    def can(self, _capability):
        return False

    def progress(self, *_step):
        pass


@tool(Effect.READ)
def at_length() -> str:
    """Say more than is shown."""
    return "word " * 20_000


@pytest.fixture
def opened():
    return []


@pytest.fixture
def backend(ws, tmp_path, opened):
    def open_kit(folder, approve):
        kit = Kit(folder or ws, state_dir=tmp_path / "state", approve=approve)
        kit.register(at_length)
        opened.append(kit)
        return kit

    one = KitBackend(open_kit)
    yield one
    one.close()


def names(listed):
    return [one["name"] for one in listed]


def test_a_client_is_shown_what_fits_it(ws, tmp_path):
    backend = KitBackend(lambda _folder, _approve: Kit(ws, state_dir=tmp_path / "state"), by_client=True)
    plain = backend.tools({"name": "anyone"})
    assert {"find_tools", "call_tool", "call_read_tool"} <= set(names(plain))
    assert "finish" not in names(plain)
    assert not any("_meta" in one for one in plain)
    deferring = {one["name"]: one for one in backend.tools({"name": "claude-code", "version": "2"})}
    assert "call_tool" not in deferring
    assert {"symbols", "undo"} <= deferring.keys()
    loaded = {name for name, one in deferring.items() if "anthropic/alwaysLoad" in one["_meta"]}
    assert loaded == set(names(plain)) - {"find_tools", "call_tool", "call_read_tool"}
    hints = {one["name"]: one["annotations"]["readOnlyHint"] for one in plain}
    assert (hints["call_read_tool"], hints["call_tool"]) == (True, False)
    assert all(one["title"] for one in plain)
    backend.close()


def test_the_tool_for_our_own_agent_is_only_shown_if_it_is_named(ws, tmp_path):
    for tools, shown in (("all", False), ("core", False), (["read", "finish"], True)):
        with Kit(ws, state_dir=tmp_path / "state", tools=tools) as kit:
            assert any("finish" in names(one) for one in list_tools(kit).values()) == shown


def test_a_model_gets_one_answer(ws, tmp_path, put):
    put({"a.txt": "one\n", "a.png": b"\x89PNG\r\n\x1a\n" + b"0" * 20})

    def open_kit(_folder, _approve):
        return Kit(ws, state_dir=tmp_path / "state")

    text = "1\tone"
    plain, structured = KitBackend(open_kit), KitBackend(open_kit, structured=True)
    assert plain.call("read", {"path": "a.txt"}, Peer()) == {
        "content": [{"type": "text", "text": text}],
        "isError": False,
    }
    found = structured.call("read", {"path": "a.txt"}, Peer())["structuredContent"]
    assert (found["answer"], found["content"]) == (text, "one")
    assert "structuredContent" not in structured.call("read", {"path": "a.png"}, Peer())
    plain.close()
    structured.close()


def test_what_one_model_has_read_is_sent_to_the_others_of_a_client_that_has_several(ws, tmp_path, put):
    put({"a.txt": "a line of text\n" * 40})
    backend = KitBackend(lambda _folder, _approve: Kit(ws, state_dir=tmp_path / "state"), one_client=True)

    def read(client):
        return backend.call("read", {"path": "a.txt"}, Peer(client))["content"][0]["text"]

    whole = read("codex-mcp-client")
    assert read("codex-mcp-client").startswith("[Unchanged since it was last sent: 'a.txt'")
    for client in ("claude-code", "opencode", "gemini-cli-mcp-client", "qwen-cli-mcp-client", "copilot-cli", ""):
        assert [read(client), read(client)] == [whole, whole]
    backend.close()


@pytest.mark.parametrize("client", ["gemini-cli-mcp-client", "unknown"])
def test_parameters_that_a_client_adds_for_itself_are_taken(ws, tmp_path, put, client):
    put({"a.txt": "one\n"})
    backend = KitBackend(lambda _folder, _approve: Kit(ws, state_dir=tmp_path / "state"), by_client=True)
    for name, arguments in (("read", {"path": "a.txt"}), ("ls", {}), ("bash", {"command": "true"})):
        answer = backend.call(name, {**arguments, "wait_for_previous": True}, Peer(client))
        assert not answer["isError"], answer
    assert "no parameter 'wait'" in str(backend.call("ls", {"wait": True}, Peer(client)))
    backend.close()


@pytest.mark.parametrize(
    ("client", "most"), [("copilot-cli", 20_000), ("gemini-cli-mcp-client", 40_000), ("claude-code", 100_000)]
)
def test_a_result_is_shorter_than_what_the_client_cuts(ws, tmp_path, put, client, most):
    put({"long.txt": "".join(f"{number} of many lines\n" for number in range(9000))})
    backend = KitBackend(lambda _folder, _approve: Kit(ws, state_dir=tmp_path / "state"), by_client=True)
    for name, arguments in (
        ("read", {"path": "long.txt", "limit": 9000}),
        ("bash", {"command": "cat long.txt; exit 3"}),
    ):
        text = backend.call(name, arguments, Peer(client))["content"][0]["text"]
        assert len(text) < most
    assert "8999 of many lines\nExit code: 3\n" in text
    backend.close()


def test_a_hint_names_a_call_that_the_client_can_make(ws, tmp_path, put):
    put({"a.py": "def f(): ...\n"})
    backend = KitBackend(lambda _folder, _approve: Kit(ws, state_dir=tmp_path / "state"), by_client=True)

    def hint(client):
        return backend.call("repo_map", {"path": "a.py"}, Peer(client))["content"][0]["text"]

    assert "use `outline` for" in hint("claude-code")
    assert "use `call_tool` of `outline` for" in hint("anyone")
    backend.close()


def test_a_dialect_has_a_shape_of_its_own(ws, tmp_path, put):
    put({"a.txt": "one\n"})
    backend = KitBackend(lambda _folder, _approve: Kit(ws, "mcp-filesystem", state_dir=tmp_path / "state"))
    assert all(one["outputSchema"] for one in backend.tools())
    assert backend.call("read_text_file", {"path": "a.txt"}, Peer())["structuredContent"] == {"content": "one\n"}
    backend.close()


def test_the_kit_is_opened_once_and_when_it_is_needed(backend, opened):
    assert backend.prompts()
    assert backend.templates()
    assert opened == []
    threads = [threading.Thread(target=backend.call, args=("ls", {}, Peer())) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)
    assert len(opened) == 1


class Store:
    """A list of an earlier run, and what is done with it."""

    def __init__(self, tools):
        self.tools, self.loads, self.saved = tools, 0, []

    def load(self):
        self.loads += 1
        return self.tools

    def save(self, tools):
        self.saved.append(tools)

    def fits(self, _kit):
        return False


@pytest.mark.parametrize("old", [None, {"": [{"name": "old"}]}], ids=["no list", "an old list"])
def test_the_list_of_an_earlier_run_is_given_until_the_kit_is_open(ws, tmp_path, old):
    store, told, kits = Store(old), [], []

    def open_kit(folder, approve):
        kits.append(Kit(folder or ws, state_dir=tmp_path / "state", approve=approve))
        return kits[-1]

    backend = KitBackend(open_kit, tool_list=store)
    backend.watch(told.append)
    first = backend.tools()
    assert len(kits) == (old is None)
    assert backend.tools() == first
    backend.open_ahead()
    now = list_tools(kits[0])[""]
    assert (first, backend.tools()) == (old[""] if old else now, now)
    [saved] = store.saved
    assert (store.loads, saved[""], told) == (1, now, [] if old is None else ["tools"])
    backend.close()


def test_a_prompt_is_filled_with_what_it_is_given(backend):
    names = [one["name"] for one in backend.prompts()]
    assert "fix-tests" in names
    (message,) = backend.prompt("fix-tests", {"target": "tests/x"})["messages"]
    assert "Make the tests of tests/x pass." in message["content"]["text"]


def test_a_tool_that_there_is_not(backend):
    with pytest.raises(UnknownItemError, match=r"There is no tool 'nope'. There are: "):
        backend.call("nope", {}, Peer())


def test_outputs_and_notes_can_be_read_by_their_addresses(backend, ws):
    assert backend.resources() == []
    link = backend.call("at_length", {}, Peer())["content"][1]
    backend.call("note", {"action": "create", "title": "Über alles", "content": "text"}, Peer())
    output, note = backend.resources()
    assert link == {"type": "resource_link", **output}
    assert (output["title"], output["mimeType"]) == ("Whole output of at_length", "text/plain")
    assert note == {
        "uri": "toolroll://note/%C3%BCber-alles",
        "name": "über-alles",
        "title": "Über alles",
        "mimeType": "text/markdown",
    }
    assert backend.read(output["uri"]) == [{"uri": output["uri"], "mimeType": "text/plain", "text": "word " * 20_000}]
    (text,) = backend.read(note["uri"])
    assert text["text"] == (ws / ".toolroll" / "notes" / f"{note['name']}.md").read_text()


def test_a_cut_output_fits_the_client(backend):
    command = {"command": "seq 1 20000"}
    known, other = (backend.call("at_length", {}, Peer(name))["content"][0]["text"] for name in ("toolroll", ""))
    assert len(other) < 20_000 < len(known)
    whole, _link = backend.call("bash", command, Peer("toolroll"))["content"]
    (same,) = backend.call("bash", command, Peer("codex-mcp-client"))["content"]
    (short,) = backend.call("bash", command, Peer("opencode"))["content"]
    assert len(same["text"]) == len(whole["text"])
    lines = short["text"].split("\n")
    assert (len(lines), lines[999], lines[-2]) == (2000, "1000", "20000")
    assert lines[1000] == "[Output truncated...] The middle is left out."
    assert lines[-1].startswith("[Cut. The whole output is kept: `read` or `grep` 'spill:")


@pytest.mark.parametrize(
    "uri",
    [
        "toolroll://note/none",
        "toolroll://note/..%2F..%2Fsecret",
        "toolroll://note/",
        "toolroll://output/none",
        "toolroll://output/..%2F..%2Fgrants%2Fgrants.json",
        "toolroll://output/%2Fetc%2Fpasswd",
        "toolroll://file/a.txt",
        "file:///etc/passwd",
        "",
    ],
)
def test_nothing_else_can_be_read(backend, put, uri):
    put({"secret.md": "secret", "a.txt": "a"})
    with pytest.raises(UnknownItemError):
        backend.read(uri)


def test_documents_can_be_read_by_their_addresses(backend):
    backend.call("rag", {"action": "add_text", "title": "Soup of the day", "text": "Lentils."}, Peer())
    (document,) = backend.resources()
    assert document == {
        "uri": "toolroll://document/text/Soup%20of%20the%20day",
        "name": "Soup of the day",
        "title": "Soup of the day (markdown)",
        "mimeType": "text/plain",
    }
    assert [one["text"] for one in backend.read(document["uri"])] == ["Lentils."]
    with pytest.raises(UnknownItemError):
        backend.read("toolroll://document/text/Bread")


def test_completion_of_paths_handles_and_notes(backend, put):
    put({"tests/a_test.py": "", "tests/b_test.py": "", "top.py": ""})
    backend.call("note", {"action": "create", "title": "Plan", "content": "x"}, Peer())
    prompt = {"type": "ref/prompt", "name": "fix-tests"}

    def paths(typed):
        return backend.complete(prompt, {"name": "target", "value": typed})

    assert (paths("t"), paths("a")) == (["tests/", "top.py"], [])  # not the files of folders below
    assert paths("tests/a") == ["tests/a_test.py"]
    assert (paths("none/x"), paths("../")) == ([], [])
    assert backend.complete(prompt, {"name": "other", "value": ""}) == []
    note = {"type": "ref/resource", "uri": "toolroll://note/{id}"}
    assert backend.complete(note, {"name": "id", "value": "p"}) == ["plan"]
    assert backend.complete(note, {"name": "id", "value": "q"}) == []
    for ref in ({"type": "ref/other"}, {}, {"type": "ref/prompt", "name": "none"}):
        with pytest.raises(UnknownItemError):
            backend.complete(ref, {"name": "x", "value": ""})


def test_it_moves_where_the_client_works_and_calls_go_on_where_they_were(backend, opened, tmp_path, put):
    put({"a.txt": "first\n"})
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("second\n")
    told = []
    stop = backend.watch(told.append)
    answers = []
    command = {"command": "while [ ! -e go ]; do sleep 0.02; done; cat a.txt"}
    call = threading.Thread(target=lambda: answers.append(backend.call("bash", command, Peer())))
    call.start()
    assert until(lambda: running("sleep") or opened)
    backend.set_root(str(other))
    assert "second" in backend.call("read", {"path": "a.txt"}, Peer())["content"][0]["text"]
    put({"go": ""})
    call.join(20)
    assert answers[0]["content"][0]["text"].splitlines()[0] == "first"
    backend.set_root(None)
    assert "second" in backend.call("read", {"path": "a.txt"}, Peer())["content"][0]["text"]
    assert (len(opened), told) == (2, ["resources"])
    stop()


def test_rooted_it_waits_to_be_told_where(ws, tmp_path, put):
    put({"a.txt": "here\n"})
    folders = []

    def open_kit(folder, approve):
        folders.append(folder)
        return Kit(folder or ws, state_dir=tmp_path / "state", approve=approve)

    backend = KitBackend(open_kit, wait_for_root=True)
    call = threading.Thread(target=backend.call, args=("ls", {}, Peer()))
    call.start()
    call.join(0.2)
    assert (call.is_alive(), folders) == (True, [])
    backend.set_root(str(ws))
    call.join(20)
    assert folders == [str(ws)]
    backend.close()


def test_a_workspace_that_is_refused_still_has_tools_and_each_call_says_why(tmp_path):
    def open_kit(folder, approve):
        return Kit(folder or "/", state_dir=tmp_path / "state", approve=approve)

    backend = KitBackend(open_kit)
    assert "read" in [one["name"] for one in backend.tools()]
    answer = backend.call("read", {"path": "a.txt"}, Peer())
    assert answer["isError"] is True
    assert "is the whole machine: name a folder for the work" in answer["content"][0]["text"]
    backend.close()


def test_closing_ends_what_runs(backend):
    answers = []
    call = threading.Thread(target=lambda: answers.append(backend.call("bash", {"command": "sleep 96.531"}, Peer())))
    call.start()
    assert until(lambda: running("96.531"))
    backend.close()
    call.join(10)
    assert running("96.531") == []
    assert answers[0]["isError"] is True
    with pytest.raises(ToolError, match="ended"):
        backend.call("ls", {}, Peer())


def test_an_end_while_the_kit_waits_to_be_opened_is_no_error(ws, tmp_path):
    """A client that lists the tools and goes: `open_ahead` still waits for its roots then."""
    backend = KitBackend(lambda folder, _approve: Kit(folder or ws, state_dir=tmp_path / "state"), wait_for_root=True)
    raised = []

    def warm():
        try:
            backend.open_ahead()
        except ToolError as error:
            raised.append(error.message)

    thread = threading.Thread(target=warm)
    thread.start()
    backend.close()
    thread.join(10)
    assert (thread.is_alive(), raised) == (False, [])
    with pytest.raises(ToolError, match="The server has ended"):
        backend.resources()


def test_a_workspace_that_cannot_be_opened_is_an_error_at_once(tmp_path):
    backend = KitBackend(lambda _folder, _approve: Kit(tmp_path / "nowhere", state_dir=tmp_path / "state"))
    with pytest.raises(ToolError, match="The workspace cannot be opened"):
        backend.open_ahead()
    backend.close()


def test_a_client_can_give_the_conversation(backend):
    turns = [{"role": "user", "content": "Paint the shed green."}, {"role": "system", "content": "shed"}, 3, {}]
    backend.call("ls", {}, Peer(**{"toolroll/turns": turns}))
    backend.call("ls", {}, Peer(**{"toolroll/turns": [*turns, {"role": "assistant", "content": "The shed is done."}]}))
    backend.call("ls", {}, Peer(**{"toolroll/turns": "shed"}))
    found = backend.call("history", {"query": "shed", "limit": 9}, Peer())["content"][0]["text"]
    assert (found.count("said by assistant"), found.count("said by user")) == (1, 1)


def test_what_the_client_cannot_ask_waits_for_the_command(ws, tmp_path, monkeypatch):
    commands = []
    control = ControlServer(None, "mcp")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))

    def open_kit(folder, approve):
        return Kit(folder or ws, state_dir=tmp_path / "state", approve=approve, policy="ask")

    backend = KitBackend(open_kit, on_waiting=commands.append, open_control=lambda: control)
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(backend.call("write", {"path": "a.txt", "content": "x"}, Peer()))
    )
    thread.start()
    until(lambda: commands)
    [request] = control.approvals.all()
    assert request.diff == "a.txt\n@@ -1,0 +1,1 @@\n+x"
    assert commands == [f"toolroll approve -C {ws} {request.id} once"]
    assert not (ws / "a.txt").exists()
    assert control.approvals.answer(request.id, request.digest, "once") == ("applied", "")
    thread.join(10)
    backend.close()
    assert (answers[0]["isError"], (ws / "a.txt").read_text()) == (False, "x")


def test_one_client_is_not_sent_what_it_was_shown(ws, tmp_path, put):
    put({"a.txt": "line\n" * 200})

    def open_kit(_folder, _approve):
        return Kit(ws, state_dir=tmp_path / "state")

    backend = KitBackend(open_kit, one_client=True)
    codex = Peer("codex-mcp-client")
    texts = [backend.call("read", {"path": "a.txt"}, codex)["content"][0]["text"] for _ in range(3)]
    assert "Ask once more" in texts[1]
    assert texts[2] == texts[0]
    backend.close()


class AskedPeer(Peer):
    """A client whose user declines everything."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def can(self, capability):
        return capability == "elicitation"

    def request(self, _method, params, **_options):
        self.asked.append(params["message"].splitlines()[2])
        return {"action": "decline"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_the_client_is_asked_about_a_host_that_a_command_wants_while_its_call_waits(ws, tmp_path, bubblewrap):
    policy = Policy(network="one.example.com", sandbox=bubblewrap.tier)

    def open_kit(_folder, approve):
        return Kit(ws, state_dir=tmp_path / "state", policy=policy, approve=approve)

    backend, peer = KitBackend(open_kit), AskedPeer()
    answer = backend.call("bash", {"command": "curl -s https://two.example.com/"}, peer)
    backend.close()
    assert peer.asked == ["network: a command wants to reach two.example.com"]
    assert "Commands may not reach two.example.com." in answer["content"][0]["text"]


def test_the_client_of_a_program_is_asked_about_its_calls(ws, tmp_path):
    """In code mode calls come from another thread, and another client may wait for a call of its own."""

    def open_kit(_folder, approve):
        return Kit(ws, state_dir=tmp_path / "state", code_mode=True, approve=approve)

    backend, peer, other = KitBackend(open_kit), AskedPeer(), AskedPeer()
    backend._calling.append(other)
    backend.call("python", {"code": "tools.fetch('https://example.org/')"}, peer)
    backend.close()
    assert (len(peer.asked), other.asked) == (1, [])


def test_live_calls_show_what_the_client_was_sent(ws, tmp_path, put, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    put({"a.txt": "".join(f"line {number}\n" for number in range(200))})
    control = ControlServer(None, "mcp")
    backend = KitBackend(lambda _folder, _approve: Kit(ws), one_client=True, open_control=lambda: control)
    sent = [backend.call("read", {"path": "a.txt"}, Peer("codex-mcp-client")) for _ in range(2)]
    assert [control.calls.text_of(seq)["text"] for seq in (1, 2)] == [one["content"][0]["text"] for one in sent]
    [second, first], _ = control.calls.page(None, 2, None)
    assert (first["client"], control.hands.client, second["tokens"] < first["tokens"]) == (
        *["codex-mcp-client"] * 2,
        True,
    )
    backend.close()
