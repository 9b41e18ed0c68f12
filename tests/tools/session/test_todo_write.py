"""Write the todo list."""

import json
import os

import pytest


def test_write_then_merge_then_replace(kit, ws):
    first = kit.call(
        "todo_write", {"todos": [{"content": "a", "status": "in_progress"}, {"content": "b", "priority": "high"}]}
    )
    assert first.text == "0 of 2 completed (0%), 1 in progress.\n[>] 1. a\n[ ] 2. b (high)"
    merged = kit.call("todo_write", {"todos": [{"id": "1", "status": "completed"}, {"content": "c"}], "merge": True})
    assert merged.text == "1 of 3 completed (33%), 0 in progress.\n[x] 1. a\n[ ] 2. b (high)\n[ ] 3. c"
    assert kit.call("todo_read").data == merged.data
    assert kit.call("todo_write", {"todos": [{"content": "c", "status": "completed"}]}).text == (
        "1 of 1 completed (100%), 0 in progress.\n[x] 3. c"
    )
    assert kit.call("todo_write", {"todos": []}).text == "The todo list is empty."
    assert (os.listdir(ws), kit.journal.entries()) == ([], [])


def test_two_in_progress_are_a_warning(kit):
    todos = [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}]
    result = kit.call("todo_write", {"todos": todos})
    assert (result.ok, result.data["in_progress"]) == (True, 2)
    assert result.text.endswith("\n2 items are in progress (1, 2). Work on one at a time: set the others to pending.")
    assert result.data["warning"] in result.text


def test_a_list_is_of_its_session_and_outlives_the_kit(open_kit):
    open_kit(session="one").call("todo_write", {"todos": [{"content": "mine"}]})
    assert open_kit(session="two").call("todo_read").data["todos"] == []
    assert [todo["content"] for todo in open_kit(session="one").call("todo_read").data["todos"]] == ["mine"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"todos": "write code"},
        {"todos": ["write code"]},
        {"todos": [{"content": "a", "status": "done"}]},
        {"todos": [{"content": "a", "priority": "urgent"}]},
        {"todos": [{"content": "a", "due": "now"}]},
        {"todos": [{"content": ""}]},
        {"todos": [{"content": "\ud800"}]},
        {"todos": [{"id": "9", "status": "completed"}], "merge": True},
        {"todos": [{"content": "a"}], "merge": "some"},
    ],
)
def test_bad_input_changes_nothing(kit, arguments):
    kit.call("todo_write", {"todos": [{"content": "kept"}]})
    before = kit.call("todo_read").data
    assert kit.call("todo_write", arguments).error.code == "ValidationError"
    assert kit.call("todo_read").data == before


def test_json_text_is_taken(kit):
    assert kit.call("todo_write", {"todos": json.dumps([{"content": "a"}])}).data["total"] == 1
