"""CDD: what its document says, beyond names."""

import os

import pytest

from toolroll.tool import Metadata


@pytest.fixture
def kit(open_kit):
    return open_kit("cdd")


def test_numbers_are_six_wide_and_the_hint_counts_from_zero(kit, put):
    put({"a.txt": "one\ntwo\nthree\n"})
    result = kit.call("read", {"file_path": "a.txt", "offset": 1, "limit": 1})
    assert result.text.startswith("     2→two\n")
    assert result.meta["next"] == {"name": "read", "arguments": {"file_path": "a.txt", "offset": 2}}
    following = kit.call("read", result.meta["next"]["arguments"])
    assert following.text == "     3→three"


@pytest.mark.parametrize(
    ("size", "ok"),
    [(5 * 1024 * 1024, True), (5 * 1024 * 1024 + 1, False)],
)
def test_five_megabytes_are_read_and_no_more(kit, put, size, ok):
    put({"a.txt": "x" * 99 + "\n" + "y" * (size - 100)})
    assert kit.call("read", {"file_path": "a.txt", "limit": 1}).ok is ok


def test_a_line_is_cut_at_2000(kit, put):
    put({"a.txt": "x" * 2500})
    assert kit.call("read", {"file_path": "a.txt"}).text == "     1→" + "x" * 2000 + "... [500 more]"


def test_what_has_no_line_to_show_is_told_in_words(kit, put):
    put({"empty.txt": "", "a.txt": "one\n"})
    assert kit.call("read", {"file_path": "empty.txt"}).text == "empty.txt is empty."
    assert kit.call("read", {"file_path": "a.txt", "offset": 1}).text == "There is no line 2: 'a.txt' has 1 line."


def test_invalid_utf8_is_an_error(kit, put):
    put({"a.txt": b"ok\n\xff\xfe\xfd"})
    assert kit.call("read", {"file_path": "a.txt"}).error.code == "ValidationError"


def test_a_no_op_write_is_an_error_and_an_empty_one_too(kit, put, ws):
    put({"a.txt": "same\n"})
    assert "no-op" in kit.call("write", {"file_path": "a.txt", "content": "same\n"}).text
    assert "required" in kit.call("write", {"file_path": "a.txt", "content": ""}).text
    assert (ws / "a.txt").read_text() == "same\n"


def test_writing_counts_as_reading(kit, ws):
    kit.call("write", {"file_path": "a.txt", "content": "alpha\n"})
    assert kit.call("edit", {"file_path": "a.txt", "old_string": "alpha", "new_string": "beta"}).ok
    assert (ws / "a.txt").read_text() == "beta\n"


def test_a_notebook_is_edited_as_it_is_read(kit, put, ws):
    put({"a.ipynb": '{"cells": []}\n'})
    assert kit.call("read", {"file_path": "a.ipynb"}).text == '     1→{"cells": []}'
    assert kit.call("edit", {"file_path": "a.ipynb", "old_string": "[]", "new_string": "[1]"}).ok
    again = kit.call("edit", {"file_path": "a.ipynb", "new_string": "x"})
    assert again.text == "'a.ipynb' exists. Give the text to replace as `old_string`, or another `file_path`."
    assert (ws / "a.ipynb").read_text() == '{"cells": [1]}\n'


def test_an_edit_without_texts_is_told_what_to_give(kit):
    result = kit.call("edit", {"file_path": "a.txt"})
    assert (result.error.code, "`old_string`" in result.text) == ("ValidationError", True)


def test_glob_and_grep_skip_what_the_document_names_and_nothing_else(kit, put, ws):
    names = [
        "a.go",
        "pkg/b.go",
        "ignored/c.go",
        "node_modules/d.go",
        "x/vendor/e.go",
        "__pycache__/f.go",
        ".git/g.go",
        ".h.go",
    ]
    put(dict.fromkeys(names, "needle\n") | {".gitignore": "ignored/\n"})
    for age, name in enumerate(names):
        os.utime(ws / name, (1_000_000 - age, 1_000_000 - age))
    assert kit.call("glob", {"pattern": "**/*.go"}).text == "a.go\npkg/b.go\nignored/c.go"
    assert kit.call("grep", {"pattern": "needle"}).text == (
        "Found 3 matches\na.go:\n  Line 1, Char 1: needle\npkg/b.go:\n  Line 1, Char 1: needle\n"
        "ignored/c.go:\n  Line 1, Char 1: needle"
    )


def test_glob_shows_the_newest_hundred_of_all(kit, put, ws):
    put({f"f{n:03}.txt": "" for n in range(150)})
    for n in range(150):
        os.utime(ws / f"f{n:03}.txt", (n, n))
    shown = kit.call("glob", {"pattern": "*.txt"}).text.split("\n")
    assert shown[:100] == [f"f{n:03}.txt" for n in range(149, 49, -1)]
    assert "limit reached" in shown[100]


def test_the_registry_has_the_names_categories_and_safety_of_the_document(kit):
    registry = kit.registry
    assert registry.names() == ["read", "glob", "grep", "write", "edit", "bash"]
    assert registry.get("glob").schema["required"] == ["pattern"]
    assert registry.get("find") is None
    assert [one.name for one in registry.safe()] == ["read", "glob", "grep"]
    assert [one.name for one in registry.of_category("system")] == ["bash"]
    assert [one.name for one in registry.filter(["bash", "find", "read"])] == ["bash", "read"]
    assert registry.metadata("glob") == Metadata("glob", "file", "Find files by pattern", True)
