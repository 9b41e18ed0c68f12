"""Coding Agent: one tool with actions; a Python file never stops parsing."""

import pytest


@pytest.fixture
def file(open_kit):
    kit = open_kit("coding-agent")
    return lambda action, **arguments: kit.call("file", {"action": action, **arguments})


GOOD = "def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("action", "arguments", "code"),
    [
        ("edit", {"old_string": "def f():", "new_string": "def f(:"}, "ValidationError"),
        ("insert", {"start_line": 1, "content": "def (\n"}, "ValidationError"),
        ("replace_lines", {"start_line": 1, "end_line": 1, "content": "x ="}, "ValidationError"),
        ("write", {"content": "def ("}, "ValidationError"),
        ("replace_lines", {"start_line": 2, "end_line": 2, "content": "    pass"}, "Conflict"),
        (
            "edit",
            {"old_string": "return", "new_string": "x = " + "(" * 300 + ")" * 300 + "\n    return"},
            "ValidationError",
        ),
    ],
)
def test_what_breaks_a_python_file_is_not_written(file, put, ws, action, arguments, code):
    put({"m.py": GOOD})
    result = file(action, path="m.py", **arguments)
    assert (result.ok, result.error and result.error.code) == (False, code), result.text
    assert (ws / "m.py").read_text() == GOOD


def test_a_file_that_never_parsed_may_be_edited(file, put, ws):
    put({"old.py": "print 'python 2'\nx = 1\n"})
    assert file("edit", path="old.py", old_string="x = 1", new_string="x = 2").ok
    assert (ws / "old.py").read_text() == "print 'python 2'\nx = 2\n"


def test_lines_with_a_return_may_be_deleted_or_kept(file, put, ws):
    put({"m.py": "def f():\n    x = 1\n    return x\n    return 2\n"})
    assert file("replace_lines", path="m.py", start_line=4, end_line=4).ok
    assert file("replace_lines", path="m.py", start_line=2, end_line=3, content="    return 5\n").ok
    assert (ws / "m.py").read_text() == "def f():\n    return 5\n"


def test_an_edit_may_differ_in_blanks_and_an_undo_takes_it_back(file, put, ws):
    before = "class A:\n    def f(self):\n        x = 1   \n        return x\n"
    put({"m.py": before})
    assert file("edit", path="m.py", old_string="x = 1\nreturn x", new_string="x = 2\nreturn x").ok
    assert (ws / "m.py").read_text() == "class A:\n    def f(self):\n        x = 2\n        return x\n"
    assert file("undo", path="m.py").ok
    assert (ws / "m.py").read_text() == before


def test_what_an_action_needs_is_told(file):
    assert "`old_string`" in file("edit", path="m.py").text
    assert "`action`" in file("fly", path="m.py").text
