"""What is done around every call."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolroll import Context, Effect, FilePath, Token, ToolError, tool
from toolroll.dialect import View
from toolroll.host.approval.guard import Guard
from toolroll.policy.decision import Rule
from toolroll.policy.rules import Policy
from toolroll.steps import Authorization, ConcurrencyLimit, JournalEntryStep, PathLocks, build_chain, time_limit

WAIT = 5  # seconds that a test waits for what must happen at once


class Meeting:
    """A tool that stays inside until told to leave, and tells who is inside."""

    def __init__(self, effects):
        self.inside, self.most, self.entered = [], 0, threading.Semaphore(0)
        self.leave = threading.Event()
        lock = threading.Lock()

        def visit(path: FilePath) -> str:
            """Come in."""
            with lock:
                self.inside.append(path)
                self.most = max(self.most, len(self.inside))
            self.entered.release()
            assert self.leave.wait(WAIT)
            with lock:
                self.inside.remove(path)
            return "done"

        self.tool = tool(effects, name="visit")(visit)


def visit_all(kit, meeting, paths, expected_inside):
    """Call with each path at once; how many are inside together once `expected_inside` have come in."""
    kit.register(meeting.tool)
    with ThreadPoolExecutor(len(paths)) as pool:
        calls = [pool.submit(kit.call, "visit", {"path": path}) for path in paths]
        for _ in range(expected_inside):
            assert meeting.entered.acquire(timeout=WAIT)
        time.sleep(0.1)  # whoever else could come in would have by now
        together = len(meeting.inside)
        meeting.leave.set()
        assert all(call.result(WAIT).ok for call in calls)
    return together


@pytest.mark.parametrize(
    ("effects", "paths", "together"),
    [
        (Effect.READ, ["a", "a", "a"], 3),
        (Effect.WRITE, ["a", "b", "c"], 3),
        (Effect.WRITE, ["a", "a", "a"], 1),
        (Effect.WRITE, ["a", "./a", "b/../a"], 1),
        (Effect.WRITE, ["d", "d/e", "d/e/f"], 1),
        (Effect.WRITE, ["d/a", "d/b"], 2),
    ],
)
def test_reads_run_side_by_side_and_writes_to_one_path_queue(kit, effects, paths, together):
    assert visit_all(kit, Meeting(effects), paths, together) == together


@pytest.mark.parametrize(
    ("changed", "read", "waits"),
    [("d", "d/e", True), ("d/e", "d/e", True), ("d/e", "d", False), ("d/e", "d/f", False), ("d", "de", False)],
)
def test_a_read_waits_for_changes_of_its_path_and_above_it_but_not_below(kit, changed, read, waits):
    meeting = Meeting(Effect.WRITE)

    @tool(Effect.READ)
    def look(path: FilePath) -> str:
        """Look."""
        return f"{path} while {meeting.inside}"

    kit.register(meeting.tool)
    kit.register(look)
    with ThreadPoolExecutor(2) as pool:
        changing = pool.submit(kit.call, "visit", {"path": changed})
        assert meeting.entered.acquire(timeout=WAIT)
        looking = pool.submit(kit.call, "look", {"path": read})
        if waits:
            time.sleep(0.05)
            assert not looking.done()
        else:
            assert looking.result(WAIT).text == f"{read} while {[changed]}"
        meeting.leave.set()
        assert changing.result(WAIT).ok
        assert looking.result(WAIT).ok
    assert looking.result().text == f"{read} while {[] if waits else [changed]}"


def test_no_more_calls_run_at_once_than_the_limit(open_kit):
    kit = open_kit(limits={"concurrency": 2})
    meeting = Meeting(Effect.READ)
    assert visit_all(kit, meeting, ["a", "b", "c", "d"], 2) == 2
    assert meeting.most == 2


def test_no_update_is_lost_among_threads(kit, put, ws):
    put({"n.txt": "".join(f"line {n} = 0\n" for n in range(40))})

    def change(n):
        return kit.call("edit", {"path": "n.txt", "old": f"line {n} = 0\n", "new": f"line {n} = 1\n"})

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(change, range(40)))
    assert all(result.ok for result in results), [result.text for result in results if not result.ok][:1]
    assert (ws / "n.txt").read_text() == "".join(f"line {n} = 1\n" for n in range(40))


def test_every_call_is_recorded_and_counted(open_kit, put):
    seen = []
    began, kit = time.time(), open_kit(observe=seen.append, session="s1")
    put({"a.txt": "x\n"})
    texts = [kit.call("read", {"path": "a.txt"}, message="m1").text, kit.call("read", {"path": "none"}).text]
    kit.call("nothing")
    assert [(r.name, r.status, r.code, r.session, r.message) for r in seen] == [
        ("read", "success", None, "s1", "m1"),
        ("read", "error", "NotFound", "s1", ""),
        ("nothing", "error", "NotFound", "s1", ""),
    ]
    assert kit.calls() == seen
    assert seen[2].arguments == {}
    assert began <= seen[0].began <= seen[1].began <= time.time()
    read = kit.metrics()["read"]
    kit.call("read", {"path": "none"})  # no longer counted there
    assert (read.calls, read.errors, dict(read.codes)) == (2, 1, {"NotFound": 1})
    assert (read.chars, read.tokens) == (len("".join(texts)), -(-len("".join(texts)) // 4))


def test_a_system_error_is_raised_and_recorded(open_kit):
    kit = open_kit("koopa")

    @tool
    def broken() -> str:
        """Break."""
        raise RuntimeError("the machine broke")

    kit.register(broken)
    with pytest.raises(RuntimeError, match="the machine broke"):
        kit.call("broken")
    assert kit.calls()[-1].status == "raised"


@pytest.fixture
def tools():
    @tool(Effect.NONE)
    def plain(word: str) -> str:
        """Look at nothing."""
        return word

    @tool(Effect.READ)
    def look(path: FilePath) -> str:
        """Look at a file."""
        return path

    @tool(Effect.WRITE)
    def change(path: FilePath) -> str:
        """Change a file."""
        return path

    return {"plain": plain, "look": look, "change": change}


def asked(policy, mode="code"):
    return Authorization(Guard(policy, mode))


@pytest.mark.parametrize(
    ("step", "concerned"),
    [
        (asked(Policy()), set()),
        (asked(Policy(ask=Effect.WRITE)), {"change"}),
        (asked(Policy(), "thinking"), {"change"}),
        (asked(Policy(rules=(Rule("deny", path="secret"),))), {"look", "change"}),
        (PathLocks(), {"look", "change"}),
        (JournalEntryStep, {"change"}),
        (ConcurrencyLimit(1), {"plain", "look", "change"}),
        (time_limit, {"plain", "look", "change"}),
    ],
)
def test_a_step_lies_only_around_the_tools_that_it_concerns(kit, tools, step, concerned):
    step = JournalEntryStep(kit.journal) if step is JournalEntryStep else step
    assert {name for name, one in tools.items() if build_chain([step], View.native(one)) != one.run} == concerned


def test_steps_lie_around_each_other_in_order(kit, tools):
    said = []

    def step(name):
        def around(_view, proceed):
            def said_so(ctx, arguments):
                said.append(name)
                return proceed(ctx, arguments)

            return said_so

        return around

    proceed = build_chain([step("outer"), step("inner")], View.native(tools["plain"]))
    assert (proceed(kit.context(), {"word": "x"}), said) == ("x", ["outer", "inner"])


@pytest.mark.parametrize(("limits", "second"), [({"concurrency": 1}, "b"), ({}, "a")])
def test_a_call_that_waits_its_turn_can_be_cancelled(open_kit, limits, second):
    kit = open_kit(limits=limits)
    meeting, token = Meeting(Effect.WRITE), Token()
    kit.register(meeting.tool)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kit.call, "visit", {"path": "a"})
        assert meeting.entered.acquire(timeout=WAIT)
        waiting = pool.submit(kit.call, "visit", {"path": second}, token=token)
        time.sleep(0.02)
        assert not waiting.done()
        token.cancel()
        assert waiting.result(WAIT).error.code == "Cancelled"
        meeting.leave.set()
        assert first.result(WAIT).ok
        assert kit.call("visit", {"path": second}).ok  # it has left nothing taken


def test_a_place_is_given_back_by_a_call_that_fails(open_kit):
    kit = open_kit(limits={"concurrency": 1, "call_seconds": WAIT})

    @tool(Effect.WRITE)
    def fail(path: FilePath) -> str:
        """Fail."""
        raise ToolError("Conflict", path)

    kit.register(fail)
    assert [kit.call("fail", {"path": path}).text for path in "abc"] == ["a", "b", "c"]


@pytest.mark.parametrize(("call_seconds", "timeout", "given"), [(600, 3000, 3060), (600, 20, 600), (30, 3000, 30)])
def test_a_longer_timeout_lengthens_its_call(open_kit, call_seconds, timeout, given):
    @tool
    def left(ctx: Context, timeout: float) -> float:
        """How long the call may take."""
        return ctx.token.remaining()

    kit = open_kit(limits={"call_seconds": call_seconds})
    kit.register(left)
    assert kit.call("left", {"timeout": timeout}).data == pytest.approx(given, abs=5)


def test_hooks_see_refuse_and_change_every_call(open_kit, put, ws):
    put({"a.txt": "a\n"})
    kit, seen = open_kit(code_mode=True), []

    @kit.before
    def check(call):
        seen.append((call.name, dict(call.arguments)))
        if call.name == "delete":
            return "Nothing is deleted here."
        call.arguments.clear()  # a copy
        return {"path": "b.txt", "content": "changed"} if call.name == "write" else None

    @kit.before
    def sees_what_was_changed(call):
        assert call.name != "write" or call.arguments["content"] == "changed"

    @kit.after
    def look(call, result):
        seen.append((call.name, result.status))
        return "Looked at." if call.name == "stat" else None

    assert kit.call("delete", {"path": "a.txt"}).text == "A hook refused 'delete': Nothing is deleted here."
    assert kit.call("call_tool", {"name": "delete", "arguments": {"path": "a.txt"}}).error.code == "PermissionDenied"
    assert kit.call("write", {"path": "x.txt", "content": "x"}).ok
    assert kit.call("stat", {"path": "a.txt"}).text.endswith("\nLooked at.")
    kit.call("python", {"code": "try: tools.delete('a.txt')\nexcept ToolError as e: print(e)"})
    with kit.fork() as fork:
        assert fork.call("delete", {"path": "a.txt"}).error.code == "PermissionDenied"
    assert sorted(one.name for one in ws.iterdir()) == ["a.txt", "b.txt"]
    names = [name for name, _ in seen]
    assert names == [
        *["delete"] * 4,
        *["write"] * 2,
        *["stat"] * 2,
        "python",
        *["delete"] * 2,
        "python",
        *["delete"] * 2,
    ]


def test_hooks_see_the_calls_of_programs(kit, ws):
    refused = []
    kit.before(lambda call: "no" if call.name in refused else None)
    kit.after(lambda call, result: seen.append((call.name, result.status)))
    seen = []
    kit.write_bytes("a", b"1")
    refused.append("read_bytes")
    with pytest.raises(ToolError, match="A hook refused 'read_bytes': no"):
        kit.read_bytes("a")
    kit.before(lambda _: {"path": "b"})
    with pytest.raises(ToolError, match="cannot change the arguments of 'write_bytes'"):
        kit.write_bytes("a", b"2")
    assert seen == [("write_bytes", "success"), ("read_bytes", "error"), ("write_bytes", "error")]
    assert (ws / "a").read_bytes() == b"1"


def test_a_call_has_its_result_where_a_hook_after_it_raises(kit, ws, capsys):
    seen = []

    @kit.after
    def broken(call, result):
        seen.append((call.name, result.status))
        raise ValueError("boom")

    kit.after(lambda *_: 7)
    kit.after(lambda *_: "The next one.")
    result = kit.call("write", {"path": "a", "content": "x"})
    assert (result.ok, (ws / "a").read_text()) == (True, "x")
    first, second, last = result.text.splitlines()[-3:]
    assert first.endswith("broken' failed: ValueError: boom. The result above is valid; tell the user.]")
    assert "TypeError: it returned int; return a text or None." in second
    assert last == "The next one."
    kit.write_bytes("b", b"y")
    with pytest.raises(ToolError, match="missing"):
        kit.read_bytes("missing")
    assert seen == [("write", "success"), ("write_bytes", "success"), ("read_bytes", "error")]
    assert [(one.name, one.status) for one in kit.calls()] == seen
    assert "ValueError: boom" in capsys.readouterr().err


def test_changed_arguments_are_checked_again(kit, ws):
    kit.before(lambda call: {"path": "../x", "content": "x"} if call.name == "write" else {"path": 7})
    assert kit.call("write", {"path": "a", "content": "x"}).error.code == "SecurityError"
    assert kit.call("stat", {"path": "a"}).error.code == "ValidationError"
    assert list(ws.iterdir()) == []
