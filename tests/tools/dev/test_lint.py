"""Check, fix and format real files with real programs."""

import json
import os
import re
import stat
import sys

import pytest

from toolroll.dialect import Dialect, View
from toolroll.policy.rules import Policy
from toolroll.tools.dev.lint import lint
from toolroll.tools.files.undo import undo

DEV = Dialect("dev", "The tool alone.", (View.native(lint), View.native(undo)))


@pytest.fixture
def kit(open_kit):
    return open_kit(DEV)


@pytest.fixture
def call(kit):
    return lambda **arguments: kit.call("lint", arguments)


def content(ws):
    return {str(path.relative_to(ws)): path.read_text() for path in sorted(ws.rglob("*")) if path.is_file()}


UNUSED = "import os\nx = 1\n"


def test_check(call, put, ws, tmp_path):
    put({"m.py": UNUSED, "bad.py": "def f(:\n", "sub/ok.py": "x = 1\n", "ruff.toml": 'lint.select = ["F"]\n'})
    before = content(ws)
    result = call()
    lines = result.text.split("\n")
    assert lines[0].endswith("findings in 2 files (ruff): syntax 2, F401 1; 1 fixable")
    assert lines[1].startswith("bad.py:1:7 syntax Syntax error: ")
    assert lines[-1] == "m.py:1:8 F401 [fixable] `os` imported but unused"
    assert result.data["findings"][-1] == {
        "path": "m.py",
        "line": 1,
        "column": 8,
        "code": "F401",
        "message": "`os` imported but unused",
        "fixable": True,
    }
    assert result.data["counts"] == {"syntax": 2, "F401": 1}
    assert call(path="sub").text == "No findings in 1 file (ruff)."
    assert call(path="m.py", select="E").text == "No findings in 1 file (ruff)."
    assert content(ws) == before
    put({"m.py": "".join(f"import m{number}\n" for number in range(9))})
    assert len(call(path="m.py").data["findings"]) == 9
    assert not (tmp_path / "state/spill").exists()  # what the program printed is of no use to anybody


def test_fix_shows_the_change_and_can_be_taken_back(kit, call, put, ws):
    put(
        {
            "m.py": UNUSED,
            "sub/n.py": "import sys\nx = [] == None\n",
            "ruff.toml": 'lint.select = ["F", "E"]\n',
        }
    )
    before = content(ws)
    result = call(action="fix")
    assert result.text == (
        "Fixed 2 findings in 2 of 2 files (ruff).\n"
        "m.py\n@@ -1,2 +1,1 @@\n-import os\n x = 1\n"
        "sub/n.py\n@@ -1,2 +1,1 @@\n-import sys\n x = [] == None\n"
        "Left: 1 finding in 1 file (ruff): E711 1\n"
        "sub/n.py:1:11 E711 Comparison to `None` should be `cond is None`"
    )
    assert content(ws) == {**before, "m.py": "x = 1\n", "sub/n.py": "x = [] == None\n"}
    assert kit.call("undo", {}).ok
    assert content(ws) == before


def test_a_fix_may_leave_nothing_and_notebooks_are_formatted(kit, call, ws):
    cell = {"cell_type": "code", "execution_count": None, "id": "a1", "metadata": {}, "outputs": [], "source": ["x=1"]}
    book = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    before = {"-a.py": b"import os\n", "b.py": b"\xef\xbb\xbfimport os\r\nx = 1\r\n", "c.py": b"x = '\xe9'\n", "d.ipynb": book.encode()}  # fmt: skip
    for name, data in before.items():
        (ws / name).write_bytes(data)
    assert call(action="fix", select="F").text.startswith("Fixed 2 findings in 2 of 4 files (ruff).\n")
    assert {name: (ws / name).read_bytes() for name in before} == before | {"-a.py": b"", "b.py": b"\xef\xbb\xbfx = 1\r\n"}  # fmt: skip
    assert kit.call("undo", {}).ok
    assert {name: (ws / name).read_bytes() for name in before} == before

    result = call(action="format")
    assert [one["path"] for one in result.data["changed"]] == ["b.py", "d.ipynb"]
    assert '"x = 1"' in (ws / "d.ipynb").read_text()
    assert result.text.endswith("\nc.py:1:1 E902 stream did not contain valid UTF-8")


def test_format(kit, call, put, ws):
    put(
        {
            "a.py": "x   =  1\r\ny = [1,2]\r\n",
            "b.py": "z = 1\n",
            "run.py": "#!/usr/bin/env python\nq=1\n",
            "bad.py": "def f(:\n",
        }
    )
    os.chmod(ws / "run.py", 0o755)
    result = call(action="format")
    lines = result.text.split("\n")
    assert lines[0] == "Formatted 2 of 4 files (ruff)."
    assert "-y = [1,2]" in lines
    assert "+y = [1, 2]" in lines
    assert lines[-1].startswith("bad.py:1:7 syntax Syntax error: ")
    assert (ws / "a.py").read_bytes() == b"x = 1\r\ny = [1, 2]\r\n", "the line ends stay"
    assert stat.S_IMODE((ws / "run.py").stat().st_mode) == 0o755
    assert sorted(path.name for path in ws.iterdir()) == ["a.py", "b.py", "bad.py", "run.py"]
    assert call(action="format", path="a.py").text == "Nothing to format in 1 file (ruff)."
    assert kit.call("undo", {}).ok
    assert (ws / "a.py").read_bytes() == b"x   =  1\r\ny = [1,2]\r\n"


def test_installed_packages_are_left_alone(call, put):
    put({"node_modules/x/a.py": UNUSED, "b.py": UNUSED})
    assert call(select="F").text.split("\n")[0] == "1 finding in 1 file (ruff): F401 1; 1 fixable"
    assert call(action="format").data["checked"] == 1
    assert call(path="node_modules/x", select="F").data["checked"] == 1, "unless they are asked for"


def test_all_files_or_none(open_kit, put, ws):
    put({"a.py": UNUSED, "b.py": UNUSED, "z.py": UNUSED})
    before = content(ws)
    kit = open_kit(DEV, policy=Policy(protected=("z.py",)))
    result = kit.call("lint", {"action": "fix"})
    assert (result.error.code, "'z.py' is protected" in result.text) == ("SecurityError", True)
    assert content(ws) == before
    assert len(open_kit(DEV).call("lint", {"action": "fix"}).data["changed"]) == 3, "else all are changed"


def test_a_file_changed_meanwhile_is_not_overwritten(kit, put, ws):
    put({"a.py": UNUSED, "b.py": UNUSED})
    kit.context().files.read("b.py")
    (ws / "b.py").write_text("import sys\nx = 2\n")
    result = kit.call("lint", {"action": "fix"})
    assert result.error.code == "Conflict"
    assert content(ws) == {"a.py": UNUSED, "b.py": "import sys\nx = 2\n"}


def test_a_name_that_looks_like_an_option(call, put, ws):
    put({"-h.py": UNUSED, "a b;c.py": UNUSED})
    assert call(path="-h.py", select="F").data["counts"] == {"F401": 1}
    assert call(action="fix", select="F401").data["fixed"] == 2
    assert content(ws) == {"-h.py": "x = 1\n", "a b;c.py": "x = 1\n"}


@pytest.fixture
def bare(monkeypatch):
    """A Python that has no linter beside it, and none on PATH."""
    base = os.path.realpath(sys.executable)
    folders = {os.path.dirname(base), "/usr/bin", "/bin"}
    if any(os.path.exists(f"{folder}/{name}") for folder in folders for name in ("ruff", "flake8")):
        pytest.skip("there is a linter for all users of this machine")
    monkeypatch.setattr(sys, "executable", base)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def test_without_ruff_files_are_compiled(bare, open_kit, put):
    put({"m.py": UNUSED, "bad.py": "def f(:\n", "nul.py": "x = 1\0\n"})
    kit = open_kit(DEV)
    result = kit.call("lint", {})
    lines = result.text.split("\n")
    assert lines[0] == "2 findings in 2 files (py_compile): syntax 2"
    assert lines[1].startswith("bad.py:1:7 syntax Syntax error: ")
    missing = kit.call("lint", {"action": "fix"})
    assert missing.error.code == "Unsupported"
    assert "python -m pip install ruff" in missing.text


FLAKE8 = "#!/bin/sh\necho \"./m.py:1:1: F401 'os' imported but unused\"\nexit 1\n"


def test_flake8_of_the_project_comes_before_compiling(bare, open_kit, put, ws):
    put({"m.py": UNUSED, ".venv/bin/flake8": FLAKE8})
    (ws / ".venv/bin/flake8").chmod(0o755)
    kit = open_kit(DEV)
    assert kit.call("lint", {"path": "m.py"}).text == (
        "1 finding in 1 file (flake8): F401 1\nm.py:1:1 F401 'os' imported but unused"
    )


ESLINT = """\
#!/usr/bin/env node
const words = process.argv.slice(2);
const report = words.find((word) => word.startsWith('--output-file=')).slice(14);
const text = require('fs').readFileSync('a.js', 'utf8');
const fixed = text.replace(/([^;\\n])$/m, '$1;');
const row = { ruleId: 'semi', message: 'Missing semicolon.', line: 1, column: 10, fix: { range: [9, 9], text: ';' } };
const dry = words.includes('--fix-dry-run');
const result = { filePath: process.cwd() + '/a.js', messages: text === fixed || dry ? [] : [row] };
if (dry && text !== fixed) result.output = fixed;
require('fs').writeFileSync(report, JSON.stringify([result]));
"""


@pytest.mark.usefixtures("with_node")
def test_eslint_by_its_answers(call, put, ws):
    """A small program that answers as eslint does stands in for it: eslint itself is large and seldom here."""
    put({"a.js": "let x = 1\n", "node_modules/.bin/eslint": ESLINT, ".gitignore": "node_modules\n"})
    (ws / "node_modules/.bin/eslint").chmod(0o755)
    assert (
        call(path="a.js").text
        == "1 finding in 1 file (eslint): semi 1; 1 fixable\na.js:1:10 semi [fixable] Missing semicolon."
    )
    assert call(action="fix").text == "Fixed 1 of 1 file (eslint).\na.js\n@@ -1,1 +1,1 @@\n-let x = 1\n+let x = 1;"
    assert (ws / "a.js").read_text() == "let x = 1;\n"
    put({"node_modules/.bin/eslint": re.sub(r"text.replace\(.*?\);", "text.replace(';', '(');", ESLINT)})
    (ws / "node_modules/.bin/eslint").chmod(0o755)
    assert "a.js does not parse any more, line 1: " in call(action="fix").text


ENDS = {
    "exits 1": "exit 1",
    "exits 1 and says why": "echo 'Error: Cannot find module x' >&2; exit 1",
    "exits 2": "exit 2",
    "exits 127": "exit 127",
    "says it is missing": "echo \"error: 'it' is not installed for the toolchain\"; exit 1",
    "is silent": "exit 0",
    "is killed": "kill -9 $$",
    "is slow": "exec sleep 30",
    "is too old": "echo 'error: unexpected argument --check' >&2; exit 64",
}
PROGRAMS = {"ruff": "m.py", "prettier": "m.css", "gofmt": "m.go", "rustfmt": "m.rs", "eslint": "m.js", "flake8": "m.py", "black": "m.py"}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_did_not_look_found_nothing_out(bare, open_kit, put, ws, program):
    folder = "node_modules/.bin" if program in ("prettier", "eslint") else ".venv/bin"
    kit = open_kit(DEV.changed(lint={"timeout": 1}))
    put({PROGRAMS[program]: "x = 1\n"})
    for end, script in ENDS.items():
        put({f"{folder}/{program}": f"#!/bin/sh\n{script}\n"})
        (ws / folder / program).chmod(0o755)
        action = "format" if program == "black" else "check"
        result = kit.call("lint", {"path": PROGRAMS[program], "action": action})
        assert not result.ok, (end, result.text)
        assert f"{program} could not look: " in result.text, end
        assert result.error.details["outcome"] == "could not look", end
    put({f"{folder}/{program}": "#!/bin/sh\nexit 1\n"})
    if program in ("ruff", "prettier", "gofmt", "rustfmt"):
        assert "could not look" in kit.call("lint", {"path": PROGRAMS[program], "action": "format"}).text


def test_one_of_two_programs_did_not_look(open_kit, put, ws):
    put({"m.py": "x = 1\n", "m.go": "package m\n", ".venv/bin/gofmt": "#!/bin/sh\nexit 1\n", ".gitignore": ".venv\n"})
    (ws / ".venv/bin/gofmt").chmod(0o755)
    result = open_kit(DEV).call("lint", {"select": "F"})
    assert result.status == "partial"
    assert result.text.startswith("No findings in 1 file (ruff).\ngofmt could not look: exit code 1.")
    assert result.data["looked"]["by"] == ["ruff"]
    assert [one["who"] for one in result.data["looked"]["failed"]] == ["gofmt"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "none.py"}, "NotFound"),
        ({"path": "../x"}, "SecurityError"),
        ({"path": "notes.txt"}, "Unsupported"),
        ({"path": "m.py", "select": "QQQ"}, "ExecutionError"),
        ({"path": "m.py", "select": "--fix"}, "ValidationError"),
        ({"path": "m.py", "action": "destroy"}, "ValidationError"),
    ],
)
def test_bad_questions(call, put, arguments, code):
    put({"m.py": UNUSED, "notes.txt": "x"})
    assert call(**arguments).error.code == code
