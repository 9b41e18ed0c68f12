"""`python`: a fresh interpreter on the workspace. In code mode its programs call the other tools."""

import json
import threading
import time
from dataclasses import replace

import pytest

from toolroll import Effect, tool
from toolroll.catalogue import write_entry
from toolroll.dialect import View
from toolroll.host.settings import Settings
from toolroll.kit import preset
from toolroll.text.tokens import estimate


def test_it_prints_and_imports_from_the_workspace(kit, put):
    put({"mine.py": "VALUE = 42\n"})
    result = kit.call("python", {"code": "import mine, os\nprint(mine.VALUE, os.path.basename(os.getcwd()))"})
    assert (result.ok, result.text) == (True, "42 ws")


def test_a_traceback_is_short_and_names_no_temporary_file(kit):
    result = kit.call("python", {"code": "def f(n):\n    if n:\n        f(n - 1)\n    raise ValueError('bad')\nf(30)"})
    assert result.data["exit_code"] == 1
    assert "ValueError: bad" in result.text
    assert 'File "<code>", line 3, in f' in result.text
    assert "/tmp" not in result.text
    assert len(result.text.splitlines()) < 25


@pytest.mark.parametrize("code", ["x = input('name? ')", "import sys\nfor line in sys.stdin: print(line)"])
def test_code_that_waits_for_input_is_refused(kit, code):
    result = kit.call("python", {"code": code})
    assert result.error.code == "ValidationError"
    assert "stdin" in result.text


def test_input_that_only_running_shows_gets_a_hint(kit):
    result = kit.call("python", {"code": "ask = input\nask()"})
    assert result.data["exit_code"] == 1
    assert "Programs have no standard input (stdin) here: put the values into the code" in result.text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"code": " "}, "ValidationError"),
        ({"code": "print(1)", "timeout": -5}, "ValidationError"),
        ({"code": "import time; time.sleep(60)", "timeout": 0.5}, "TimeoutError"),
    ],
)
def test_bad_input(kit, arguments, code):
    assert kit.call("python", arguments).error.code == code


def test_a_syntax_error_says_where(kit):
    result = kit.call("python", {"code": "x = 1\nif x\n    pass"})
    assert "SyntaxError" in result.text
    assert "line 2" in result.text


def test_the_workspace_s_own_environment_is_used(kit, ws):
    folder = ws / ".venv/bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text("#!/bin/sh\necho the project\\'s own\n")
    (folder / "python").chmod(0o755)
    assert kit.call("python", {"code": "print(1)"}).text == "the project's own"


def test_it_is_confined(kit, tmp_path, tier):
    outside = tmp_path / "outside"
    outside.write_text("for nobody\n")
    result = kit.call(
        "python", {"code": f"print(open({str(outside)!r}).read())\nopen({str(outside)!r}, 'a').write('x')"}
    )
    free = tier == "none"
    assert ("for nobody" in result.text, outside.read_text() != "for nobody\n") == (free, free)


@pytest.fixture
def code_kit(open_kit):
    return open_kit(code_mode=True)


def run(kit, code, **more):
    return kit.call("python", {"code": code, **more})


def test_a_program_gets_what_single_calls_show(code_kit, put):
    put({"a.py": "def f():\n    return 1\n", "b.py": "x = f()\n"})
    singles = {
        "read": {"path": "a.py"},
        "grep": {"pattern": "f\\("},
        "stat": {"path": "b.py"},
        "bash": {"command": "echo hello"},
    }
    shown = {name: code_kit.call(name, given) for name, given in singles.items()}
    calls = [f"r = tools.{name}(**{given!r}); print(json.dumps([r, str(r)]))" for name, given in singles.items()]
    result = run(code_kit, "\n".join(["import json", *calls]))
    assert result.meta["calls"] == dict.fromkeys(singles, 1)
    times = dict.fromkeys(("seconds", "start", "end"))
    for line, (name, single) in zip(result.text.splitlines(), shown.items(), strict=True):
        data, text = json.loads(line)
        assert (text, {**data, **times}) == (single.text, {**single.data, **times}), name


def test_changes_are_journalled_call_by_call(code_kit, put, ws):
    put({"a.txt": "one\n"})
    result = run(
        code_kit,
        "tools.edit('a.txt', 'one', 'two')\nopen('b.txt', 'w').write('b')\ntools.write('c.txt', 'c')\nopen('d.txt', 'w').write('d')",
    )
    assert result.data["exit_code"] == 0, result.text
    entries = [(one.tool, sorted(change.path for change in one.changes)) for one in code_kit.journal.entries()]
    assert entries == [("edit", ["a.txt"]), ("python", ["b.txt"]), ("write", ["c.txt"]), ("python", ["d.txt"])]
    assert "Changed 2 files: b.txt (new), d.txt (new)" in result.text
    assert code_kit.undo(steps=4).ok
    assert sorted(one.name for one in ws.iterdir()) == ["a.txt"]
    assert (ws / "a.txt").read_text() == "one\n"
    assert [one.name for one in code_kit.calls()] == ["edit", "write", "python", "undo"]


def test_no_call_gets_around_the_policy(open_kit, put, ws):
    put({"a.txt": "a"})
    kit = open_kit(code_mode=True)
    code = """
def attempt(tool, /, *given, **named):
    try:
        print(tool, "ran", tools[tool](*given, **named))
    except ToolError as error:
        print(tool, error.code)
attempt("bash", "git push --force")
attempt("bash", "sudo reboot")
attempt("read", "/etc/shadow")
attempt("read", "../outside.txt")
attempt("write", ".git/hooks/pre-commit", "x")
attempt("fetch", "https://example.org/?q=secret")
attempt("python", "print(1)")
attempt("call_tool", name="python", arguments={"code": "print(1)"})
attempt("call_tool", name="read", arguments={"path": "../x"})
attempt("reed", "a.txt")
attempt("read", "a.txt", 1, 2, 3, 4, 5, 6)
attempt("read", path=7)
"""
    (ws.parent / "outside.txt").write_text("for nobody")
    singles = [kit.call("bash", {"command": one}).error.code for one in ("git push --force", "sudo reboot")]
    assert run(kit, code).text.splitlines() == [
        f"bash {singles[0]}",
        f"bash {singles[1]}",
        "read SecurityError",
        "read SecurityError",
        "write SecurityError",
        "fetch PermissionDenied",
        "python Unsupported",
        "call_tool Unsupported",
        "call_tool SecurityError",
        "reed NotFound",
        "read ValidationError",
        "read ValidationError",
    ]


def test_modes_and_rules_hold_inside(open_kit, put, ws):
    put({"a.txt": "a", "keys/a.txt": "k"})
    asked = []

    def approve(request):
        asked.append((request.name, dict(request.arguments)))
        return request.name == "python" or request.arguments.get("path") == "yes.txt"

    kit = open_kit(code_mode=True, policy="ask", approve=approve)
    code = (
        "for name in ('no.txt', 'yes.txt'):\n    try: tools.write(name, 'x')\n    except ToolError as e: print(e.code)"
    )
    assert run(kit, code).text.splitlines()[0] == "PermissionDenied"
    assert [name for name, _ in asked] == ["python", "write", "write"]
    assert [(ws / name).exists() for name in ("no.txt", "yes.txt")] == [False, True]


def test_a_program_lands_with_its_calls_or_not_at_all(open_kit, put, ws):
    """Where changes are looked at before they land, calls of a program go to the same copy as what it writes itself."""
    put({"a.txt": "a"})
    answers = iter([True, False])
    kit = open_kit(code_mode=True, policy=replace(preset("standard"), commit="ask"), approve=lambda _: next(answers))
    code = "tools.write('b.txt', open('a.txt').read() + 'b'); open('c.txt', 'w').write(str(tools.read('b.txt')))"
    assert run(kit, code).ok
    assert (ws / "b.txt").read_text() == "ab"
    assert not run(kit, "tools.delete('a.txt'); open('c.txt', 'w').write('')").ok
    assert ((ws / "a.txt").exists(), bool((ws / "c.txt").read_text())) == (True, True)


def test_only_the_program_has_the_tools(code_kit, put):
    put({"script.py": "from toolroll import tools\nprint('script', tools.stat('script.py')['size'])\n"})
    code = """
import os, subprocess, sys, toolroll
assert toolroll.tools is tools and toolroll.ToolError is ToolError
import script
look = "import os; print('tools' in dir(__builtins__), sorted(k for k in os.environ if 'TOOLROLL_CALLS' in k), os.environ['PYTHONPATH'].count('fd'))"
print(subprocess.run([sys.executable, "-c", look], capture_output=True, text=True).stdout, end="", flush=True)
os.system(f'{sys.executable} -c "{look}"')
if os.fork() == 0:
    try:
        tools.stat("script.py")
    except ToolError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
fd = tools._fd
for _ in range(3):  # raw frames of processes that have the descriptor are calls like others
    if os.fork() == 0:
        os.write(fd, (33).to_bytes(4, "big") + b'{"name": "bash", "named": {"x":1}}'[:33])
        os._exit(0)
    os.wait()
"""
    lines = run(code_kit, code).text.splitlines()
    assert lines[0].startswith("script ")
    assert lines[1:3] == ["False [] 0"] * 2
    assert lines[3] == "Unsupported: Only the program itself can call tools, not a process that it started."


def test_the_end_of_its_time_ends_its_calls(code_kit):
    result = run(code_kit, "tools.bash('sleep 60', timeout=60)", timeout=0.6)
    assert result.error.code == "TimeoutError"
    assert code_kit.calls()[0].name == "bash"


def test_each_tier_lets_the_channel_through(open_kit, put, confined):
    """One place for calls is enough for a program and its call."""
    put({"a.txt": "a\n"})
    kit = open_kit(code_mode=True, limits={"concurrency": 1})
    assert run(kit, "print(len(tools.ls()['entries']))").text == "1"


def test_without_code_mode_there_is_nothing(kit):
    assert "tools." not in kit.entry("python").description
    assert kit.context().code_calls() is None


def test_its_description_holds_the_tools_as_functions(code_kit):
    shown = {one["name"]: one["description"] for one in code_kit.definitions("anthropic")}
    lines = shown["python"].splitlines()
    assert any(line.startswith("read(path: str, offset: int = 1, limit: int = 2000, ") for line in lines)
    names = {line.partition("(")[0] for line in lines if ") -> " in line}
    assert {"read", "grep", "edit", "bash"} <= names
    assert names.isdisjoint({"python", "finish", "call_tool"})
    assert lines[-1].startswith("More tools, which print(tools.find_tools(query)) describes: ")
    assert ", rename" in lines[-1]
    assert estimate(shown["python"]) < 1_300


def test_a_lazy_kit_shows_it_too(open_kit):
    shown = [one["name"] for one in open_kit(code_mode=True, tools="lazy").definitions("anthropic")]
    assert shown == ["python", "find_tools", "call_tool"]


def test_another_dialect_has_its_own_names(open_kit, put):
    put({"a.txt": "a\n"})
    kit = open_kit("claude-code", code_mode=True)
    description = next(one.description for one in kit.entries() if one.name == "python")
    assert "\nRead(file_path: str, " in description
    assert "a" in run(kit, f"print(tools.Read(file_path={kit.workspace + '/a.txt'!r}))").text


def test_a_tool_of_the_user_is_a_function_too(code_kit):
    @tool(Effect.NONE)
    def add(a: int, b: float = 0.5) -> float:
        """Add. Twice."""
        return a + b

    code_kit.register(View("a-d", add, {"b": "b"}))
    code_kit.register(add)
    assert run(code_kit, "print(tools.add(1) + tools['a-d'](a=2))").text == "4.0"
    assert write_entry(code_kit.entry("add")) == "add(a: int, b: float = 0.5) -> float  # Add."
    assert write_entry(code_kit.entry("a-d")).startswith('["a-d"](a: int')


def test_settings_turn_it_on_where_commands_are_ours(open_kit, ws):
    settings = Settings(code_mode=True)
    assert open_kit(settings=settings).entry("python").pinned
    assert not open_kit(settings=settings, commands=object()).entry("python").pinned


def test_a_program_gets_whole_data(open_kit, put):
    put({f"c{number}.json": '{"port": 1}\n' for number in range(160)})
    put({"big.txt": "".join(f"{number}\n" for number in range(1, 30_001))})
    kit = open_kit(code_mode=True)

    def run(code):
        return kit.call("python", {"code": code}).text.strip()

    assert run('print(len(tools.find("*.json")["entries"]), len(tools.grep("port")["rows"]))') == "160 160"
    assert run('print(sum(map(int, tools.read("big.txt")["content"].split())))') == "450015000"
    assert run('print(sum(map(int, tools.bash("seq 1 100000")["output"].split())))') == "5000050000"
    assert run('print(len(tools.find("*.json", limit=7)["entries"]))') == "7", "what it bounds itself stays so"
    too_much = run('try:\n    tools.bash("yes 12345678 | head -c 20000000")\nexcept ToolError as e:\n    print(e.code)')
    assert too_much == "TooLarge"


def test_what_is_too_much_at_once_is_read_from_its_handle(open_kit, put):
    put({"long.txt": "x" * 5_000 + " needle\n" + "needle\n" * 20_100})
    kit = open_kit(code_mode=True)
    rows = kit.call("grep", {"pattern": "needle"}, whole=True)
    assert (len(rows.data["rows"]), max(len(one["text"]) for one in rows.data["rows"])) == (20_101, 5_007)
    assert len(rows.text) < 60_000, "the text is for the eyes of a model"
    code = """
import re
try:
    tools.bash("yes 1234567 | head -c 20000000")
except ToolError as error:
    handle = re.search("spill:[0-9a-f]+", error.message)[0]
tools.read(handle, offset=2_000_000, limit=1)["content"]"""
    assert run(kit, code).text == "1234567"
    assert kit.call("bash", {"command": "yes | head -c 20000000"}, whole=True).error.code == "TooLarge"


def test_a_program_that_fails_names_its_calls(open_kit, ws):
    kit = open_kit(code_mode=True)
    failed = run(kit, 'tools.write("done.txt", "1")\ntools.ls()\n1 / 0')
    assert "Until then it had called: write 'done.txt', 1 call that only read." in failed.text
    assert 'File "<code>", line 3, in <module>\n    1 / 0\n' in failed.text
    assert "<tools>" not in run(kit, "tools.read('missing')").text
    late = run(kit, "tools.edit('done.txt', '1', '2')\ntools.bash('sleep 60')", timeout=1)
    assert late.error.code == "TimeoutError"
    assert "Until then it had called: edit 'done.txt', bash 'sleep 60' (" in late.text
    assert (ws / "done.txt").read_text() == "2"


AWAITED = """
import asyncio
paths = ["a.txt", "b.txt"]
async def size(path):
    return (await tools.stat(path))["size"]
tasks = [tools.read(path) for path in paths]
more = []
for path in paths:
    more.append(asyncio.create_task(tools.read(path)))
first, *_ = await asyncio.gather(*tasks)
[(await tools["stat"]("a.txt"))["size"], first["content"], len(await asyncio.gather(*more)),
 await asyncio.gather(*map(size, paths)), await asyncio.wait_for(tools.ls(), 20) == tools.ls()]"""


def test_a_program_awaits_its_calls(code_kit, put):
    put({"a.txt": "1\n", "b.txt": "22\n"})
    assert run(code_kit, AWAITED).text == "[2, '1', 2, [2, 3], True]"


@pytest.mark.parametrize("made", ["await asyncio.gather(*(tools.meet() for _ in range(4)))", "pool(4)"])
def test_calls_are_made_side_by_side(code_kit, made):
    barrier = threading.Barrier(4)

    @tool(Effect.NONE)
    def meet() -> bool:
        """Return when four calls are here."""
        return barrier.wait(30) >= 0

    code_kit.register(meet)
    code = "import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\ndef pool(n):\n    with ThreadPoolExecutor(n) as threads:\n        return list(threads.map(lambda _: tools.meet(), range(n)))\n"
    assert run(code_kit, code + made).text == "[True, True, True, True]"


def test_names_stay_for_the_next_program(code_kit, put):
    put({"a.txt": "1\n"})
    code = """
import collections as c, json
from os.path import join
LEAST = 2
def least(n):
    return max(n, LEAST)
class Pair(c.namedtuple("Pair", "a b")):
    def total(self): return least(self.a + self.b)
pairs, read, file, gone = [Pair(0, 1)], tools.read("a.txt"), open("a.txt"), 1
"""
    assert run(code_kit, code).text == "(no output)"
    assert run(
        code_kit, "del gone\nprint(pairs[0].total(), json.dumps(LEAST), join('a', 'b'), read)"
    ).text.splitlines() == ["2 2 a/b 1\t1"]
    lost = run(code_kit, "file").text
    assert "NameError" in lost
    assert "'file', which could not be kept: TextIOWrapper" in lost
    assert "NameError" in run(code_kit, "gone").text
    assert "NameError" in run(code_kit, "LEAST", fresh=True).text


def test_the_clock_stops_while_a_person_is_asked(open_kit):
    def approve(_request):
        time.sleep(1.5)
        return False

    kit = open_kit(code_mode=True, approve=approve)
    code = "try:\n    tools.bash('git push origin HEAD')\nexcept ToolError as error:\n    print(error.code)"
    assert run(kit, code, timeout=1).text == "PermissionDenied"


def test_pictures_that_are_printed_are_shown(code_kit, ws):
    (ws / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    shown = run(code_kit, "one = tools.read('a.png')\nprint(one)\nprint(one)\nother = tools.read('a.png')")
    assert [image.mime for image in shown.images] == ["image/png"]
