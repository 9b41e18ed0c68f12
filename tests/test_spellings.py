"""Calls in the spelling of other harnesses, as recordings show them; and those that stay refused."""

from pathlib import Path
from typing import Any

import pytest

from toolroll import Kit, spellings
from toolroll import tools as builtin
from toolroll.registry import discover

TOOLS = {tool.name: {one.name for one in tool.parameters} for tool in discover(builtin)}


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("spellings")
    with Kit(root, state_dir=tmp_path_factory.mktemp("state")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "given", "tool", "meant"),
    [
        ("bash", {"command": "ls", "description": "List"}, "bash", {"command": "ls", "description": "List"}),
        ("diagnostics", {"path": "a.py"}, "diagnostics", {"files": ["a.py"]}),
        ("rag", {"query": "x"}, "rag", {"query": "x", "action": "search"}),
        ("memory", {"query": "x"}, "memory", {"query": "x", "action": "search"}),
        (
            "multiedit",
            {"glob": "*", "old": "a", "new": "b"},
            "multiedit",
            {"pattern": "*", "find": "a", "replace": "b"},
        ),
        ("redo", {}, "undo", {"redo": True}),
        ("undo", {"call": 3}, "undo", {"entry": 3}),
        ("bash", {"command": "ls", "timeout": 120000}, "bash", {"command": "ls", "timeout": 120.0}),
        ("bash", {"command": "ls", "timeout": 3_600_000}, "bash", {"command": "ls", "timeout": 600}),
        ("bash", {"command": "ls", "timeout_ms": 500}, "bash", {"command": "ls", "timeout": 0.5}),
        ("bash", {"command": "ls", "run_in_background": True}, "bash", {"command": "ls", "background": True}),
        ("shell", {"command": ["bash", "-lc", "a | b"]}, "bash", {"command": "a | b"}),
        ("shell", {"command": ["git", "log", "a b"]}, "bash", {"command": "git log 'a b'"}),
        (
            "exec_command",
            {"cmd": "make", "workdir": "src", "yield_time_ms": 10000, "max_output_tokens": 500},
            "bash",
            {"command": "make", "cwd": "src", "wait": 10.0, "most": 2000},
        ),
        ("Read", {"file_path": "a.py", "offset": 0}, "read", {"path": "a.py"}),
        ("read", {"path": "a.py", "view_range": [3, 9]}, "read", {"path": "a.py", "offset": 3, "end": 9}),
        ("read", {"path": "a.py", "view_range": [3, -1]}, "read", {"path": "a.py", "offset": 3}),
        ("read", {"path": "a.py", "view_range": "[3, 9]"}, "read", {"path": "a.py", "offset": 3, "end": 9}),
        ("read", {"paths": ["a.py"]}, "read", {"path": "a.py"}),
        ("READ_FILE", {"filePath": "a.py", "limit": "20"}, "read", {"path": "a.py", "limit": 20}),
        ("functions.read", {"path": "a.py"}, "read", {"path": "a.py"}),
        (
            "Grep",
            {"pattern": "x", "output_mode": "files_with_matches", "-i": True, "-n": True, "head_limit": 5},
            "grep",
            {"pattern": "x", "output": "files", "ignore_case": True, "limit": 5},
        ),
        ("grep", {"pattern": "x", "-A": 20, "-B": 2}, "grep", {"pattern": "x", "after": 20, "before": 2}),
        ("grep", {"pattern": "x", "context": 1, "-C": 3}, "grep", {"pattern": "x", "context": 3}),
        ("Grep", {"pattern": "x", "type": "go"}, "grep", {"pattern": "x", "type": "go"}),
        ("grep", {"pattern": "x", "glob": "*.c"}, "grep", {"pattern": "x", "include": "*.c"}),
        ("Glob", {"pattern": "*.py"}, "find", {"pattern": "*.py"}),
        # Cursor, Copilot, Cline, Roo, Kimi, Factory, pi, Windsurf
        ("read_file", {"target_file": "a", "start_line_one_indexed": 3}, "read", {"path": "a", "offset": 3}),
        ("ReadFile", {"path": "a", "line_offset": 3, "n_lines": 9}, "read", {"path": "a", "offset": 3, "limit": 9}),
        ("read_file", {"files": [{"path": "a"}]}, "read", {"path": "a"}),
        ("view_file", {"AbsolutePath": "a", "IncludeSummaryOfOtherFiles": True}, "read", {"path": "a"}),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]},
            "edit",
            {"path": "a", "old": "x", "new": "y"},
        ),
        ("edit", {"path": "a", "search": "x", "replace": "y"}, "edit", {"path": "a", "old": "x", "new": "y"}),
        (
            "StrReplaceFile",
            {"path": "a", "edit": {"old": "x", "new": "y"}},
            "edit",
            {"path": "a", "old": "x", "new": "y"},
        ),
        (
            "replace_in_file",
            {"path": "a", "diff": "<<<<<<< SEARCH\n:start_line:3\n-------\nx\n=======\ny\n>>>>>>> REPLACE"},
            "edit",
            {"path": "a", "old": "x", "new": "y"},
        ),
        (
            "MultiEdit",
            {
                "path": "a",
                "changes": [{"old_str": "x", "new_str": "y"}, {"old_str": "z", "new_str": "", "change_all": True}],
            },
            "edit",
            {
                "path": "a",
                "old": "x",
                "new": "y",
                "edits": [{"old": "x", "new": "y"}, {"old": "z", "new": "", "replace_all": True}],
            },
        ),
        ("apply_diff", {"diff": "--- a\n+++ b"}, "patch", {"patch": "--- a\n+++ b"}),
        (
            "replace_file_content",
            {
                "TargetFile": "a",
                "Instruction": "i",
                "ReplacementChunks": [{"TargetContent": "x", "ReplacementContent": "y", "AllowMultiple": False}],
            },
            "edit",
            {"path": "a", "old": "x", "new": "y", "replace_all": False},
        ),
        ("write_to_file", {"path": "a", "content": "x", "line_count": 1}, "write", {"path": "a", "content": "x"}),
        (
            "write_to_file",
            {"TargetFile": "a", "CodeContent": "x", "EmptyFile": False},
            "write",
            {"path": "a", "content": "x"},
        ),
        (
            "grep_search",
            {"query": "x", "isRegexp": False, "includePattern": "*.c", "maxResults": 5},
            "grep",
            {"pattern": "x", "literal": True, "include": "*.c", "limit": 5},
        ),
        ("find", {"name": "*.py", "dir": "."}, "find", {"pattern": "*.py", "path": "."}),
        ("LS", {"directory_path": "a", "ignorePatterns": ["x"]}, "ls", {"path": "a"}),
        ("Execute", {"command": "ls", "riskLevel": "low", "riskLevelReason": "r"}, "bash", {"command": "ls"}),
        (
            "run_command",
            {"CommandLine": "ls", "Cwd": ".", "Blocking": True, "SafeToAutoRun": True},
            "bash",
            {"command": "ls", "cwd": "."},
        ),
        ("apply_patch", {"input": "*** Begin Patch"}, "patch", {"patch": "*** Begin Patch"}),
        ("patch", {"patchText": "--- a"}, "patch", {"patch": "--- a"}),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
            "edit",
            {"path": "a", "old": "x", "new": "y"},
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "insert", "path": "a", "insert_line": 0, "insert_text": "x"},
            "insert",
            {"path": "a", "line": 1, "content": "x"},
        ),
        ("update_plan", {"plan": [{"step": "a", "status": "completed"}], "explanation": "why"}, "todo_write", None),
        ("BashOutput", {"bash_id": "2"}, "job", {"action": "output", "id": 2}),
        ("write_stdin", {"session_id": 3, "chars": "y\n"}, "job", {"action": "input", "id": 3, "input": "y\n"}),
    ],
)
def test_what_is_meant(kit: Kit, name: str, given: dict[str, Any], tool: str, meant: dict[str, Any] | None) -> None:
    checked = kit.check(name, given)
    assert checked.ok, checked.faults
    assert checked.name == tool
    assert meant is None or checked.arguments == meant
    assert checked.coerced or "description" in given


@pytest.mark.parametrize(
    ("name", "given", "fault"),
    [
        ("grep", {"pattern": "x", "type": "*.py"}, "There is no parameter 'type'"),
        ("grep", {"pattern": "x", "-Z": True}, "There is no parameter '-Z'"),
        ("read", {"path": "a", "offset": 7, "view_range": [3, 9]}, "There is no parameter 'view_range'"),
        ("read", {"paths": ["a", "b"]}, "`path` is required"),
        ("read", {"path": "a", "view_range": [9, 3]}, "There is no parameter 'view_range'"),
        ("edit", {"path": "a", "old": "x", "new": "y", "expected_replacements": 3}, "There is no parameter"),
        ("bash", {"command": [1]}, "`command` must be a string"),
        ("bash", {"command": "ls", "apart": True}, "There is no parameter 'apart'"),
        ("str_replace_editor", {"command": "cut"}, "there is no tool"),
        ("nothing", {}, "there is no tool"),
    ],
)
def test_what_is_not_clear_is_refused(kit: Kit, name: str, given: dict[str, Any], fault: str) -> None:
    checked = kit.check(name, given)
    assert not checked.ok
    assert any(fault in one for one in checked.faults), checked.faults


def test_a_call_is_made_as_it_is_meant(kit: Kit) -> None:
    (Path(kit.workspace) / "a.txt").write_text("one\ntwo\nthree\n")
    result = kit.call("str_replace_editor", {"command": "view", "path": "a.txt", "view_range": [2, 2]})
    assert result.ok
    assert "two" in result.text
    assert "three" not in result.text
    assert result.meta["coerced"] == ["str_replace_editor read as read", "view_range read as offset=2, end=2"]


def test_a_command_goes_on_as_a_job_after_the_time_that_is_given(kit: Kit) -> None:
    result = kit.call("exec_command", {"cmd": "echo begun; sleep 60", "yield_time_ms": 300})
    assert result.ok, result.text
    assert result.data["job"] is not None
    kit.call("job", {"action": "kill", "id": result.data["job"]})


def test_a_refusal_has_the_corrected_call_where_there_is_one(kit: Kit) -> None:
    result = kit.call("read", {"path": "a.txt", "ofset": 2})
    assert result.error is not None
    [suggestion] = result.error.suggest
    assert (suggestion.name, dict(suggestion.arguments)) == ("read", {"path": "a.txt", "offset": 2})
    result = kit.call("bash", {"command": "ls", "timeout": -3})
    assert result.error is not None
    assert result.error.suggest[0].arguments["timeout"] == 0.1
    result = kit.call("read", {"ofset": 2})
    assert result.error is not None
    assert not result.error.suggest


def test_a_dialect_has_its_own_names(tmp_path: Path) -> None:
    with Kit(tmp_path, "pigo", state_dir=tmp_path.parent / "state") as kit:
        assert not kit.check("Grep", {"pattern": "x"}).ok


def test_every_rule_is_about_a_tool_and_its_parameters() -> None:
    assert set(spellings._PARAMETERS) <= set(TOOLS)
    assert {tool for tool, _ in spellings._TOOLS.values()} | set(spellings._COMMANDS.values()) <= set(TOOLS)
    blocks = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"
    samples: list[Any] = [
        "str_replace",
        "create",
        "overwrite",
        blocks,
        {"old": "a", "new": "b"},
        "a",
        5,
        5000,
        0,
        -1,
        1,
        True,
        False,
        "false",
        "counts",
        ["a"],
        [1, 2],
        [{"step": "a"}],
    ]
    for tool, rules in spellings._PARAMETERS.items():
        for name, rule in rules.items():
            readings = [reading for value in samples if (reading := rule(value)) is not None]
            assert readings, (tool, name)
            assert all(set(reading) <= TOOLS[tool] for reading in readings), (tool, name)


def test_several_edits_of_other_harnesses_are_made_all_or_none(kit: Kit) -> None:
    path = Path(kit.workspace) / "several.txt"
    path.write_text("one\ntwo\ntwo\n")
    edits = [{"oldText": "one", "newText": "1"}, {"old_str": "two", "new_str": "2", "replaceAll": True}]
    result = kit.call("edit", {"path": "several.txt", "edits": edits})
    assert result.ok, result.text
    assert path.read_text() == "1\n2\n2\n"
    diff = "".join(
        f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n" for old, new in (("1\n2", "3"), ("2", "4"))
    )
    assert kit.call("replace_in_file", {"path": "several.txt", "diff": diff}).ok
    assert path.read_text() == "3\n4\n"
    assert not kit.call("edit", {"path": "several.txt", "edits": [*edits, {"old": "3", "new": "5"}]}).ok
    assert path.read_text() == "3\n4\n"
