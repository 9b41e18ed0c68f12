"""Measure Python code."""

import shutil
import sys

import pytest

from toolroll.dialect import Dialect, View
from toolroll.tools.dev.profile import profile

ONLY = Dialect("profile", "Only profile.", entries=(View.native(profile),))
SLOW = "def hot():\n    return sum(i * i for i in range(20000))\n\n\ndef cold():\n    pass\n\n\nhot()\ncold()\nprint('done')\n"


@pytest.fixture
def kit(open_kit):
    return open_kit(ONLY)


def test_the_functions_of_a_file(kit, put, ws):
    put({"pkg/slow.py": SLOW})
    result = kit.call("profile", {"action": "hotspots", "path": "pkg/slow.py"})
    rows = {row["function"]: row for row in result.data["rows"]}
    assert next(iter(rows)) == "<module>"
    assert {name: (row["file"], row["line"], row["calls"]) for name, row in rows.items()} == {
        "<module>": ("pkg/slow.py", 1, 1),
        "hot": ("pkg/slow.py", 1, 1),
        "<genexpr>": ("pkg/slow.py", 2, 20001),
        "cold": ("pkg/slow.py", 5, 1),
        "<built-in method builtins.sum>": ("", 0, 1),
        "<built-in method builtins.print>": ("", 0, 1),
    }
    assert 0 < rows["hot"]["own"] <= rows["hot"]["total"] <= rows["<module>"]["total"] <= result.data["seconds"]
    assert "pkg/slow.py:1 hot" in result.text
    assert [path.name for path in ws.rglob("*")] == ["pkg", "slow.py"]


def test_only_so_many_rows(kit, put):
    put({"slow.py": SLOW})
    result = kit.call("profile", {"action": "hotspots", "path": "slow.py", "top": 2})
    assert (len(result.data["rows"]), result.data["functions"]) == (2, 6)


def test_modules_beside_the_file_and_in_the_workspace_are_found(kit, put):
    put({"a/near.py": "x = 1\n", "far.py": "x = 2\n", "a/main.py": "import near, far\nassert __name__ == '__main__'\n"})
    assert kit.call("profile", {"action": "hotspots", "path": "a/main.py"}).ok


def test_a_library_does_not_push_out_the_code_itself(kit, put):
    loop = "def mine():\n    for _ in range(20000):\n        json.loads('[1]')\n\n\nmine()\n"
    put({"a.py": f"import json, argparse, dataclasses, typing\n\n\n{loop}"})
    result = kit.call("profile", {"action": "hotspots", "path": "a.py", "top": 5})
    assert "a.py:4 mine" in result.text


def test_the_time_of_a_statement(kit, put):
    put({"lib.py": "def f(n):\n    return list(range(n))\n"})
    arguments = {
        "action": "time",
        "code": "f(size)",
        "setup": "from lib import f\nsize = 100",
        "number": 50,
        "repeat": 4,
    }
    result = kit.call("profile", arguments)
    assert (result.data["number"], len(result.data["runs"])) == (50, 4)
    assert 0 < result.data["best"] <= result.data["median"] <= result.data["worst"] < 1
    assert "4 runs of 50 loops" in result.text


def test_the_number_of_loops_is_chosen(kit):
    result = kit.call("profile", {"action": "time", "code": "sum(range(5000))", "repeat": 1})
    assert result.data["number"] > 10
    assert result.data["best"] * result.data["number"] > 0.01


def test_memory_by_line(kit):
    code = "held = [bytes(1000) for _ in range(1000)]\ngone = bytes(5_000_000)\ndel gone\n"
    result = kit.call("profile", {"action": "memory", "code": code, "top": 1})
    assert result.data["peak"] > 6_000_000
    assert 1_000_000 < result.data["held"] < 2_000_000
    [row] = result.data["rows"]
    assert (row["file"], row["line"], row["text"]) == ("<code>", 1, "held = [bytes(1000) for _ in range(1000)]")
    assert "MiB" in result.text


FAILS = "def inner():\n    raise ValueError('no luck')\n\n\ninner()\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"action": "hotspots", "path": "slwo.py"}, "NotFound", ["slow.py"]),
        ({"action": "hotspots", "path": "../outside.py"}, "SecurityError", []),
        ({"action": "hotspots", "code": FAILS}, "ExecutionError", ["ValueError: no luck", "line 2, in inner"]),
        ({"action": "memory", "code": FAILS}, "ExecutionError", ["ValueError: no luck", "line 2, in inner"]),
        ({"action": "time", "code": "1/0"}, "ExecutionError", ["ZeroDivisionError", "    1/0"]),
        ({"action": "time", "code": "f()", "setup": "import nope"}, "ExecutionError", ["No module named 'nope'"]),
        ({"action": "hotspots", "path": "broken.py"}, "ExecutionError", ["SyntaxError", 'File "broken.py", line 1']),
        ({"action": "time", "code": "def ("}, "ExecutionError", ["SyntaxError"]),
        ({"action": "hotspots", "code": "import os\nos._exit(7)"}, "ExecutionError", ["Exit code: 7"]),
        ({"action": "hotspots", "code": "input()"}, "ExecutionError", ["EOFError"]),
        ({"action": "hotspots"}, "ValidationError", ["`path`", "`code`"]),
        ({"action": "hotspots", "code": "  "}, "ValidationError", ["`path`", "`code`"]),
        ({"action": "hotspots", "code": "1", "path": "slow.py"}, "ValidationError", ["either"]),
        ({"action": "time", "path": "slow.py"}, "ValidationError", ["`setup`"]),
        ({"action": "time", "code": "1", "number": 0}, "ValidationError", ["at least 1"]),
    ],
)  # fmt: skip
def test_what_cannot_be_measured(kit, put, arguments, code, words):
    put({"slow.py": SLOW, "broken.py": "def (:\n"})
    result = kit.call("profile", arguments)
    assert result.error.code == code, result.text
    assert [word for word in words if word not in result.text] == []
    assert "figures.py" not in result.text
    assert "timeit.py" not in result.text


def test_a_deep_traceback_is_short(kit):
    result = kit.call("profile", {"action": "hotspots", "code": "def f(n):\n    return f(n + 1)\n\n\nf(0)\n"})
    assert result.error.code == "ExecutionError"
    assert len(result.text) < 1500


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"action": "hotspots", "code": "def nap():\n    __import__('time').sleep(60)\n\nnap()"}, "<code>:1 nap"),
        ({"action": "memory", "code": "x = bytes(3_000_000)\n__import__('time').sleep(60)"}, "peak 2.9 MiB"),
        ({"action": "time", "code": "while True: pass"}, "longer `timeout`"),
    ],
)
def test_what_never_ends_is_ended_and_told_of(kit, arguments, words):
    result = kit.call("profile", {**arguments, "timeout": 0.2 if arguments["action"] == "time" else 2})
    assert result.error.code == "TimeoutError"
    assert words in result.text


def test_code_that_does_not_let_itself_be_interrupted_is_killed(kit, monkeypatch):
    monkeypatch.setattr("toolroll.tools.dev.profile._GRACE_SECONDS", 1.0)
    code = "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\ntime.sleep(100)"
    assert kit.call("profile", {"action": "hotspots", "code": code, "timeout": 0.1}).error.code == "TimeoutError"


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.exit(3)",
        "import os, sys\nsys.stdout.close()\nos.close(2)",
        "import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\nelse:\n    raise SystemExit",
        "print('x' * 3_000_000)",
        "import sys\nsys.modules.clear()",
        "import atexit\natexit.register(print, 'later')",
        "class __loader__: pass",
    ],
)
def test_code_that_does_as_it_likes_is_measured_all_the_same(kit, code):
    result = kit.call("profile", {"action": "hotspots", "code": code})
    assert result.ok, result.text
    assert "<code>:1 <module>" in result.text


def test_an_exit_code_is_told(kit):
    assert "exit code 3" in kit.call("profile", {"action": "hotspots", "code": "raise SystemExit(3)"}).text
    code = "print('first')\nraise SystemExit('no')"
    result = kit.call("profile", {"action": "memory", "code": code})
    assert result.text.endswith("(The program ended itself with exit code 1.)\nfirst\nno"), "and what it printed"


def test_the_work_of_threads_counts(kit):
    code = "import threading\ndef work():\n    pass\nfor _ in range(3):\n    one = threading.Thread(target=work)\n    one.start()\n    one.join()\nwork()"
    result = kit.call("profile", {"action": "hotspots", "code": code, "top": 500})
    assert [row["calls"] for row in result.data["rows"] if row["function"] == "work"] == [4]


def test_it_runs_with_the_python_of_the_workspace(kit, put, ws):
    put({".venv/bin/python": f'#!/bin/sh\nMINE=yes exec {sys.executable} "$@"\n'})
    (ws / ".venv/bin/python").chmod(0o755)
    code = "import os\nassert os.environ['MINE'] == 'yes'"
    assert kit.call("profile", {"action": "hotspots", "code": code}).ok
    shutil.rmtree(ws / ".venv")
    assert "KeyError: 'MINE'" in kit.call("profile", {"action": "hotspots", "code": code}).text


def test_it_is_confined(open_kit, tmp_path, tier):
    arguments = {"action": "hotspots", "code": f"open({str(tmp_path / 'outside')!r}, 'w')"}
    result = open_kit(ONLY).call("profile", arguments)  # which may write into a /tmp of its own
    free = tier == "none"
    assert (tmp_path / "outside").exists() is free
    assert result.ok or not free
