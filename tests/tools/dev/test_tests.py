"""Find, run and measure the tests of real projects."""

import subprocess
import sys
from typing import get_args

import pytest

from toolroll.dialect import Dialect, View
from toolroll.text.dev.tests.frameworks import FRAMEWORKS
from toolroll.tools.dev import tests as tool_file

# Plugins of the environment that runs these tests only take time in the projects below.
QUICK = "[pytest]\naddopts = -p no:hypothesispytest -p no:xdist -p no:timeout\n"
APP = "def add(a, b):\n    return a + b\n\n\ndef never():\n    return 1\n"
TESTS = """\
import pytest
from app import add


def test_add():
    assert add(1, 2) == 3


def test_wrong():
    print("hello")
    assert add(1, 2) == 4


@pytest.mark.skip
def test_later():
    pass


@pytest.mark.xfail
def test_known():
    assert 0


@pytest.fixture
def database():
    raise ValueError("no database")


def test_stored(database):
    pass
"""
UNIT = """\
import unittest

from app import add


class Sums(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)

    def test_wrong(self):
        print("hello")
        self.assertEqual(add(1, 2), 4)

    def test_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(part, 0)

    @unittest.expectedFailure
    def test_known(self):
        self.fail()


class Stored(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("no database")

    def test_stored(self):
        pass
"""


@pytest.fixture
def kit(open_kit):
    return open_kit(Dialect("dev", "The tool alone.", (View.native(tool_file.tests),)))


@pytest.fixture
def call(kit):
    return lambda **arguments: kit.call("tests", arguments)


@pytest.fixture
def git(ws):
    def run(*words):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *who, *words], cwd=ws, check=True, capture_output=True)

    return run


def names(ws):
    return sorted(str(path.relative_to(ws)) for path in ws.rglob("*") if ".git" not in path.parts)


@pytest.fixture
def with_plugins(monkeypatch):
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")


def test_pytest(with_plugins, call, put, ws):
    put({"app.py": APP, "pytest.ini": QUICK, "tests/test_app.py": TESTS, "tests/test_bad.py": "import nope\n"})
    before = names(ws)
    result = call()
    assert result.status == "success"
    lines = result.text.split("\n")
    assert lines[0].startswith("1 failed, 2 errors, 1 passed, 1 skipped, 1 xfailed in ")
    assert [line for line in lines[1:] if not line.startswith("Slowest: ")] == [
        "ERROR tests/test_bad.py (tests/test_bad.py:1)",
        "  ModuleNotFoundError: No module named 'nope'",
        "    at tests/test_bad.py:1 in <module>: import nope",
        "",
        "FAILED tests/test_app.py::test_wrong (tests/test_app.py:11)",
        "  assert 3 == 4",
        "   +  where 3 = add(1, 2)",
        "    at tests/test_app.py:11 in test_wrong: assert add(1, 2) == 4",
        "    printed:",
        "      hello",
        "",
        "ERROR tests/test_app.py::test_stored (tests/test_app.py:26)",
        "  ValueError: no database",
        '    at tests/test_app.py:26 in database: raise ValueError("no database")',
        f"Ran with {sys.executable}.",
    ]
    data = result.data
    assert {name: data[name] for name in ("passed", "failed", "errors", "skipped", "xfailed", "total")} == {
        "passed": 1, "failed": 1, "errors": 2, "skipped": 1, "xfailed": 1, "total": 6,
    }  # fmt: skip
    assert data["failures"][1] == {
        "id": "tests/test_app.py::test_wrong",
        "path": "tests/test_app.py",
        "line": 11,
        "kind": "failed",
        "message": "assert 3 == 4\n +  where 3 = add(1, 2)",
        "trace": [{"path": "tests/test_app.py", "line": 11, "where": "test_wrong", "code": "assert add(1, 2) == 4"}],
        "output": "hello\n",
    }
    assert names(ws) == before, "neither a cache nor compiled files are left"

    again = call(path=data["failures"][1]["id"])
    assert (again.data["failed"], again.data["total"]) == (1, 1)


def test_discovering_runs_nothing(call, put, ws):
    mark = "open('ran', 'w').close()"
    put({
        "pytest.ini": QUICK,
        "test_a.py": f"import unittest\n\ndef test_x():\n    {mark}\n\nclass C(unittest.TestCase):\n    def test_y(self):\n        {mark}\n",
    })  # fmt: skip
    result = call(action="discover")
    assert result.text.split("\n")[1:] == ["test_a.py", "  test_x", "  C::test_y"]
    assert result.data["tests"][0] == {
        "id": "test_a.py::test_x",
        "path": "test_a.py",
        "line": 3,
        "outcome": "passed",
        "seconds": 0.0,
    }
    assert call(action="discover", framework="unittest").text.split("\n")[1:] == ["test_a.py", "  C::test_y"]
    assert not (ws / "ran").exists()
    assert call(framework="unittest").data["passed"] == 1
    assert (ws / "ran").exists(), "running them does leave the mark"


def test_unittest(call, put, ws):
    put(
        {
            "app.py": APP,
            "tests/test_sums.py": UNIT,
            "tests/a/test_same.py": "x = 1\n",
            "tests/b/test_same.py": "import nope\n",
        }
    )
    result = call(framework="unittest")
    lines = result.text.split("\n")
    assert lines[0].startswith("2 failed, 2 errors, 1 passed, 1 xfailed in ")
    assert [line for line in lines if line.startswith(("FAILED", "ERROR"))] == [
        "ERROR tests/b/test_same.py (tests/b/test_same.py:1)",
        "ERROR setUpClass (test_sums.Stored) (tests/test_sums.py:27)",
        "FAILED tests/test_sums.py::Sums::test_parts (part=1) (tests/test_sums.py:17)",
        "FAILED tests/test_sums.py::Sums::test_wrong (tests/test_sums.py:12)",
    ]
    assert (
        "AssertionError: 3 != 4\n    at tests/test_sums.py:12 in test_wrong: self.assertEqual(add(1, 2), 4)\n    printed:\n      hello"
        in result.text
    )
    alone = call(path="tests/test_sums.py::Sums::test_add", framework="unittest")
    assert (alone.data["passed"], alone.data["total"]) == (1, 1)
    some = call(path="tests/test_sums.py", keyword="add or test_known and not (wrong or parts)", framework="unittest")
    assert (some.data["passed"], some.data["xfailed"], some.data["total"]) == (1, 1, 2)
    assert names(ws) == [
        "app.py",
        "tests",
        "tests/a",
        "tests/a/test_same.py",
        "tests/b",
        "tests/b/test_same.py",
        "tests/test_sums.py",
    ]


@pytest.mark.parametrize("framework", ["auto", "unittest"])
def test_coverage(call, put, framework):
    put({"app.py": APP, "pytest.ini": QUICK, "tests/test_sums.py": UNIT, "other.py": "x = 1\n"})
    result = call(action="coverage", framework=framework)
    assert result.data["coverage"] == [
        {"path": "app.py", "statements": 4, "missing": [6]},
        {"path": "other.py", "statements": 1, "missing": [1]},
    ]
    assert result.data["covered"] == 60.0
    assert "Coverage 60% (coverage " in result.text
    assert "  75%  app.py  missing 6" in result.text
    assert result.data["failed"] == 2


def test_a_python_of_the_project_without_pytest_or_coverage(call, put, ws):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ws / ".venv"], check=True)
    put({"app.py": APP, "test_sums.py": UNIT})
    result = call(keyword="test_add")
    assert result.text.split("\n")[0].startswith("1 passed in ")
    uncovered = call(action="coverage", keyword="test_add")
    assert uncovered.error.code == "Unsupported"
    assert uncovered.error.message == (
        f"The project's Python has no coverage. Ask the user to add it: {ws}/.venv/bin/python -m pip install coverage"
    )

    put({"test_sums.py": TESTS})
    missing = call(framework="pytest")
    assert missing.error.code == "Unsupported"
    assert f"{ws}/.venv/bin/python -m pip install pytest" in missing.text


STUCK = """\
import os
import time
import unittest


class C(unittest.TestCase):
    def test_1(self):
        pass

    def test_2(self):
        self.assertTrue(False)

    def test_3(self):
        {}

    def test_4(self):
        pass
"""


@pytest.mark.parametrize(
    ("statement", "how"),
    [
        ("time.sleep(60)", "Command timed out after"),
        ("os._exit(7)", "Exit code: 7"),
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("raise KeyboardInterrupt", "SIGINT"),
    ],
)
def test_a_run_that_is_cut_short_keeps_what_is_known(call, put, statement, how):
    put({"test_a.py": STUCK.format(statement)})
    result = call(timeout=4 if "sleep" in statement else 60, framework="unittest")
    assert (result.status, result.data["passed"], result.data["failed"]) == ("partial", 1, 1)
    assert "FAILED test_a.py::C::test_2" in result.text
    assert how in result.text
    assert "while test_a.py::C::test_3 was running: 2 of 4 tests were over." in result.text


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"test_a.py": "import sys\nsys.exit(2)\n", "test_b.py": "def test_b(): pass\n"},
            ["ERROR test_a.py (test_a.py:2)", "  SystemExit: 2", "    at test_a.py:2 in <module>: sys.exit(2)"],
        ),
        (
            {"test_a.py": "def test_a():\n    raise KeyboardInterrupt\ndef test_b(): pass\n"},
            [
                "ERROR test_a.py::test_a (test_a.py:2)",
                "  KeyboardInterrupt",
                "    at test_a.py:2 in test_a: raise KeyboardInterrupt",
                "0 of 2 tests ran.",
            ],
        ),
    ],
)
def test_what_ends_pytest_itself_is_told(call, put, files, said):
    put({"pytest.ini": QUICK, **files})
    result = call()
    assert (result.status, result.text.split("\n")[1:]) == ("partial", said)


@pytest.mark.parametrize("framework", ["pytest", "unittest"])
def test_what_does_not_parse_and_what_is_raised_together(call, put, framework):
    group = "import unittest\nclass C(unittest.TestCase):\n    def test_g(self):\n        raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\n"
    put({"pytest.ini": QUICK, "a b/test_s.py": "x = 1\ndef test_x(:\n", "test_g.py": group})
    text = call(framework=framework).text
    assert (
        "\nERROR a b/test_s.py (a b/test_s.py:2)\n  SyntaxError: invalid syntax\n    at a b/test_s.py:2: def test_x(:\n"
        in text
    )
    assert (
        " test_g.py::C::test_g (test_g.py:4)\n  ExceptionGroup: g (2 sub-exceptions)\n  - ValueError: 1\n  - TypeError: 2\n"
        "    at test_g.py:4 in test_g: raise ExceptionGroup('g', [ValueError(1), TypeError(2)])"
    ) in text


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            {"keyword": "nothing", "framework": "unittest"},
            "NotFound",
            "None of the 1 tests fits 'nothing'",
        ),
        ({"keyword": "a or (", "framework": "unittest"}, "ValidationError", "'a or (' is no expression"),
        ({"keyword": "a or ("}, "ValidationError", "Wrong expression"),
        ({"path": "test_a.py::test_z"}, "NotFound", "There is no test 'test_z' there."),
        ({"path": "test_a.py::C::test_z", "framework": "unittest"}, "NotFound", "There is no test 'C::test_z' there."),
        ({"path": "empty.py", "framework": "unittest"}, "NotFound", "No tests found"),
        ({"path": "test_b.py"}, "NotFound", "there is no 'test_b.py'"),
        ({"path": "../x"}, "SecurityError", "outside the workspace"),
        ({"framework": "cargo"}, "NotFound", "No tests found"),
    ],
)
def test_bad_questions(call, put, arguments, code, said):
    test = "import unittest\nclass C(unittest.TestCase):\n    def test_x(self): pass\n"
    put({"pytest.ini": QUICK, "test_a.py": test, "empty.py": ""})
    result = call(**arguments)
    assert result.error.code == code
    assert said in result.text


def test_nothing_to_test(call, put):
    put({"README.md": "x"})
    assert call().error.code == "NotFound"


def unit(before, assertion):
    return (
        f"import unittest\n{before}\nclass C(unittest.TestCase):\n    def test_it(self):\n        assert {assertion}\n"
    )


def test_only_affected_tests(call, kit, put, git, ws):
    put({
        "app.py": APP,
        "late.py": "y = 1\n",
        "tests/test_app.py": unit("import app", "app.add(1, 2) == 3"),
        "tests/test_late.py": unit("import importlib", "importlib.import_module('la' + 'te').y"),
    })  # fmt: skip

    def affected():
        return call(affected=True, framework="unittest")

    assert "All tests: what has changed is not known" in affected().text
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    nothing = affected()
    assert (nothing.status, nothing.data["total"]) == ("success", 0)
    assert "nothing has changed since the last commit" in nothing.text

    put({"app.py": APP.replace("a + b", "a - b"), "tests/test_new.py": unit("", "True")})
    changed = affected()
    assert [one["id"] for one in changed.data["failures"]] == ["tests/test_app.py::C::test_it"]
    assert changed.data["total"] == 2
    assert "2 test files affected by app.py, tests/test_new.py." in changed.text

    git("checkout", "-q", "app.py")
    (ws / "tests/test_new.py").unlink()
    put({"late.py": "y = 0\n"})
    assert affected().data["total"] == 0, "no text tells of this import"
    put({"late.py": "y = 1\n"})
    assert call(action="coverage", framework="unittest").data["passed"] == 2
    put({"late.py": "y = 0\n"})
    assert affected().data["failed"] == 1, "but what was reached is known now"
    with kit.fork("copy") as trial:
        assert trial.call("tests", {"affected": True, "framework": "unittest"}).data["failed"] == 1


def test_affected_tests_are_those_of_testpaths(call, put, git):
    test = "import app\ndef test_it():\n    assert app.add(1, 2) == 3\n"
    put({
        "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\naddopts = '-p no:cacheprovider'\n",
        "app.py": APP,
        "tests/test_app.py": test,
        "bench/test_slow.py": test,
    })  # fmt: skip
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    put({"app.py": APP + "# changed\n"})
    result = call(affected=True)
    assert (result.data["total"], result.data["passed"]) == (1, 1)
    assert "1 test file affected by app.py." in result.text


def test_a_broken_conftest_ends_only_the_tests_of_its_folder(call, put):
    put({
        "pytest.ini": QUICK,
        "tests/conftest.py": "import nope\n",
        "tests/test_a.py": "def test_a(db): pass\ndef test_c(db): pass\n",
        "other/test_b.py": "def test_b(): pass\n",
    })  # fmt: skip
    result = call()
    assert (result.data["passed"], result.data["errors"]) == (1, 1)
    assert result.text.splitlines()[1:5] == [
        "ERROR tests/conftest.py (tests/conftest.py:1)",
        "  ModuleNotFoundError: No module named 'nope'",
        "  Tests in its folder that were not run: 2",
        "    at tests/conftest.py:1 in <module>: import nope",
    ]
    only = call(path="tests")
    assert (only.data["passed"], only.data["errors"]) == (0, 1)


def test_a_project_in_a_folder(call, put):
    put({"README.md": "x", "back/setup.py": "", "back/app.py": APP, "back/tests/test_sums.py": UNIT})
    result = call(path="back/tests/test_sums.py", keyword="wrong", framework="unittest")
    assert [one["id"] for one in result.data["failures"]] == ["back/tests/test_sums.py::Sums::test_wrong"]
    assert call(path=result.data["failures"][0]["id"], framework="unittest").data["total"] == 1
    assert call(framework="unittest").data["failures"] == call(path="back", framework="unittest").data["failures"]


NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "sum.js": "exports.sum = (a, b) => a + b;\n",
    "test/sum.test.js": (
        "const { test, describe, it } = require('node:test');\nconst assert = require('node:assert');\nconst { sum } = require('../sum.js');\n"
        "test('adds', () => assert.strictEqual(sum(1, 2), 3));\n"
        "describe('group', () => { it('wrong', () => { assert.strictEqual(sum(1, 2), 4); }); });\n"
    ),
}


@pytest.mark.usefixtures("with_node")
def test_node(call, put):
    put(NODE)
    assert call(action="discover").text == "2 tests in 1 file (node)\ntest/sum.test.js\n  adds\n  wrong"
    result = call()
    assert (result.data["passed"], result.data["failed"]) == (1, 1)
    assert "FAILED test/sum.test.js::group > wrong (test/sum.test.js:5)" in result.text
    assert "3 !== 4" in result.text


@pytest.mark.parametrize("name", ["jest", "vitest"])
def test_a_framework_that_is_not_installed(call, put, name):
    put({"package.json": f'{{"devDependencies": {{"{name}": "1"}}}}'})
    result = call()
    assert result.error.code == "Unsupported"
    assert f"npm install --save-dev {name}" in result.text


def test_it_is_confined(open_kit, put, tmp_path, tier):
    """The tests of a project are code that nobody has looked at."""
    outside = tmp_path / "outside"
    outside.write_text("for nobody\n")
    body = f"import unittest\nclass C(unittest.TestCase):\n    def test_1(self):\n        open({str(outside)!r}, 'a').write('x')\n"
    put({"test_a.py": body})
    kit = open_kit(Dialect("dev", "The tool alone.", (View.native(tool_file.tests),)))
    kit.call("tests", {"framework": "unittest"})
    assert (outside.read_text() != "for nobody\n") is (tier == "none")


def test_every_framework_can_be_named():
    assert set(get_args(tool_file.Name)) == {"auto", *FRAMEWORKS}
