import os
import stat
import sys
from pathlib import Path

import pytest

from toolroll.policy.rules import Policy
from toolroll.result import ErrorCode, ToolError
from toolroll.tools.code.rename import rename

pytestmark = pytest.mark.skipif(not (Path(sys.executable).parent / "ty").exists(), reason="ty is not installed")
FAKE = Path(__file__).parents[2] / "host" / "lsp" / "fake_server.py"

FILES = {
    "shapes.py": "class Square:\r\n    '''A Square.'''\r\n",
    "a.py": "from shapes import Square\n\n\ndef make() -> Square:\n    return Square()  # 😀 Square\n",
    "sub/b.py": "import shapes\nx = '😀'; y = shapes.Square()\n",
    "other.py": "class Square: ...\n",
}


def content(ws):
    return {str(path.relative_to(ws)): path.read_bytes().decode() for path in ws.rglob("*.py")}


def test_in_all_files(served, put, ws):
    put(FILES)
    done = rename(served, path="a.py", line=5, character=14, new_name="Box")
    assert content(ws) == {
        "shapes.py": "class Box:\r\n    '''A Square.'''\r\n",
        "a.py": "from shapes import Box\n\n\ndef make() -> Box:\n    return Box()  # 😀 Square\n",
        "sub/b.py": "import shapes\nx = '😀'; y = shapes.Box()\n",
        "other.py": "class Square: ...\n",
    }
    assert (done.old, done.new, done.total, done.preview) == ("Square", "Box", 5, False)
    assert {one.path: one.replacements for one in done.files} == {"shapes.py": 1, "a.py": 3, "sub/b.py": 1}
    assert done.left == ["a.py:5", "other.py:1", "shapes.py:2"]
    assert "'Square' still stands in other places" in done.note
    assert str(done).startswith("Renamed 'Square' to 'Box': 5 places in 3 files.\n")
    assert "\n+    return Box()  # 😀 Square\n" in str(done)


def test_not_in_what_toolroll_runs_from(put, ws, open_kit, monkeypatch):
    put(FILES)
    monkeypatch.setattr(sys, "prefix", str(ws / "sub"))
    result = open_kit().call("rename", {"path": "a.py", "line": 5, "character": 14, "new_name": "Box"})
    assert (result.error and result.error.code, content(ws)) == (ErrorCode.SECURITY, FILES)


def test_preview_changes_nothing(served, put, ws):
    put(FILES)
    seen = rename(served, path="shapes.py", line=1, character=7, new_name="Box", preview=True)
    assert content(ws) == FILES
    assert (seen.total, seen.preview, seen.left) == (5, True, [])
    assert str(seen).startswith("Would rename 'Square' to 'Box': 5 places in 3 files.\n")


def test_again_and_back(served, put, ws):
    put(FILES)
    rename(served, path="shapes.py", line=1, character=7, new_name="Box")
    rename(served, path="a.py", line=1, character=21, new_name="Square")
    assert content(ws) == FILES


def test_after_an_edit_that_the_server_was_not_shown(served, put, ws):
    put(FILES)
    rename(served, path="shapes.py", line=1, character=7, new_name="Box", preview=True)
    put({"sub/b.py": "import shapes\n\n\nshapes.Square\n"})
    rename(served, path="shapes.py", line=1, character=7, new_name="Box")
    assert content(ws)["sub/b.py"] == "import shapes\n\n\nshapes.Box\n"


def test_a_name_that_is_taken_and_one_that_is_not_ours(served, put, ws):
    put({"a.py": "import json as js\nfrom os import path\nold, taken = 1, 2\nprint(js, path, old)\n"})
    assert rename(served, path="a.py", line=3, character=1, new_name="taken", preview=True).note == (
        "('taken' was there before, in a.py: look whether two things have one name now.)"
    )
    for character in (1, 11):  # print, and what is imported by the name it has elsewhere
        with pytest.raises(ToolError, match=r"is defined outside the workspace, in \w+\.pyi, and would keep its name"):
            rename(served, path="a.py", line=4, character=character, new_name="mine")
    rename(served, path="a.py", line=4, character=7, new_name="mine")
    assert content(ws)["a.py"].startswith("import json as mine\n"), "a name that was given here"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"line": 1, "character": 7, "new_name": "no name"}, ErrorCode.VALIDATION, "`new_name` is 'no name'"),
        ({"line": 1, "character": 7, "new_name": ""}, ErrorCode.VALIDATION, "`new_name`"),
        ({"line": 1, "character": 7, "new_name": "class"}, ErrorCode.VALIDATION, "a word of the language itself"),
        ({"line": 9, "character": 1, "new_name": "x"}, ErrorCode.VALIDATION, "`line` is 9"),
        ({"line": 1, "character": 99, "new_name": "x"}, ErrorCode.VALIDATION, "'Square' at 7"),
        ({"line": 2, "character": 9, "new_name": "x"}, ErrorCode.VALIDATION, "nothing to rename"),
    ],
)
def test_what_cannot_be_renamed(arguments, code, words, served, put, ws):
    put(FILES)
    with pytest.raises(ToolError) as caught:
        rename(served, path="shapes.py", **arguments)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
    assert content(ws) == FILES


@pytest.mark.usefixtures("file_modes")
def test_a_file_that_may_not_be_written(served, put, ws):
    put(FILES)
    (ws / "sub").chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises((ToolError, PermissionError)):
        rename(served, path="shapes.py", line=1, character=7, new_name="Box")
    (ws / "sub").chmod(0o755)


@pytest.fixture
def serve_fake(open_kit, tmp_path, monkeypatch):
    """A kit whose server of TypeScript answers in a given manner."""

    def serve(manner):
        program = tmp_path / "bin" / "tsc"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "{manner}"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        return open_kit(policy=Policy(sandbox="none"))  # the fake one is none that commands may read

    return serve


def test_it_says_what_does_not_parse_any_more(serve_fake, put, ws):
    kit = serve_fake("breaks")
    put({"a.ts": "let a = 1\n"})
    given = {"path": "a.ts", "line": 1, "character": 5, "new_name": "fresh"}
    assert "does not parse" not in kit.call("rename", given | {"preview": True}).text, "it was not changed"
    result = kit.call("rename", given)
    assert "-let a = 1\n+(let a = 1\n" in result.text
    assert "a.ts does not parse any more, line 1: " in result.text
    assert kit.call("undo").ok
    assert (ws / "a.ts").read_text() == "let a = 1\n"


@pytest.mark.parametrize(
    ("manner", "code", "words"),
    [
        ("creates", ErrorCode.UNSUPPORTED, "would also create files"),
        ("outside", ErrorCode.SECURITY, "'/etc/hosts', outside the workspace"),
        ("overlaps", ErrorCode.EXECUTION, "edits that overlap"),
        ("missing", ErrorCode.CONFLICT, "'a.tsx' cannot be read"),
        ("nothing", ErrorCode.VALIDATION, "nothing to rename at line 1, character 5. Its words: 'let' at 1, 'a' at 5."),
        ("refuses rename", ErrorCode.VALIDATION, "tsc refuses: that is a keyword"),
    ],
)
def test_servers_with_strange_ideas(manner, code, words, serve_fake, put, ws):
    served = serve_fake(manner).context()
    put({"a.ts": "let a = 1\n"})
    with pytest.raises(ToolError) as caught:
        rename(served, path="a.ts", line=1, character=5, new_name="fresh")
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"a.ts": "let a = 1\n"}
