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


DEFAULT = [
    Metadata("read", "file", "Read file contents with line numbers", True),
    Metadata("glob", "file", "Find files by pattern", True),
    Metadata("grep", "file", "Search file contents", True),
    Metadata("write", "file", "Write or create files", False),
    Metadata("edit", "file", "Edit file contents", False),
    Metadata("bash", "system", "Execute shell commands", False),
]


def test_the_registry_has_the_names_categories_and_safety_of_the_document(kit):
    registry = kit.registry
    assert [registry.metadata(name) for name in registry.names()] == DEFAULT
    assert registry.get("glob").schema["required"] == ["pattern"]
    assert registry.get("find") is None
    assert [one.name for one in registry.safe()] == ["read", "glob", "grep"]
    assert [one.name for one in registry.of_category("system")] == ["bash"]
    assert [one.name for one in registry.filter(["bash", "find", "read"])] == ["bash", "read"]


def test_safe_tools_are_those_that_run_in_thinking_mode(open_kit):
    assert open_kit("cdd", mode="thinking").names() == ["read", "glob", "grep"]


def test_relative_paths_begin_at_the_working_directory_and_absolute_ones_stay(kit, put, ws):
    put({"a.txt": "outer\n", "sub/a.txt": "inner\n"})
    calls = [("a.txt", "."), ("a.txt", "sub"), (f"{ws}/a.txt", "sub")]
    assert [kit.call("read", {"file_path": path}, cwd=cwd).text[7:] for path, cwd in calls] == [
        "outer",
        "inner",
        "outer",
    ]


def test_a_path_outside_is_refused_also_behind_a_link(kit, ws, tmp_path):
    (tmp_path / "out.txt").write_text("secret\n")
    (ws / "link.txt").symlink_to(tmp_path / "out.txt")
    codes = [kit.call("read", {"file_path": path}).error.code for path in ("/etc/passwd", "../out.txt", "link.txt")]
    assert codes == ["SecurityError"] * 3


def test_a_changed_file_is_a_conflict_and_a_touched_one_is_none(kit, put, ws):
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    put({"a.txt": "one\n"})
    kit.call("read", {"file_path": "a.txt"})
    os.utime(ws / "a.txt", (1, 1))
    assert kit.call("edit", edit).ok
    put({"a.txt": "one of others\n"})
    for refused in (kit.call("edit", edit), kit.call("write", {"file_path": "a.txt", "content": "mine\n"})):
        assert (refused.error.code, "modified" in refused.text) == ("Conflict", True)
    assert (ws / "a.txt").read_text() == "one of others\n"


def test_a_file_that_a_command_changed_must_be_read_again(kit, put, ws):
    put({"a.txt": "one\n"})
    kit.call("read", {"file_path": "a.txt"})
    kit.call("bash", {"command": "echo other > a.txt"})
    assert kit.call("write", {"file_path": "a.txt", "content": "mine\n"}).error.code == "Conflict"
    kit.call("read", {"file_path": "a.txt"})
    assert kit.call("write", {"file_path": "a.txt", "content": "mine\n"}).ok


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("", "ValidationError", "`file_path` is required"),
        ("none.txt", "NotFound", "File not found"),
        ("folder", "ValidationError", "is a directory"),
        ("big.txt", "TooLarge", "too large"),
    ],
)
def test_read_refuses_in_the_order_of_the_document(kit, put, path, code, words):
    put({"folder/x": "", "big.txt": "x\n" * (5 * 512 * 1024 + 1)})
    result = kit.call("read", {"file_path": path})
    assert (result.error.code, words in result.text) == (code, True), result.text


def test_two_thousand_lines_are_read_unless_limit_says_otherwise(kit, put):
    put({"a.txt": "x\n" * 2500})
    shown = [kit.call("read", {"file_path": "a.txt", **limit}).data["line_count"] for limit in ({}, {"limit": 2400})]
    assert shown == [2000, 2400]


def test_a_read_is_recorded_and_an_edit_needs_one(kit, put):
    put({"a.txt": "one\n"})
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    assert "must be read first" in kit.call("edit", edit).text
    kit.call("read", {"file_path": "a.txt"})
    assert kit.records.last_read("a.txt") is not None
    assert kit.call("edit", edit).ok


def test_a_write_makes_parent_directories_and_replaces_no_directory(kit, put, ws):
    put({"folder/x": ""})
    assert kit.call("write", {"file_path": "a/b/c.txt", "content": "x\n"}).ok
    assert (ws / "a/b/c.txt").read_text() == "x\n"
    assert "is a directory" in kit.call("write", {"file_path": "folder", "content": "x\n"}).text


def test_a_write_replaces_a_file_that_nobody_has_read(kit, put, ws):
    put({"a.txt": "old\n"})
    assert kit.call("write", {"file_path": "a.txt", "content": "new\n"}).ok
    assert (ws / "a.txt").read_text() == "new\n"


def test_the_three_modes_of_edit(kit, ws):
    edits = [
        ({"new_string": "one two one\n"}, "one two one\n"),  # creates
        ({"old_string": " two"}, "one one\n"),  # deletes
        ({"old_string": "one", "new_string": "1"}, "one one\n"),  # there twice
        ({"old_string": "one", "new_string": "1", "replace_all": True}, "1 1\n"),
        ({"new_string": "again"}, "1 1\n"),  # exists
    ]
    done = []
    for arguments, content in edits:
        done.append(kit.call("edit", {"file_path": "a.txt", **arguments}).ok)
        assert (ws / "a.txt").read_text() == content
    assert done == [True, True, False, True, False]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.go", ["a.go", "x/b.go"]),  # a name, in every folder
        ("?.go", ["a.go", "x/b.go"]),
        ("**/*.go", ["a.go", "x/b.go"]),
        ("src/**/*.ts", ["src/c.ts", "src/y/d.ts"]),
        ("**", ["a.go", "src/c.ts", "src/y/d.ts", "x/b.go"]),
    ],
)
def test_patterns_of_glob(kit, put, pattern, found):
    put(dict.fromkeys(["a.go", "x/b.go", "src/c.ts", "src/y/d.ts"], ""))
    assert sorted(kit.call("glob", {"pattern": pattern}).text.split("\n")) == found


@pytest.mark.parametrize("arguments", [{}, {"pattern": ""}, {"pattern": "*", "path": "none"}])
def test_glob_refuses_what_it_cannot_look_for(kit, arguments):
    assert not kit.call("glob", arguments).ok


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": r"log.*Error"}, ["a.ts: log an Error", "b.tsx: log(Error)", "c.odd: log Error"]),
        ({"pattern": r"log\s+\w+"}, ["a.ts: log an", "c.odd: log Error"]),
        ({"pattern": "log(Error)", "literal_text": True}, ["b.tsx: log(Error)"]),
        ({"pattern": "log", "include": "*.{ts,tsx}"}, ["a.ts: log", "b.tsx: log"]),
    ],
)
def test_grep_searches_text_files_by_expression_text_and_include(kit, put, arguments, lines):
    put({"a.ts": "log an Error\n", "b.tsx": "log(Error)\n", "c.odd": "log Error\n", "d.ts": b"\0\0log an Error\n"})
    text = kit.call("grep", arguments).text
    assert text.startswith(f"Found {len(lines)} match")
    assert all(line.split(": ")[0] + ":" in text for line in lines)


@pytest.mark.parametrize("pattern", ["(", "[z-a]", r"(?=x)", r"(x)\1"])
def test_an_expression_that_go_does_not_take_is_an_error(kit, pattern):
    assert kit.call("grep", {"pattern": pattern}).error.code == "ValidationError"


def test_nothing_is_kept_from_one_search_to_the_next(kit, put):
    put({"a.txt": "one\n"})
    assert kit.call("grep", {"pattern": "one|two"}).text.endswith("Line 1, Char 1: one")
    put({"a.txt": "two\n"})
    assert kit.call("grep", {"pattern": "one|two"}).text.endswith("Line 1, Char 1: two")


BANNED = [
    "curl",
    "wget",
    "ssh",
    "scp",
    "nc",
    "telnet",
    "chrome",
    "firefox",
    "safari",
    "sudo",
    "su",
    "doas",
    "apt",
    "apt-get",
    "yum",
    "dnf",
    "pacman",
    "brew",
    "systemctl",
    "service",
    "mount",
    "umount",
    "fdisk",
    "mkfs",
    "iptables",
    "ufw",
    "firewall-cmd",
    "ifconfig",
    "ip",
]


@pytest.mark.parametrize("form", ["{}", "true && {} x", "echo x | {}", "env nice {} x", "echo $(/usr/bin/{} x)"])
def test_all_banned_commands_are_refused_wherever_they_would_run(kit, form):
    results = {name: kit.call("bash", {"command": form.format(name)}) for name in BANNED}
    assert len(results) == 29
    assert {name: one.text for name, one in results.items() if one.ok or one.error.code != "SecurityError"} == {}


def test_a_command_runs_in_working_dir_by_bash(kit, ws):
    (ws / "sub").mkdir()
    command = "[[ -n $BASH_VERSION ]] && pwd; exit 3"
    assert kit.call("bash", {"command": command, "working_dir": "sub"}).text == f"{ws}/sub\nExit code: 3"
    assert kit.call("bash", {"command": command}, cwd="sub").data["output"] == f"{ws}/sub\n"
