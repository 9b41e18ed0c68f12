"""Coding Agent: one tool with actions; a Python file never stops parsing."""

import pytest

from toolroll import dialects


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
        ("replace_lines", {"end_line": 2, "content": "def g():\n    pass"}, "Conflict"),
        ("insert", {"content": ""}, "ValidationError"),
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


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ((4, 4), None),  # the last yield of f
        ((5, 8), None),  # the last return of f
        ((6, 7), "def f(\n    a,\n):\n    yield a\n    if a:\n    return a\n"),  # a function with its return
        ((1, 8), ""),
    ],
)
def test_no_function_loses_its_last_way_out(file, put, ws, lines, left):
    text = "def f(\n    a,\n):\n    yield a\n    if a:\n    def g():\n        return 1\n    return a\n"
    put({"m.txt": text})
    result = file("replace_lines", path="m.txt", start_line=lines[0], end_line=lines[1])
    assert (result.ok, (ws / "m.txt").read_text()) == (left is not None, text if left is None else left)


def test_one_change_of_a_file_can_be_undone(file, put, ws):
    put({"a.txt": "1\n", "b.txt": "1\n"})
    for content, path in (("2\n", "a.txt"), ("3\n", "a.txt"), ("2\n", "b.txt")):
        assert file("write", path=path, content=content).ok
    assert [file("undo", path="a.txt").ok for _ in range(2)] == [True, False]
    assert file("insert", path="a.txt", content="4\n").ok
    assert (ws / "a.txt").read_text() == "2\n4\n"
    assert [file("undo", path=path).ok for path in ("a.txt", "b.txt", "b.txt")] == [True, True, False]
    assert ((ws / "a.txt").read_text(), (ws / "b.txt").read_text()) == ("2\n", "1\n")


def test_of_a_file_over_a_megabyte_parts_are_shown(file, put):
    put({"most.txt": "x\n" * 524_288, "more.txt": "x\n" * 524_289})
    assert file("read", path="most.txt").ok
    refused = file("read", path="more.txt")
    assert (refused.error.code, refused.text) == (
        "TooLarge",
        "'more.txt' is too large: 1048578 bytes, the limit is 1048576. Use `code_search` (action `search`) to find "
        "what matters, or give `end_line` to read a part of it.",
    )
    part = file("read", path="more.txt", start_line=524_000, end_line=524_289)
    assert (part.data["line_count"], part.data["truncated"]) == (290, False)


def test_the_window_is_for_reads_without_an_end(file, put):
    put({"a.txt": "x\n" * 600})
    whole, range_ = file("read", path="a.txt"), file("read", path="a.txt", start_line=100, end_line=500)
    assert [(one.data["line_count"], one.data["truncated"]) for one in (whole, range_)] == [(200, True), (401, False)]
    assert whole.meta["next"]["arguments"] == {"action": "read", "path": "a.txt", "start_line": 201}


def test_a_folder_is_listed_with_its_hidden_files(file, put):
    put({".env": "", "a/b": ""})
    assert file("list_dir", path=".").text == ".env\na/"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("f(x", "m.py\n1:f(x)"),
        (r"f\(.\)", "m.py\n1:f(x)"),
        ("g(x", "The pattern 'g(x' is not a valid regular expression: unclosed group. Correct it."),
    ],
)
def test_a_pattern_may_be_plain_text(open_kit, put, pattern, text):
    put({"m.py": "f(x)\n"})
    assert open_kit("coding-agent").call("code_search", {"action": "search", "pattern": pattern}).text == text


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


def test_options_of_the_document_s_constructors(open_kit, put):
    put({"a.txt": "x\n" * 90, "m.py": "x = 1\n"})
    changed = dialects.load("coding-agent").changed(file={"limit": 50, "syntax": False}, terminal={"timeout": 9})
    kit = open_kit(changed, limits={"test_seconds": 1800})
    assert kit.call("file", {"action": "read", "path": "a.txt"}).data["line_count"] == 50
    assert kit.call("file", {"action": "write", "path": "m.py", "content": "def f(:"}).ok
    assert kit.registry.get("terminal").entry.fixed == {"timeout": 9}
    assert (kit.limits.test_seconds, kit.limits.call_seconds) == (1800, 1860)
