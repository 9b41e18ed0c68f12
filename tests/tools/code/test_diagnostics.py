import shutil
import sys
from pathlib import Path

import pytest

from toolroll.result import ErrorCode, ToolError
from toolroll.tools.code.diagnostics import Row, diagnostics

pytestmark = pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")

BAD = "def f(a: int) -> int:\n    return a\n\n\nx: str = f(1)\ny = f('')\n"
ASSIGN = Row(
    "a.py",
    5,
    10,
    5,
    14,
    "error",
    "Object of type `int` is not assignable to `str`",
    "invalid-assignment",
    "ty",
)


def rows(output):
    return [f"{row.path}:{row.line}:{row.character} {row.severity} {row.code}" for row in output.rows]


def test_problems(served, put):
    put({"a.py": BAD})
    found = diagnostics(served, files=["a.py"])
    assert found.rows[0] == ASSIGN
    assert str(found) == (
        "a.py:5:10 error: Object of type `int` is not assignable to `str` [invalid-assignment] (ty)\n"
        "a.py:6:7 error: Argument to function `f` is incorrect: Expected `int`, found `Literal['']`"
        " [invalid-argument-type] (ty)\n"
        "1 file checked: 2 errors."
    ).replace("Literal['']", 'Literal[""]')
    assert (found.total, found.files, found.counts, found.unknown, found.status) == (
        2,
        1,
        {"error": 2, "warning": 0, "info": 0, "hint": 0},
        {},
        "success",
    )
    assert (found.by_file, found.shown) == ({"a.py": found.rows}, 2)


def test_no_problems(served, put):
    put({"a.py": "x = 1\n"})
    assert str(diagnostics(served, files=["a.py"])) == "1 file checked: no problems."


@pytest.mark.parametrize(
    ("files", "checked"),
    [
        (["a.py"], ["a.py"]),
        (["*.py"], ["a.py", "sub/b.py", "sub/deep/c.py"]),
        (["sub/*.py"], ["sub/b.py"]),
        (["sub/**/*.py", "a.py"], ["a.py", "sub/b.py", "sub/deep/c.py"]),
        (["sub"], ["sub/b.py", "sub/deep/c.py"]),
        (["."], ["a.py", "sub/b.py", "sub/deep/c.py"]),
        (["{a,b}.py"], ["a.py", "sub/b.py"]),
        (["./a.py", "a.py", "sub/../a.py"], ["a.py"]),
        (["we[i]rd.py"], ["we[i]rd.py"]),
    ],
)
def test_which_files(files, checked, served, put):
    put(dict.fromkeys(("a.py", "sub/b.py", "sub/deep/c.py", "node_modules/d.py"), "x: int = ''\n"))
    put({"notes.txt": "x"})
    if "we[i]rd.py" in files:
        put({"we[i]rd.py": "x: int = ''\n"})
    found = diagnostics(served, files=files)
    assert [row.path for row in found.rows] == checked
    assert found.files == len(checked)


def test_packages_are_checked_only_where_they_are_named(served, put):
    put(dict.fromkeys(("a.py", "node_modules/x/d.py"), "x = 1\n"))
    asked = [["."], ["*.py"], ["node_modules"], ["node_modules/**/*.py"], ["node_modules/x/d.py", "a.py"]]
    assert [diagnostics(served, files=files).files for files in asked] == [1, 1, 1, 1, 2]


def test_from_another_folder(served, kit, put):
    put({"a.py": "", "sub/b.py": "x: int = ''\n"})
    assert rows(diagnostics(kit.context(cwd="sub"), files=["b.py"])) == ["sub/b.py:1:10 error invalid-assignment"]
    assert rows(diagnostics(kit.context(cwd="sub"), files=["*.py"])) == ["sub/b.py:1:10 error invalid-assignment"]
    for files in (["b.py"], ["*.py"], ["."], ["../sub/b.py"]):
        found = diagnostics(served, files=files, folder="sub")
        assert rows(found) == ["sub/b.py:1:10 error invalid-assignment"]


@pytest.mark.parametrize(
    ("options", "shown", "total"),
    [
        ({}, ["error", "warning"], 2),
        ({"severity": "error"}, ["error"], 1),
        ({"severity": "hint"}, ["error", "warning", "hint"], 3),
        ({"severity": "warning", "exactly": True}, ["warning"], 1),
        ({"severity": "info", "exactly": True}, [], 0),
        ({"severity": "all"}, ["error", "warning", "hint"], 3),
        ({"severity": "all", "exactly": True}, ["error", "warning", "hint"], 3),
        ({"severity": "hint", "limit": 1}, ["error"], 3),
    ],
)
def test_how_bad_and_how_many(options, shown, total, served, put):
    put({"ty.toml": '[rules]\ninvalid-argument-type = "warn"\n'})
    put({"a.py": "def f(unused: int): ...\nf('')\nx: int = ''\n"})
    found = diagnostics(served, files=["a.py"], **options)
    assert ([row.severity for row in found.rows], found.total) == (shown, total)
    assert found.counts == {"error": 1, "warning": 1, "info": 0, "hint": 1}
    if options.get("limit"):
        assert "1 of 3 problems shown" in found.note
        assert found.whole().count("\n") == 2


def test_snippets(served, put):
    put({"a.py": "a = 1\r\nx: int = ''\r\nb = 2\r\n"})
    (row,) = diagnostics(served, files=["a.py"], snippets=True).rows
    assert row.snippet == "  1: a = 1\n> 2: x: int = ''\n  3: b = 2"
    put({"a.py": "x: int = ''"})
    (row,) = diagnostics(served, files=["a.py"], snippets=True).rows
    assert row.snippet == "> 1: x: int = ''"


def test_only_what_is_new(served, put):
    put({"a.py": BAD})
    first = diagnostics(served, files=["a.py"], new_only=True)
    assert len(first.rows) == 2
    assert "Not checked before: 1 file, all" in first.note
    put({"a.py": "import nothing_here\n\n" + BAD.replace("y = f('')", "z = 0; y = f('')")})
    second = diagnostics(served, files=["a.py"], new_only=True)
    assert [(row.line, row.character, row.severity) for row in second.rows] == [(1, 8, "error")]
    assert str(second).endswith("1 file checked: 1 error.")
    third = diagnostics(served, files=["a.py"], new_only=True)
    assert (rows(third), third.note) == ([], "(Problems of the last check do not count.)")
    assert len(diagnostics(served, files=["a.py"]).rows) == 3


def test_files_that_cannot_be_checked_are_told(served, put, monkeypatch):
    put({"a.py": "x: int = ''\n", "b.go": "package b\n", "c.txt": "x"})
    monkeypatch.setenv("PATH", "/nowhere")
    found = diagnostics(served, files=["a.py", "b.go", "c.txt"])
    assert rows(found) == ["a.py:1:10 error invalid-assignment"]
    assert (found.status, found.files, set(found.unknown)) == ("partial", 1, {"b.go", "c.txt"})
    assert "go install golang.org/x/tools/gopls@latest" in found.note


@pytest.mark.parametrize(
    ("files", "code", "words"),
    [
        (["b.go"], ErrorCode.UNSUPPORTED, "gopls, is not installed. To add it: go install"),
        (["c.txt"], ErrorCode.UNSUPPORTED, "no language server for 'c.txt'"),
        (["none.py"], ErrorCode.NOT_FOUND, "none.py"),
        (["*.rb"], ErrorCode.NOT_FOUND, "There is no code in '*.rb'"),
        (["../x.py"], ErrorCode.SECURITY, "outside"),
        (["/etc/*.py"], ErrorCode.SECURITY, "outside"),
        ([], ErrorCode.VALIDATION, "`files` is empty."),
    ],
)
def test_bad_questions(files, code, words, served, put, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    put({"b.go": "package b\n", "c.txt": "x"})
    with pytest.raises(ToolError) as caught:
        diagnostics(served, files=files)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message


def test_the_language_can_be_given(served, put):
    put({"tool": "x: int = ''\n"})
    assert rows(diagnostics(served, files=["tool"], language="py")) == ["tool:1:10 error invalid-assignment"]


@pytest.mark.skipif(not shutil.which("rust-analyzer"), reason="there is no rust-analyzer")
def test_a_program_that_only_looks_installed(served, put):
    """rustup puts a rust-analyzer on PATH that works only if the component was added."""
    put({"a.rs": "fn main() { let x: i32 = 1; x; }\n"})
    try:
        found = diagnostics(served, files=["a.rs"])
    except ToolError as error:
        assert error.code is ErrorCode.UNSUPPORTED
        assert "To add it: rustup component add rust-analyzer" in error.message
    else:
        assert found.files == 1


def test_another_server_by_choice(open_kit, put):
    put({"a.py": "import os\n"})
    found = open_kit(servers={"python": "ruff"}).call("diagnostics", {"files": ["a.py"]})
    assert [(row["source"], row["code"]) for row in found.data["rows"]] == [("Ruff", "F401")]
    missing = open_kit(servers={"python": "no-such-server"}).call("diagnostics", {"files": ["a.py"]})
    assert "no-such-server" in missing.text


def test_of_one_symbol(served, put):
    put({"a.py": "def a():\n    return none\n\n\ndef b():\n    return nothing\n"})
    assert [row.line for row in diagnostics(served, symbol="b").rows] == [6]
