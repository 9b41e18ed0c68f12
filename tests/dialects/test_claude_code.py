"""claude-code: the shapes that Claude Code's published definitions and results have, beyond names."""

import json

import pytest

from tests.host.convert.files import pdf
from tests.waiting import until
from toolroll.host.shell import shell

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def call(open_kit):
    kit = open_kit("claude-code")
    return lambda name, **arguments: kit.call(name, arguments)


def test_lines_are_shown_as_by_cat_n(call, put):
    put({"a.txt": "one\ntwo\n"})
    shown = call("Read", file_path="a.txt")
    assert shown.text == "     1\tone\n     2\ttwo"
    file = {"filePath": "a.txt", "content": "one\ntwo", "numLines": 2, "startLine": 1, "totalLines": 2}
    assert shown.data == {"type": "text", "file": file}


def test_two_thousand_lines_are_shown_and_offset_zero_is_the_beginning(call, put):
    put({"a.txt": "x\n" * 2500})
    assert call("Read", file_path="a.txt", offset=0).data["file"]["numLines"] == 2000
    assert call("Read", file_path="a.txt", offset=2500, limit=9).text == "  2500\tx"


def test_an_image_is_an_image(call, put):
    put({"a.png": PNG})
    shown = call("Read", file_path="a.png")
    assert (shown.images[0].data, shown.data["file"]) == (PNG, {"type": "image/png", "originalSize": len(PNG)})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Write", {"file_path": "a.txt", "content": "new"}),
        ("Edit", {"file_path": "a.txt", "old_string": "old", "new_string": "new"}),
        ("MultiEdit", {"file_path": "a.txt", "edits": [{"old_string": "old", "new_string": "new"}]}),
        ("NotebookEdit", {"notebook_path": "a.txt", "cell_id": "1", "new_source": "new"}),
    ],
)
def test_a_file_is_read_before_it_is_changed(call, put, ws, name, arguments):
    put({"a.txt": "old"})
    assert call(name, **arguments).error.code == "Conflict"
    assert (ws / "a.txt").read_text() == "old"


def test_an_edit_is_exact_and_unique(call, put, ws):
    put({"a.txt": "x = 1\nx = 1\n"})
    call("Read", file_path="a.txt")
    assert call("Edit", file_path="a.txt", old_string="x = 1", new_string="y").error.code == "Conflict"
    assert call("Edit", file_path="a.txt", old_string="x  = 1", new_string="y").error.code == "NotFound"
    assert call("Edit", file_path="a.txt", old_string="x = 1", new_string="y", replace_all=True).ok
    assert (ws / "a.txt").read_text() == "y\ny\n"


def test_several_edits_see_each_other(call, put, ws):
    put({"a.txt": "one\n"})
    call("Read", file_path="a.txt")
    edits = [{"old_string": "one", "new_string": "two two"}]
    edits += [{"old_string": "two", "new_string": "three", "replace_all": True}]
    assert call("MultiEdit", file_path="a.txt", edits=edits).data["replacements"] == 3
    assert (ws / "a.txt").read_text() == "three three\n"


def test_several_edits_are_made_all_or_none(call, put, ws):
    put({"a.txt": "one\n"})
    call("Read", file_path="a.txt")
    edits = [{"old_string": "one", "new_string": "two"}, {"old_string": "absent", "new_string": "x"}]
    assert "Edit 2 does not fit, so none was made." in call("MultiEdit", file_path="a.txt", edits=edits).text
    assert (ws / "a.txt").read_text() == "one\n"


def test_several_edits_can_begin_with_a_new_file(call, ws):
    edits = [{"old_string": "", "new_string": "one\n"}, {"old_string": "one", "new_string": "two"}]
    assert call("MultiEdit", file_path="new.txt", edits=edits).ok
    assert (ws / "new.txt").read_text() == "two\n"


def test_glob_finds_hidden_and_ignored_files_a_hundred_at_most(call, put):
    put({".gitignore": "out\n", "out/a.ts": "", ".x/b.ts": ""})
    assert set(call("Glob", pattern="**/*.ts").data["filenames"]) == {"out/a.ts", ".x/b.ts"}
    assert call("Glob", pattern="*.none").text.startswith("No files found")
    put({f"n/{number}.py": "" for number in range(101)})
    found = call("Glob", pattern="*.py").data
    assert (found["numFiles"], found["truncated"], found["totalMatches"]) == (100, True, 101)


GREP = {"a.py": "one\nTwo two\nthree\nfour\ntwo\n", "b.txt": "two\n"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"glob": "*.py"}, "Found 1 file\na.py"),
        ({"type": "py"}, "Found 1 file\na.py"),
        ({"type": "py", "glob": "b*"}, "No files found"),
        ({"type": "*.py"}, "There is no file type '*.py'. Use one such as 'py', or `glob`."),
        ({"output_mode": "count", "glob": "*.py"}, "a.py:2\n\nFound 2 total occurrences across 1 file."),
        ({"output_mode": "content", "glob": "*.py"}, "a.py:2:Two two\na.py:5:two"),
        ({"output_mode": "content", "glob": "*.py", "-n": False}, "a.py:Two two\na.py:two"),
        ({"output_mode": "content", "glob": "*.py", "-i": True, "-o": True}, "a.py:2:Two\na.py:2:two\na.py:5:two"),
        ({"output_mode": "content", "glob": "*.py", "-A": 1}, "a.py:2:Two two\na.py-3-three\n--\na.py:5:two"),
        (
            {"output_mode": "content", "glob": "*.py", "-B": 1},
            "a.py-1-one\na.py:2:Two two\n--\na.py-4-four\na.py:5:two",
        ),
        ({"output_mode": "content", "path": "b.txt", "-C": 1}, "b.txt:1:two"),
    ],
)
def test_grep_shows_files_first_and_takes_ripgreps_flags(call, put, arguments, text):
    put(GREP)
    assert call("Grep", pattern="two", **arguments).text.partition("\n(")[0] == text


def test_head_limit_and_offset_count_lines(call, put):
    put({"a.py": "".join(f"x{number}\n" for number in range(300))})
    every = {"pattern": "x", "output_mode": "content"}
    assert call("Grep", **every).data["numLines"] == 250
    assert call("Grep", **every, head_limit=0).data["numLines"] == 300
    assert call("Grep", **every, head_limit=2, offset=5).data["content"] == "a.py:6:x5\na.py:7:x6"
    few = {"pattern": "x10$", "output_mode": "content", "-C": 2}
    assert call("Grep", **few, head_limit=2).data["content"] == "a.py-9-x8\na.py-10-x9"


def test_ls_shows_the_tree_without_what_is_ignored(call, put):
    put({"src/x/a.py": "", "src/b.pyc": "", ".hidden": ""})
    assert call("LS", path=".", ignore=["*.pyc"]).text.partition("\n(")[0] == "- ./\n  - src/\n    - x/\n      - a.py"


def test_a_command_that_fails_is_an_error_with_its_output(call):
    failed = call("Bash", command="echo out; exit 3", description="Fail")
    assert (failed.error.code, failed.text) == ("ExecutionError", "out\nExit code: 3")


def test_times_are_milliseconds_up_to_ten_minutes(call):
    assert call("Bash", command="sleep 20", timeout=300).error.code == "TimeoutError"
    assert call("Bash", command="true", timeout=900_000).ok


def test_output_is_cut_at_thirty_thousand_characters(call):
    data = call("Bash", command="seq 100000").data
    assert 29_000 < len(data["stdout"]) <= 30_000
    assert data["stdout"].startswith("1\n2\n")
    assert data["stdout"].endswith("\n100000\n")


def look(call, word, **arguments):
    """The first look at a background shell that shows a word."""
    looks = []
    until(lambda: looks.append(call("BashOutput", **arguments).text) or word in looks[-1])
    return looks[-1]


def test_a_background_shell_is_looked_at_and_killed(call, ws, monkeypatch):
    monkeypatch.setattr(shell, "QUICK_SECONDS", 0.5)
    started = call(
        "Bash", command="echo a; echo b; until [ -e go ]; do sleep 0.05; done; echo c; cat", run_in_background=True
    )
    assert started.text.startswith("a\nb\nCommand running in background with ID: 1")
    assert '[More: BashOutput {"bash_id":"1"}]' in started.text
    assert call("BashOutput", bash_id="1").text == "<status>running</status>"
    (ws / "go").touch()
    assert look(call, "<stdout>", bash_id="bash_1") == "<status>running</status>\n\n<stdout>\nc\n</stdout>"
    assert call("KillShell", shell_id="1").text.startswith("Successfully killed shell: 1 (echo a;")
    assert call("BashOutput", bash_id="1").text.startswith("<status>completed</status>")


def test_a_background_task_is_waited_for_and_stopped(call):
    started = call("Bash", command="sleep 0.5; echo done; sleep 30", run_in_background=True)
    assert "ID: 1" in started.text
    look = {"task_id": "1", "timeout": 100}
    assert call("TaskOutput", block=True, **look).text == "<status>running</status>"
    assert call("TaskStop", task_id="1").data == {
        "message": "Successfully stopped task: 1",
        "task_id": "1",
        "task_type": "local_bash",
        "command": "sleep 0.5; echo done; sleep 30",
    }
    assert call("TaskStop").text == "Which job? Give the `task_id` to kill."
    assert call("TaskOutput", block=False, **look).text.startswith("<status>completed</status>")


def test_pages_of_a_pdf(call, put):
    put({"a.pdf": pdf("first page", "second page", "third page")})
    assert call("Read", file_path="a.pdf", pages="2-3").text == (
        "     1\t[page 2: Chapter 2]\n     2\tsecond page\n     3\t\n     4\t[page 3: Chapter 3]\n     5\tthird page"
    )
    assert call("Read", file_path="a.pdf", pages="9").text == "'a.pdf' has no text on pages 9."
    assert call("Read", file_path="a.pdf", pages="last").text == (
        "`pages` is a number or a range such as 1-5, not 'last'."
    )


def test_lines_that_a_filter_leaves_out_are_gone(call):
    call("Bash", command="sleep 0.5; printf 'ok 1\\nerr 2\\nok 3\\n'; sleep 30", run_in_background=True)
    seen = look(call, "err", bash_id="1", filter="^err")
    assert seen == "<status>running</status>\n\n<stdout>\nerr 2\n</stdout>"
    assert call("BashOutput", bash_id="1").text == "<status>running</status>"


def test_a_notebook_cell_is_replaced_by_its_id(call, put, ws):
    cell = {"cell_type": "code", "id": "ab", "metadata": {}, "source": ["1"], "outputs": [], "execution_count": 4}
    put({"n.ipynb": json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}, indent=1)})
    assert "[cell 1: code, id ab]" in call("Read", file_path="n.ipynb").text
    edited = call("NotebookEdit", notebook_path="n.ipynb", cell_id="ab", new_source="2")
    facts = {"edit_mode": "replace", "cell_id": "ab", "cell_type": "code", "language": "python"}
    assert edited.data == {"notebook_path": "n.ipynb", **facts, "new_source": "2", "old_source": "1"}
    assert json.loads((ws / "n.ipynb").read_text())["cells"][0]["source"] == ["2"]


def test_todos_have_an_active_form(call):
    todo = {"content": "Test", "status": "in_progress", "activeForm": "Testing"}
    assert call("TodoWrite", todos=[todo]).data == {"newTodos": [{"content": "Test", "status": "in_progress"}]}
    assert call("TodoWrite", todos=[{"content": "Test", "status": "pending"}]).error.code == "ValidationError"
