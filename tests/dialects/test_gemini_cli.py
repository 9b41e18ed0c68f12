"""Gemini CLI: the published parameters, and results in the shapes of the original."""

import pytest

from tests.host.http.web import Server, reply
from toolroll.policy.rules import Policy

# By tool, as its declarations have them: what is required, then the rest.
PARAMETERS = {
    "list_directory": ("dir_path", "ignore file_filtering_options"),
    "read_file": ("file_path", "start_line end_line"),
    "grep_search": (
        "pattern",
        "dir_path include_pattern exclude_pattern names_only case_sensitive fixed_strings context before after no_ignore max_matches_per_file "
        "total_max_matches",
    ),
    "glob": ("pattern", "dir_path case_sensitive respect_git_ignore respect_gemini_ignore"),
    "replace": ("file_path instruction old_string new_string", "allow_multiple"),
    "write_file": ("file_path content", ""),
    "run_shell_command": ("command", "description dir_path is_background delay_ms"),
    "list_background_processes": ("", ""),
    "read_background_output": ("pid", "lines delay_ms"),
    "google_web_search": ("query", ""),
    "web_fetch": ("prompt", ""),
    "write_todos": ("todos", ""),
}


@pytest.fixture
def kit(open_kit):
    return open_kit("gemini-cli")


def test_the_parameters_are_the_published_ones(kit):
    shown = {}
    for entry in kit.entries():
        needed = set(entry.schema.get("required", ()))
        shown[entry.name] = needed, set(entry.schema["properties"]) - needed
    assert shown == {name: (set(needed.split()), set(rest.split())) for name, (needed, rest) in PARAMETERS.items()}


def test_a_folder_shows_folders_first_and_sizes(kit, put):
    put({"a.txt": "123", "d/b.txt": ""})
    text = kit.call("list_directory", {"dir_path": ".", "file_filtering_options": {"respect_git_ignore": True}}).text
    assert text == "Directory listing for .:\n[DIR] d\na.txt (3 bytes)"
    assert (
        kit.call("list_directory", {"dir_path": ".", "ignore": ["*.txt"]}).text == "Directory listing for .:\n[DIR] d"
    )


def test_a_file_is_its_text_and_a_long_one_says_where_to_go_on(kit, put):
    put({"a.txt": "one\ntwo\n", "long.txt": "x\n" * 3000})
    assert kit.call("read_file", {"file_path": "a.txt", "start_line": 2, "end_line": 2}).text == "two"
    text = kit.call("read_file", {"file_path": "long.txt"}).text
    assert "Status: Showing lines 1-2000 of 3000 total lines.\nAction: To read more, use start_line: 2001." in text


def test_matches_ignore_case_unless_told_otherwise(kit, put):
    put({"a.txt": "one\nTwo\n"})
    found = kit.call("grep_search", {"pattern": "two", "context": 1}).text
    assert found == "Found 1 match:\n---\nFile: a.txt\nL1- one\nL2: Two\n---"
    assert (
        kit.call("grep_search", {"pattern": "two", "after": 1}).text == "Found 1 match:\n---\nFile: a.txt\nL2: Two\n---"
    )
    assert kit.call("grep_search", {"pattern": "two", "names_only": True}).text == "Found 1 files with matches:\na.txt"
    assert kit.call("grep_search", {"pattern": "two", "case_sensitive": True}).text.startswith("No matches found")


def test_lines_that_match_the_exclude_pattern_are_left_out(kit, put):
    put({"a.txt": "a one\nb\nc one test\nd\n", "b.txt": "one Test\nx\n"})
    found = kit.call("grep_search", {"pattern": "one", "exclude_pattern": "test", "context": 1}).text
    assert found == "Found 1 match:\n---\nFile: a.txt\nL1: a one\nL2- b\nL3- c one test\nL4- d\n---"
    found = kit.call("grep_search", {"pattern": "one", "exclude_pattern": "test", "total_max_matches": 1}).text
    assert found == "Found 1 match:\n---\nFile: a.txt\nL1: a one\n---"


def test_a_change_needs_an_instruction_and_shows_what_it_did(kit, put):
    put({"a.txt": "one\n"})
    change = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    assert kit.call("replace", change).error.code == "ValidationError"
    text = kit.call("replace", {**change, "instruction": "Count on."}).text
    assert text.startswith("Successfully modified file: a.txt (1 replacements). Here is the updated code:\n")
    assert "+two" in text
    made = kit.call("write_file", {"file_path": "b.txt", "content": "x"}).text
    assert made == "Successfully created and wrote to new file: b.txt."


def test_a_command_runs_in_front_and_in_the_background(kit):
    assert kit.call("run_shell_command", {"command": "false"}).text == "Output: (empty)\nExit Code: 1"
    started = kit.call("run_shell_command", {"command": "sleep 0.3; echo late", "is_background": True})
    assert started.text.startswith("Command is running in background. PID: 1.")
    assert kit.call("read_background_output", {"pid": 1, "delay_ms": 5000}).text.startswith("late\n")


def test_todos_are_listed_with_their_status(kit):
    todos = [{"description": "a", "status": "cancelled"}, {"description": "b", "status": "blocked"}]
    assert kit.call("write_todos", {"todos": todos}).text.endswith("is now:\n1. [cancelled] a\n2. [pending] b")


def test_a_prompt_is_fetched_by_the_url_in_it(open_kit):
    with Server(reply("hello")) as server:
        kit = open_kit("gemini-cli", policy=Policy(hosts=(server.host,)))
        assert "hello" in kit.call("web_fetch", {"prompt": f"Summarize ({server.url('/')})."}).text
        assert kit.call("web_fetch", {"prompt": "Summarize."}).text.startswith("`prompt` holds no URL.")
