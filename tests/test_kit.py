"""The kit as a program uses it."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace

import pytest

import toolroll
from tests.users import need_another_user
from tests.waiting import closed_again, descriptors, until
from toolroll import Context, Effect, Kit, Result, Token, ToolError, dialects, tool
from toolroll.dialect import Bundle, View
from toolroll.policy.rules import Policy


def test_the_public_names_are_pinned():
    assert sorted(toolroll.__all__) == [
        "CancelToken", "Completed", "Context", "Effect", "ErrorCode", "ExecOps", "Executed", "Field", "FileInfo", "FileOps", "FilePath",
        "Fleet", "Image", "Kit", "KnowledgeStore",
        "Lease",
        "Passage",
        "Policy", "Result", "Suggestion", "Token", "Tool", "ToolError", "allow_overlays", "tool",
    ]  # fmt: skip


def test_the_native_tools_are_all_there(kit):
    assert set(kit.names()) >= {
        "read", "write", "edit", "insert", "replace_lines", "ls", "stat", "delete", "move", "copy", "find", "grep",
    }  # fmt: skip


def test_a_definition_is_its_readers_own(kit, open_kit):
    wanted = open_kit().definitions()
    for one in kit.definitions():
        one["function"]["parameters"]["properties"].clear()
    assert kit.definitions() == open_kit().definitions() == wanted


def test_a_call_gives_text_data_wire_and_meta(kit, put):
    put({"a.txt": "one\n"})
    result = kit.call("read", {"path": "a.txt"})
    assert isinstance(result, Result)
    assert (result.ok, result.status, result.error, result.control) == (True, "success", None, None)
    assert (result.text, result.wire) == ("1\tone", "1\tone")
    assert result.data == {
        "path": "a.txt", "content": "one", "start": 1, "line_count": 1, "total_lines": 1, "truncated": False, "ended": True,
        "folder": False,
    }  # fmt: skip
    assert result.meta["seconds"] > 0


def test_arguments_may_be_json_text(kit, put):
    put({"a.txt": "one\n"})
    assert kit.call("read", '{"path": "a.txt"}').text == "1\tone"


def test_slips_are_mended_and_told(kit, put):
    put({"a.txt": "one\ntwo\n"})
    result = kit.call("read", {"filePath": "a.txt", "offset": "2"})
    assert (result.text, result.meta["coerced"]) == (
        "2\ttwo",
        ["filePath read as path", "offset: str read as int"],
    )


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("raed", {}, "NotFound", ["'raed'", "'read'"]),
        ("zzzzzzzz", {}, "NotFound", ["There are:", "grep"]),
        ("read", {}, "ValidationError", ["`path` is required"]),
        ("read", {"path": ""}, "ValidationError", ["`path`", "required"]),
        (
            "read",
            {"path": 5, "limit": 0},
            "ValidationError",
            ["`path` must be a string", "`limit` must be at least 1"],
        ),
        ("read", {"path": "/etc/passwd"}, "SecurityError", ["outside the workspace"]),
        ("read", "{not json", "ValidationError", ["not valid JSON"]),
        ("read", [1], "ValidationError", ["must be an object"]),
    ],
)
def test_bad_input_gets_a_clear_error(kit, name, arguments, code, words):
    result = kit.call(name, arguments)
    assert (result.ok, result.error.code) == (False, code)
    assert all(word in result.text for word in words), result.text
    assert result.text == result.error.message


def test_a_path_outside_says_what_the_workspace_is(kit, ws):
    assert str(ws) in kit.call("read", {"path": "../x"}).text


def test_the_thinking_mode_is_enforced_when_a_tool_runs(open_kit, ws):
    kit = open_kit(mode="thinking")
    assert "write" not in kit.names()
    assert "read" in kit.names()
    result = kit.call("write", {"path": "a", "content": "x"})
    assert (result.error.code, "not allowed in thinking mode" in result.text) == ("PermissionDenied", True)
    assert os.listdir(ws) == []


@pytest.mark.parametrize(("answer", "asked", "ok"), [(True, 2, True), ("session", 1, True), (False, 2, False)])
def test_the_approver_is_asked_for_what_the_policy_asks(open_kit, ws, answer, asked, ok):
    requests = []

    def approve(request):
        requests.append((request.name, dict(request.arguments)))
        return answer

    kit = open_kit(policy="ask", approve=approve)
    for name in ("a", "b"):
        assert kit.call("write", {"path": name, "content": name}).ok is ok
    assert requests == [("write", {"path": name, "content": name}) for name in ("a", "b")[:asked]]
    assert sorted(os.listdir(ws)) == (["a", "b"] if ok else [])


def test_without_an_approver_the_answer_is_no(open_kit):
    assert open_kit(policy="ask").call("write", {"path": "a", "content": ""}).error.code == "PermissionDenied"


def test_a_policy_may_deny_an_effect(open_kit):
    kit = open_kit(policy=Policy(deny=Effect.DELETE))
    assert "delete" not in kit.names()
    assert kit.call("delete", {"path": "a"}).error.code == "PermissionDenied"


def test_a_policy_may_hold_to_file_types(open_kit, put):
    put({"a.exe": "MZ", "a.txt": "ok\n", "Makefile": "all:\n"})
    kit = open_kit(policy=Policy(extensions=frozenset({".txt"})))
    assert kit.call("read", {"path": "a.txt"}).ok
    assert kit.call("read", {"path": "Makefile"}).ok
    assert kit.call("read", {"path": "a.exe"}).error.code == "SecurityError"
    assert kit.call("write", {"path": "b.exe", "content": "x"}).error.code == "SecurityError"


def test_only_some_tools(open_kit):
    assert open_kit(tools=["grep", "read"]).names() == ["grep", "read"]
    with pytest.raises(ValueError, match="no tool 'bogus'"):
        open_kit(tools=["bogus"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dialect": "klingon"}, ", ".join(dialects.names())),
        ({"mode": "dreaming"}, "code, thinking"),
        ({"policy": "lax"}, "standard"),
        ({"limits": {"nonsense": 1}}, "read_bytes"),
        ({"limits": {"concurrency": 0}}, "The limit concurrency is 0. Give a number from 1."),
        ({"limits": {"output_chars": "9"}}, "The limit output_chars is '9'. Give a number from 0."),
    ],
)
def test_bad_options_list_what_there_is(ws, options, words):
    with pytest.raises(ValueError, match=words):
        Kit(ws, **options)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [("nowhere", FileNotFoundError, "No such file or directory"), ("file", NotADirectoryError, "Not a directory")],
)
def test_a_workspace_is_a_folder_that_exists(tmp_path, name, kind, words):
    (tmp_path / "file").touch()
    threads = set(threading.enumerate())
    with pytest.raises(kind, match=f"{words}; name a folder that is there and that you may read and enter: .*{name}"):
        Kit(tmp_path / name, state_dir=tmp_path / "state")
    assert os.listdir(tmp_path) == ["file"]
    assert until(lambda: set(threading.enumerate()) <= threads)


STRANGER = """
import os, sys
from toolroll import Kit
folder = sys.argv[1]
with Kit(f"{folder}/open", state_dir=f"{folder}/state") as kit:
    kit.call("ls")
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for name in ("closed", "listed", "entered"):
    try:
        Kit(f"{folder}/{name}", state_dir=f"{folder}/state").close()
    except PermissionError as error:
        print(error.strerror, os.path.basename(error.filename))
"""


def test_a_workspace_may_be_read_and_entered():
    """As another user, who is not root: root may do it all."""
    if os.geteuid() == 0:
        need_another_user()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for name, mode in {"open": 0o755, "closed": 0o000, "listed": 0o444, "entered": 0o111}.items():
            os.mkdir(f"{folder}/{name}")
            os.chmod(f"{folder}/{name}", mode)
        env = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": f"{folder}/open"}
        words = [sys.executable, "-c", STRANGER, folder]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    why = "Permission denied; name a folder that is there and that you may read and enter"
    assert (done.stdout.splitlines(), done.stderr) == (
        [f"{why} {name}" for name in ("closed", "listed", "entered")],
        "",
    )


READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" "$1" || exit 77
exec "$0" -c 'import json, sys
from toolroll import Kit
with Kit(sys.argv[1], state_dir=sys.argv[2]) as kit:
    for name, arguments in (
        ("read", {"path": "a.txt"}),
        ("write", {"path": "b.txt", "content": "b"}),
        ("edit", {"path": "a.txt", "old": "one", "new": "two"}),
        ("delete", {"path": "a.txt"}),
        ("bash", {"command": "cat a.txt; echo x > b.txt"}),
    ):
        print(json.dumps(kit.call(name, arguments).text.splitlines()[:2]))' "$1" "$2"
"""


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare, to mount")
def test_a_workspace_on_a_disk_that_is_read_only(ws, put, tmp_path):
    put({"a.txt": "one\n"})
    words = ["unshare", "-m", "sh", "-c", READ_ONLY, sys.executable, str(ws), str(tmp_path / "state")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(f"a disk cannot be mounted here: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    whole = "Nothing can be changed on this disk; ask the user for a folder that can be written."
    assert (lines[0], done.stderr) == (["1\tone"], "")
    assert [f"Read-only file system: {path!r}. {whole}" for path in ("b.txt", "a.txt", "a.txt")] == [
        line[0] for line in lines[1:4]
    ]
    assert lines[4][0] == "one"
    assert "Read-only file system" in lines[4][1]


def test_a_home_that_cannot_be_written(ws, put, tmp_path, monkeypatch):
    """The state folder cannot be made: tools that read do without it, and the others say so."""
    put({"a.txt": "one\n"})
    (tmp_path / "home").touch()  # no folder can be made in a file, not even by root
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    with Kit(ws) as kit:
        for name, arguments in (
            ("read", {"path": "a.txt"}),
            ("ls", {}),
            ("grep", {"pattern": "one"}),
            ("find", {"pattern": "*"}),
            ("bash", {"command": "cat a.txt"}),
        ):
            assert kit.call(name, arguments).ok, name
        for name, arguments in (
            ("write", {"path": "b.txt", "content": "b"}),
            ("edit", {"path": "a.txt", "old": "one", "new": "two"}),
            ("todo_write", {"todos": [{"content": "x", "status": "pending"}]}),
        ):
            assert kit.call(name, arguments).text.startswith("toolroll cannot make its state folder"), name
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"a.txt": "one\n"}


def test_a_function_is_no_tool_yet(kit):
    with pytest.raises(TypeError, match="decorate it with @tool"):
        kit.register(len)


def test_a_tool_of_your_own(kit):
    @tool(Effect.READ)
    def count(ctx: Context, word: str, path: str = "a.txt") -> int:
        """Count a word in a file."""
        return ctx.files.read(path).text.count(word)

    kit.register(count)
    kit.call("write", {"path": "a.txt", "content": "to be or not to be"})
    result = kit.call("count", {"word": "be"})
    assert (result.text, result.data, "count" in kit.names()) == ("2", 2, True)
    with pytest.raises(ValueError, match=rf"'count' is already registered: the module {__name__} has it\."):
        kit.register(count)
    with pytest.raises(ValueError, match=r"'read' is already registered: the dialect native has it\."):
        kit.register(replace(count, name="read"))
    assert (kit.unregister("count"), kit.unregister("count")) == (True, False)
    assert not kit.call("count", {"word": "be"}).ok


def test_execute_answers_openai_tool_calls_in_order(kit, put):
    put({"a.txt": "A\n", "b.txt": "B\n"})
    calls = [
        {
            "id": f"c{name}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"path": "{name}.txt"}}'},
        }
        for name in "abz"
    ]
    messages = kit.execute(calls)
    assert [(m["role"], m["tool_call_id"]) for m in messages] == [
        ("tool", "ca"),
        ("tool", "cb"),
        ("tool", "cz"),
    ]
    assert [m["content"] for m in messages[:2]] == ["1\tA", "1\tB"]
    assert "File not found" in messages[2]["content"]
    assert kit.execute([]) == []


def test_acall_runs_beside_the_event_loop(kit, put):
    put({"a.txt": "A\n"})

    async def both():
        return await asyncio.gather(kit.acall("read", {"path": "a.txt"}), kit.acall("ls"))

    assert [result.text for result in asyncio.run(both())] == ["1\tA", "a.txt"]


@pytest.fixture
def patient(kit):
    """A tool that works until it is stopped, and tells that it was."""
    stopped = threading.Event()

    @tool
    def work(ctx: Context) -> str:
        """Work on and on."""
        try:
            for _ in range(1000):
                ctx.token.check()
                time.sleep(0.01)
        except ToolError:
            stopped.set()
            raise
        return "never"

    kit.register(work)
    return stopped


@tool
def wipe(path: str) -> str:
    """Remove a file."""
    os.remove(path)
    return "gone"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"policy": "ask"}, "PermissionDenied"),
        ({"mode": "thinking"}, "PermissionDenied"),
        ({"policy": "read-only"}, "PermissionDenied"),
        ({"policy": "ask", "approve": lambda _: True}, None),
        ({}, None),
    ],
)
def test_a_tool_that_declares_nothing_counts_as_doing_everything(open_kit, tmp_path, options, code):
    kit, victim = open_kit(**options), tmp_path / "victim"
    victim.write_text("x")
    kit.register(wipe)
    result = kit.call("wipe", {"path": str(victim)})
    assert (result.error and result.error.code, victim.exists()) == (code, bool(code))


def test_clients_are_shown_that_a_tool_which_declares_nothing_destroys(kit):
    kit.register(wipe)
    shown = next(one for one in kit.definitions("mcp", tools="all") if one["name"] == "wipe")
    assert shown["annotations"] | {"title": ""} == {
        "title": "", "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True,
    }  # fmt: skip


def test_cancelling_the_task_cancels_the_work(kit, patient):
    async def give_up():
        await asyncio.wait_for(kit.acall("work"), 0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert patient.wait(50)


def test_a_token_cancels_a_call(kit, patient):
    token = Token()
    threading.Timer(0.05, token.cancel).start()
    assert kit.call("work", token=token).error.code == "Cancelled"


def test_a_call_has_a_time_limit(open_kit, ws):
    kit = open_kit(limits={"call_seconds": 0.05})

    @tool
    def work(ctx: Context) -> str:
        """Work on and on."""
        while True:
            ctx.token.check()
            time.sleep(0.005)

    kit.register(work)
    assert kit.call("work").error.code == "TimeoutError"


def test_the_context_tells_whom_a_call_is_for(open_kit, put):
    put({"sub/a.txt": "inner\n", "a.txt": "outer\n"})
    kit = open_kit(session="s9")

    @tool
    def who(ctx: Context) -> dict:
        """Tell."""
        ctx.progress(1, 2, "half")
        return {"session": ctx.call.session, "message": ctx.call.message, "cwd": ctx.call.cwd}

    kit.register(who)
    steps = []
    result = kit.call("who", message="m3", cwd="sub", progress=lambda *step: steps.append(step))
    assert result.data == {"session": "s9", "message": "m3", "cwd": "sub"}
    assert steps == [(1, 2, "half")]
    assert kit.call("read", {"path": "a.txt"}, cwd="sub").text == "1\tinner"
    assert kit.call("read", {"path": "../a.txt"}, cwd="sub").text == "1\touter"
    assert kit.call("read", {"path": "../../x"}, cwd="sub").error.code == "SecurityError"


def test_nothing_appears_in_the_workspace_that_no_call_asked_for(kit, ws, put):
    put({"a.txt": "x\n" * 100_000})
    kit.call("read", {"path": "a.txt"})
    kit.call("ls")
    kit.call("edit", {"path": "a.txt", "old": "nowhere", "new": "y"})
    kit.call("write", {"path": "b.txt", "content": "x"})
    kit.call("write", {"path": "b.txt", "content": "y"})
    assert sorted(os.listdir(ws)) == ["a.txt", "b.txt"]


def test_what_is_cut_is_kept_and_can_be_read_on(open_kit):
    kit = open_kit(limits={"output_chars": 500})

    @tool
    def talk() -> str:
        """Talk much."""
        return "\n".join(f"word {n}" for n in range(1000))

    kit.register(talk)
    result = kit.call("talk")
    handle = result.meta["spill"]
    assert len(result.text) < 700
    assert (result.meta["truncated"], handle in result.text) == (True, True)
    assert kit.call("read", {"path": handle, "offset": 900, "limit": 1}).text.startswith("900\tword 899")
    assert kit.call("write", {"path": handle, "content": "x"}).error.code == "PermissionDenied"
    assert kit.call("delete", {"path": handle}).error.code == "PermissionDenied"
    assert kit.call("read", {"path": "spill:../../etc/passwd"}).error.code == "SecurityError"


def test_a_closed_kit_leaves_no_open_file(ws, tmp_path):
    before = descriptors()
    for _ in range(3):
        with Kit(ws, state_dir=tmp_path / "state") as kit:
            kit.call("write", {"path": "a/b.txt", "content": "x"})
            kit.call("read", {"path": "a/b.txt"})
            kit.call("write", {"path": "a/b.txt", "content": "y"})
            kit.call("read", {"path": "none/x"})
            kit.call("ls", {"path": "a"})
            kit.call("copy", {"source": "a", "target": "c", "overwrite": True})
        late = [
            kit.call("read", {"path": "a/b.txt"}),
            kit.call("memory", {"action": "add", "content": "x"}),
            kit.undo(),
        ]
        assert {(one.error.code, one.text) for one in late} == {
            ("Cancelled", "This Kit is closed. Open another one for more calls.")
        }
    assert closed_again(before)


def test_an_action_style_tool_is_registered_as_a_bundle(kit):
    @tool
    def start(port: int = 80) -> str:
        """Start it."""
        return f"started on {port}"

    @tool(Effect.WRITE)
    def stop(now: str) -> str:
        """Stop it."""
        return f"stopped {now}"

    server = Bundle("server", "Start and stop a server.", {"start": View.native(start), "stop": View.native(stop)})
    kit.register(server)
    assert kit.call("server", {"action": "start", "port": 8080}).text == "started on 8080"
    assert kit.call("server", {"action": "stop"}).error.message == "Action 'stop' also needs `now`."
    assert "server" in kit.names()
    assert kit.registry.metadata("server").description == "Start and stop a server."
    with pytest.raises(ValueError, match="Tool with name 'server' is already registered"):
        kit.register(server)
    clash = Bundle("clash", "x", {"a": View.native(start), "b": View("b", stop, {"now": "port"})})
    with pytest.raises(ValueError, match="'port' has another type in action 'b'"):
        kit.register(clash)
    assert kit.unregister("server")
    assert "server" not in kit.names()


def test_what_a_call_gets_is_the_same_for_every_call_but_what_is_its_own(kit):
    one, other = kit.context(message="m1"), kit.context(message="m2")
    fixed = ("files", "search", "journal", "commands", "servers", "structure", "repo_maps", "http", "remote")
    assert all(getattr(one, name) is getattr(other, name) for name in (*fixed, "meaning", "limits"))
    assert one.token is not other.token
    own = [(ctx.session, ctx.message, ctx.cwd) for ctx in (one, other)]
    assert own == [(kit.session, "m1", "."), (kit.session, "m2", ".")]


def test_a_call_may_begin_in_another_folder(kit, put):
    put({"sub/a.txt": "inner\n", "a.txt": "outer\n"})
    inner = kit.context(cwd="sub")
    assert inner.files.read("a.txt").text == "inner\n"
    assert [item.path for item in inner.tree.folder(".", 1, inner.token)[1]] == ["sub/a.txt"]
    assert kit.context().files.read("a.txt").text == "outer\n"


def test_a_kit_imports_the_tools_that_are_called_and_no_others(tmp_path):
    """Also when it is entered, and for the first answers that suggest a call or advise a tool."""
    (tmp_path / "long.py").write_text("x = 1\n" * 5000)
    code = f"""
import sys
from toolroll import Kit
def count(): return len([one for one in sys.modules if one.startswith("toolroll.")])
def tools(): return sorted(one.split(".", 2)[2] for one in sys.modules if one.count(".") > 2 and "toolroll.tools." in one)
kit = Kit({str(tmp_path)!r}, state_dir={str(tmp_path / "state")!r}, mcp={{}})
made = count()
with kit:
    print(count() - made, *tools())
    print(kit.call("read", {{"path": "long.py"}}).meta["next"]["name"], *tools())
    print("`ls`" in kit.call("read", {{"path": "."}}).text, *tools())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0", "read files.read", "True files.ls files.read"]


def test_the_approver_of_a_call_answers_its_questions_where_the_kit_has_none(open_kit, ws):
    asked = []

    def agree(request):
        asked.append(request.name)
        return True

    write = ("write", {"path": "a.txt", "content": "a"})
    kit = open_kit(policy="ask")
    assert kit.call(*write, approve=agree).ok
    assert asked == ["write"]
    assert "no approver is set up here" in kit.call(*write).text
    assert asyncio.run(kit.acall(*write, approve=agree)).ok
    assert not open_kit(policy="ask", approve=lambda _: False).call(*write, approve=agree).ok


def test_what_the_approver_of_a_call_raises_stops_the_call_and_changes_nothing(open_kit, ws):
    def stop(_request):
        raise LookupError("later")

    kit = open_kit(policy="ask")
    with pytest.raises(LookupError, match="later"):
        kit.call("write", {"path": "a.txt", "content": "a"}, approve=stop)
    assert not (ws / "a.txt").exists()


def test_a_workspace_below_the_home_folder_is_named_as_a_user_would(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
    (tmp_path / "lib" / "a.txt").write_text("alpha\n")
    with Kit("~/app", roots=["~/lib"], state_dir=tmp_path / "state") as kit:
        assert kit.workspace == str(tmp_path / "app")
        assert "alpha" in kit.call("read", {"path": "lib/a.txt"}).text


def test_a_call_that_fails_in_the_same_way_says_so_the_third_time(kit, put):
    put({"a.txt": "x\n"})
    wrong = {"path": "a.txt", "old": "zzz", "new": "y"}
    texts = [kit.call("edit", wrong).text for _ in range(4)]
    assert texts[0] == texts[1]
    assert texts[2] == f"{texts[0]}\n[The same call has failed 3 times in the same way: try another.]"
    assert "4 times" in texts[3]
    assert "times in" not in kit.call("edit", {**wrong, "old": "qqq"}).text
    assert all("times in" not in kit.call("read", {"path": "a.txt"}).text for _ in range(4))
