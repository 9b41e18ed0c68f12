"""Coding Agent: one tool with actions; a Python file never stops parsing."""

import subprocess
from dataclasses import replace

import pytest

from toolroll import dialects
from toolroll.kit import preset


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


@pytest.mark.parametrize("tool", ["file", "memory", "note"])
def test_a_model_is_told_what_each_action_does(open_kit, tool):
    entry = open_kit("coding-agent").registry.get(tool)
    actions = entry.schema["properties"]["action"]["enum"]
    assert [action for action in actions if f"{action}: " not in entry.description.replace("\n", " ")] == []


def test_lines_are_inserted_before_a_line_or_at_the_end(file, put, ws):
    put({"a.txt": "one\ntwo\n"})
    assert file("insert", path="a.txt", start_line=2, content="middle\n").ok
    assert file("insert", path="a.txt", content="end\n").ok
    assert (ws / "a.txt").read_text() == "one\nmiddle\ntwo\nend\n"


def test_an_edit_with_more_than_one_reading_is_refused(file, put, ws):
    put({"m.txt": "x = 1\ny = 2\nx = 1\n", "n.txt": "if a:\n    run(1)\nif b:\n\trun(1)\n"})
    for path, old in (("m.txt", "x = 1"), ("n.txt", "  run(1)")):
        before = (ws / path).read_text()
        refused = file("edit", path=path, old_string=old, new_string="z")
        assert (refused.error.code, (ws / path).read_text()) == ("Conflict", before), refused.text


def test_lists_hold_200_entries_and_file_info_has_size_lines_and_time(file, put):
    put({f"d/f{number:03}": "" for number in range(201)} | {"a.txt": "one\ntwo\n"})
    listed = file("list_dir", path="d").text
    assert (listed.count("\nf"), "f199" in listed, "f200" in listed) == (199, True, False)
    data = file("file_info", path="a.txt").data
    assert (data["size"], data["lines"], data["modified"][:2]) == (8, 2, "20")


def test_paths_keep_to_the_workspace(file, ws, tmp_path):
    (tmp_path / "out.txt").write_text("x\n")
    (ws / "link.txt").symlink_to(tmp_path / "out.txt")
    for path in ("../out.txt", "link.txt", "/etc/passwd"):
        calls = [("read", {}), ("write", {"content": "y"}), ("edit", {"old_string": "x", "new_string": "y"})]
        assert [file(action, path=path, **more).error.code for action, more in calls] == ["SecurityError"] * 3
    assert (tmp_path / "out.txt").read_text() == "x\n"


def test_five_megabytes_are_written_and_no_more(file, ws):
    most = 5 * 1024 * 1024
    assert file("write", path="a.txt", content="x" * most).ok
    assert file("write", path="b.txt", content="x" * (most + 1)).error.code == "TooLarge"
    assert (ws / "a.txt").stat().st_size == most


def test_a_search_shows_lines_around_each_match(open_kit, put):
    put({"m.py": "one\ntwo\nNEEDLE\nfour\nfive\nsix\n"})
    call = open_kit("coding-agent").call
    search = {"action": "search", "pattern": "needle", "case_sensitive": False}
    assert call("code_search", search).text.splitlines()[1:] == ["1-one", "2-two", "3:NEEDLE", "4-four", "5-five"]
    assert "3:" not in call("code_search", search | {"case_sensitive": True}).text


@pytest.mark.parametrize(
    ("query", "name"),
    [("functions", "run"), ("classes", "Car"), ("imports", "os"), ("calls", "run"), ("decorators", "cache")],
)
def test_each_kind_of_structure_is_found(open_kit, put, query, name):
    put(
        {
            "m.py": "import os\nfrom functools import cache\n\n\nclass Car:\n    @cache\n    def run(self):\n        self.run()\n"
        }
    )
    text = open_kit("coding-agent").call("code_search", {"action": "ast_search", "query_type": query}).text
    assert (name in text, "m.py" in text) == (True, True)


def test_defaults_are_those_of_the_document(open_kit):
    kit = open_kit("coding-agent")
    timeouts = [kit.registry.get("code_exec").schema["properties"]["timeout"]["default"], kit.limits.test_seconds]
    assert timeouts == [30, 120]
    defaults = {name: one.get("default") for name, one in kit.registry.get("profiler").schema["properties"].items()}
    assert (defaults["top_n"], defaults["number"], defaults["repeat"]) == (15, 1000, 5)


@pytest.fixture
def repository(ws):
    for words in (
        ["init", "-q", "-b", "main"],
        ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "one"],
        ["branch", "b1"],
    ):
        subprocess.run(["git", *words], cwd=ws, check=True)


DESTRUCTIVE = [
    ("code_exec", {"action": "shell", "code": "git push --force"}),
    ("code_exec", {"action": "shell", "code": "git reset --hard"}),
    ("code_exec", {"action": "shell", "code": "git rebase main"}),
    ("code_exec", {"action": "shell", "code": "git clean -f"}),
    ("code_exec", {"action": "shell", "code": "git branch -D b1"}),
    ("git", {"action": "stash", "sub_action": "drop"}),
]


def test_what_loses_work_is_blocked_until_somebody_agrees(open_kit, repository):
    kit = open_kit("coding-agent")
    refused = [kit.call(*one) for one in DESTRUCTIVE]
    assert [one.error and one.error.code for one in refused] == ["PermissionDenied"] * len(DESTRUCTIVE)
    asked = []
    approving = open_kit("coding-agent", approve=lambda request: asked.append(request.name) or False)
    for one in DESTRUCTIVE:
        approving.call(*one)
    assert asked == [name for name, _ in DESTRUCTIVE]
    willing = open_kit("coding-agent", policy=replace(preset("standard"), allow_destructive=True))
    assert willing.call("code_exec", {"action": "shell", "code": "git branch -D b1"}).ok


def test_a_stash_is_saved_listed_and_popped_without_a_question(open_kit, repository, put, ws):
    put({"a.txt": "one\n"})
    call = open_kit("coding-agent").call
    assert call("git", {"action": "add", "files": "a.txt"}).ok
    assert [call("git", {"action": "stash", "sub_action": sub}).ok for sub in ("save", "list", "pop")] == [True] * 3
    assert (ws / "a.txt").read_text() == "one\n"


READING = [
    "ls", "dir", "tree", "cat a.txt", "head -1 a.txt", "tail -1 a.txt", "find . -name '*.txt'", "grep a a.txt",
    "wc -l a.txt", "sort a.txt", "uniq a.txt", "cut -c1 a.txt", "awk {print} a.txt", "sed -n 1p a.txt", "pwd", "cd d",
    "file a.txt", "stat a.txt", "du -s .", "df .", "echo hi", "which ls",
]  # fmt: skip


def test_the_22_commands_of_the_terminal_are_allowed_and_others_refused(open_kit, put, ws):
    put({"a.txt": "b\na\n", "d/x": ""})
    call = open_kit("coding-agent").call
    results = {command: call("terminal", {"command": command}) for command in READING}
    assert len({command.split()[0] for command in results}) == 22
    assert [command for command, one in results.items() if one.error and one.error.code == "SecurityError"] == []
    call("terminal", {"command": f"cd {ws}"})
    writing = ["rm a.txt", "python3 -c 1", "sed -i s/a/b/ a.txt", "sort -o a.txt a.txt", "find . -delete", "echo x > z"]
    assert {call("terminal", {"command": one}).error.code for one in writing} == {"SecurityError"}
    assert (sorted(path.name for path in ws.iterdir()), (ws / "a.txt").read_text()) == (["a.txt", "d"], "b\na\n")


def test_servers_are_those_that_the_operator_has_named(open_kit, ws, put):
    put({"mcp.json": '{"mcpServers": {"mine": {"command": "touch", "args": ["pwned"]}}}', ".mcp.json": "{}"})
    result = open_kit("coding-agent", mcp={}).call("mcp", {"action": "list_tools", "server": "mine"})
    assert (result.ok, "server_command" in str(open_kit("coding-agent").definitions())) == (False, False)
    assert not (ws / "pwned").exists()
