"""opencode: the published parameters, and results in the shapes of the original."""

import json

import pytest

# By tool, as the snapshot of its parameters has them: what is required, then the rest.
PARAMETERS = {
    "bash": ("command", "timeout workdir"),
    "read": ("filePath", "offset limit"),
    "glob": ("pattern", "path"),
    "grep": ("pattern", "path include"),
    "edit": ("filePath oldString newString", "replaceAll"),
    "write": ("filePath content", ""),
    "webfetch": ("url", "format timeout"),
    "todowrite": ("todos", ""),
    "websearch": ("query", "numResults livecrawl type contextMaxCharacters"),
    "apply_patch": ("patchText", ""),
}


@pytest.fixture
def kit(open_kit):
    return open_kit("opencode")


def test_the_parameters_are_the_published_ones(kit):
    shown = {
        entry.name: (set(entry.schema["required"]), set(entry.schema["properties"]) - set(entry.schema["required"]))
        for entry in kit.entries()
    }
    assert shown == {name: (set(needed.split()), set(rest.split())) for name, (needed, rest) in PARAMETERS.items()}


def test_a_file_is_shown_between_tags_with_numbers(kit, put, ws):
    put({"a.txt": "one\ntwo\n"})
    text = kit.call("read", {"filePath": str(ws / "a.txt"), "offset": 0}).text
    tags = f"<path>{ws}/a.txt</path>\n<type>file</type>\n<content>\n"
    assert text == f"{tags}1: one\n2: two\n\n(End of file - total 2 lines)\n</content>"


def test_a_part_of_a_file_names_the_offset_of_the_next(kit, put):
    put({"a.txt": "one\ntwo\n"})
    assert (
        "1: one\n\n(Showing lines 1-1 of 2. Use offset=2 to continue.)"
        in kit.call("read", {"filePath": "a.txt", "limit": 1}).text
    )


def test_a_folder_is_read_as_its_names(kit, put):
    put({"a.txt": "", "d/b.txt": ""})
    text = kit.call("read", {"filePath": "."}).text
    assert text == "<path>.</path>\n<type>directory</type>\n<entries>\na.txt\nd/\n\n(2 entries)\n</entries>"


def test_matches_stand_under_their_file(kit, put):
    put({"a.txt": "one\n"})
    assert kit.call("grep", {"pattern": "o"}).text == "Found 1 matches\na.txt:\n  Line 1: one"
    assert kit.call("grep", {"pattern": "zebra"}).text.startswith("No files found")
    assert kit.call("glob", {"pattern": "*.txt"}).text == "a.txt"


def test_a_change_is_answered_in_one_sentence(kit, ws):
    assert kit.call("write", {"filePath": "a.txt", "content": "one\n"}).text == "Wrote file successfully."
    edit = {"filePath": "a.txt", "oldString": "one", "newString": "two"}
    assert kit.call("edit", edit).text == "Edit applied successfully."
    kit.call("edit", {"filePath": "new.txt", "oldString": "", "newString": "made\n"})
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+three\n*** Delete File: new.txt\n*** End Patch"
    answer = kit.call("apply_patch", {"patchText": patch}).text
    assert answer == "Success. Updated the following files:\nD new.txt\nM a.txt"
    assert (ws / "a.txt").read_text() == "three\n"


def test_a_command_tells_how_it_ended_apart_from_its_output(kit):
    assert kit.call("bash", {"command": "true"}).text == "(no output)"
    failed = "hi\n\n<shell_metadata>\nExit code: 3\n</shell_metadata>"
    assert kit.call("bash", {"command": "echo hi; exit 3"}).text == failed
    assert "timed out after 0.2 s" in kit.call("bash", {"command": "sleep 9", "timeout": 200}).text


def test_todos_come_back_as_json(kit):
    todos = [{"content": "a", "status": "cancelled", "priority": "low"}]
    assert json.loads(kit.call("todowrite", {"todos": todos}).text) == todos
