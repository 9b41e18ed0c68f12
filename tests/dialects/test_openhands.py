"""OpenHands: the published parameters, and results in the shapes of the original."""

import pytest

# By tool, as its actions have them.
PARAMETERS = {
    "terminal": "command is_input timeout reset",
    "file_editor": "command path file_text old_str new_str insert_line view_range",
    "task_tracker": "command task_list",
    "grep": "pattern path include",
    "glob": "pattern path",
    "finish": "message",
}


@pytest.fixture
def kit(open_kit):
    return open_kit("openhands")


def test_the_parameters_are_the_published_ones(kit):
    shown = {entry.name: set(entry.schema["properties"]) for entry in kit.entries()}
    assert shown == {name: set(names.split()) for name, names in PARAMETERS.items()}


def test_the_editor_makes_changes_and_takes_one_back(kit, ws):
    def call(command, **given):
        return kit.call("file_editor", {"command": command, "path": "a.txt", **given})

    assert call("create", file_text="one\n").text == "File created successfully at: a.txt"
    assert call("create", file_text="again\n").error.code == "Conflict"
    assert call("str_replace", old_str="one", new_str="two").text.startswith("The file a.txt has been edited.\n")
    assert call("insert", insert_line=1, new_str="end\n").ok
    assert (ws / "a.txt").read_text() == "two\nend\n"
    assert call("undo_edit").text == "Last edit to a.txt undone successfully."
    assert (ws / "a.txt").read_text() == "two\n"


def test_a_command_tells_folder_and_exit_code(kit, ws):
    text = kit.call("terminal", {"command": "echo hi; false", "is_input": False}).text
    assert text == f"hi\n[Current working directory: {ws}]\n[Command finished with exit code 1]"
    assert "timed out after 0.2 s" in kit.call("terminal", {"command": "sleep 9", "timeout": 0.2}).text
    assert kit.call("terminal", {"command": "y", "is_input": True}).error.code == "ValidationError"


def test_tasks_keep_their_notes(kit):
    assert kit.call("task_tracker", {"command": "view"}).text.startswith("No task list found.")
    tasks = [{"title": "a", "notes": "more"}, {"title": "b", "status": "done"}]
    planned = kit.call("task_tracker", {"command": "plan", "task_list": tasks}).text
    assert planned == "Task list has been updated with 2 item(s)."
    assert kit.call("task_tracker", {"command": "view"}).text == "# Task List\n\n1. ⏳ a\n   more\n2. ✅ b"


def test_searches_give_files_and_ignore_case_in_contents(kit, put):
    put({"a.txt": "One\n", "b.md": ""})
    assert kit.call("grep", {"pattern": "one"}).text == "Found 1 file(s):\na.txt"
    assert kit.call("glob", {"pattern": "*.md"}).text == "Found 1 file(s):\nb.md"
    assert kit.call("glob", {"pattern": "*.none"}).text.startswith("No files found")


def test_a_task_ends_with_a_message(kit):
    result = kit.call("finish", {"message": "done"})
    assert (result.text, result.control) == ("done", "finish")
