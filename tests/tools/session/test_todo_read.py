"""Show the todo list."""

import pytest

TODOS = [
    {"content": "write code", "status": "in_progress", "priority": "high", "id": "1"},
    {"content": "test it", "status": "completed", "priority": "low", "id": "2"},
    {"content": "ship", "status": "pending", "priority": "low", "id": "3"},
]


def test_an_empty_list_leaves_nothing_on_disk(kit, tmp_path):
    assert kit.call("todo_read").text == "The todo list is empty."
    assert not (tmp_path / "state" / "todos").exists()


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, "123"),
        ({"status": "pending"}, "3"),
        ({"priority": "low"}, "23"),
        ({"status": "completed", "priority": "high"}, ""),
    ],
)
def test_filters_and_progress(kit, filters, ids):
    kit.call("todo_write", {"todos": TODOS})
    assert kit.call("todo_read", filters).data == {
        "todos": [todo for todo in TODOS if todo["id"] in ids],
        "total": 3,
        "completed": 1,
        "in_progress": 1,
        "pending": 1,
        "incomplete": 2,
        "percent": 33,
        "warning": "",
    }


@pytest.mark.parametrize("arguments", [{"status": "done"}, {"priority": 1}, {"all": True}])
def test_bad_input(kit, arguments):
    assert kit.call("todo_read", arguments).error.code == "ValidationError"


def test_it_is_for_every_mode(open_kit):
    open_kit(session="s").call("todo_write", {"todos": TODOS})
    kit = open_kit(session="s", mode="thinking", policy="read-only")
    assert [todo["id"] for todo in kit.call("todo_read").data["todos"]] == ["1", "2", "3"]
    assert kit.call("todo_write", {"todos": []}).error.code == "PermissionDenied"
