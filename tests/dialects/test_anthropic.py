"""Anthropic's tools: definitions by API type, and calls as its models make them."""

import pytest

EDITOR = "str_replace_based_edit_tool"


@pytest.fixture
def kit(open_kit):
    return open_kit("anthropic")


def test_the_api_is_told_types_and_others_get_schemas(kit):
    typed = [{"type": "text_editor_20250728", "name": EDITOR}, {"type": "bash_20250124", "name": "bash"}]
    assert kit.definitions("anthropic") == typed
    shown = {one["name"]: set(one["inputSchema"]["properties"]) for one in kit.definitions("mcp")}
    editor = "command path view_range file_text old_str new_str insert_line insert_text"
    assert shown == {EDITOR: set(editor.split()), "bash": {"command", "restart"}}


def test_a_file_is_viewed_by_ranges_and_a_folder_two_levels_deep(kit, put):
    put({"a.txt": "one\ntwo\nthree\n", "d/e/f.txt": "", ".h": ""})
    view = {"command": "view", "path": "a.txt"}
    head = "Here's the result of running `cat -n` on a.txt:\n"
    assert kit.call(EDITOR, view).text == f"{head}     1\tone\n     2\ttwo\n     3\tthree"
    assert kit.call(EDITOR, {**view, "view_range": [2, -1]}).text == f"{head}     2\ttwo\n     3\tthree"
    assert kit.call(EDITOR, {**view, "view_range": [1, 1]}).text == f"{head}     1\tone"
    refused = kit.call(EDITOR, {**view, "view_range": [2, 1]})
    assert refused.text == "`view_range` is the first and the last line, or -1, not [2, 1]."
    assert kit.call(EDITOR, {"command": "view", "path": "."}).text.split("\n")[1:] == ["./a.txt", "./d/", "./d/e/"]


def test_a_file_is_made_and_changed(kit, ws):
    for given in (
        {"command": "create", "file_text": "one\n"},
        {"command": "str_replace", "old_str": "one", "new_str": "two"},
        {"command": "insert", "insert_line": 0, "insert_text": "top\n"},
        {"command": "insert", "insert_line": 2, "new_str": "end\n"},
    ):
        assert kit.call(EDITOR, {"path": "a.txt", **given}).ok
    assert (ws / "a.txt").read_text() == "top\ntwo\nend\n"
    assert kit.call(EDITOR, {"command": "insert", "path": "a.txt", "insert_line": 9, "insert_text": "x"}).error
    without_text = kit.call(EDITOR, {"command": "insert", "path": "a.txt", "insert_line": 1})
    assert without_text.text == "Action 'insert' also needs `insert_text`."
    assert kit.call(EDITOR, {"command": "str_replace", "path": "a.txt", "old_str": "top\n"}).ok
    assert (ws / "a.txt").read_text() == "two\nend\n"


def test_a_restart_is_taken(kit):
    assert kit.call("bash", {"restart": True}).text == "(no output)"
    for neither in ({}, {"restart": False}):
        refused = kit.call("bash", neither)
        assert (refused.ok, refused.text) == (False, "The `command` is empty. Give one to run.")
    assert kit.call("bash", {"command": "echo hi"}).text == "hi"
