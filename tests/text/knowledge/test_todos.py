"""What a write makes of a todo list, and how far it is."""

import pytest

from toolroll import ToolError
from toolroll.text.knowledge.todos import Todo, TodoItem, Todos, merge_items, report_todos

A = Todo("write code", "in_progress", "high", "1")
B = Todo("test it", "pending", "medium", "2")
C = Todo("ship", "completed", "low", "x")
KEPT = (A, B, C)

WRITES = [
    # merge, items, list after it
    (False, [], ()),
    (False, [TodoItem("new")], (Todo("new", "pending", "medium", "3"),)),
    (False, [TodoItem(" new ", "completed", "low", " n ")], (Todo("new", "completed", "low", "n"),)),
    (False, [TodoItem("test it", "completed"), TodoItem("write code")], (Todo("test it", "completed", "medium", "2"), Todo("write code", "pending", "medium", "1"))),
    (False, [TodoItem("a"), TodoItem("a")], (Todo("a", "pending", "medium", "3"), Todo("a", "pending", "medium", "4"))),
    (False, [TodoItem("test it"), TodoItem("other", id="2")], (Todo("test it", "pending", "medium", "3"), Todo("other", "pending", "medium", "2"))),
    (False, [TodoItem("a", id="7"), TodoItem("b", id="")], (Todo("a", "pending", "medium", "7"), Todo("b", "pending", "medium", "8"))),
    (True, [], KEPT),
    (True, [TodoItem(status="completed", id="1")], (Todo("write code", "completed", "high", "1"), B, C)),
    (True, [TodoItem("test all", id="2"), TodoItem("new", "in_progress")], (A, Todo("test all", "pending", "medium", "2"), C, Todo("new", "in_progress", "medium", "3"))),
    (True, [TodoItem("ship", "pending")], (A, B, Todo("ship", "pending", "low", "x"))),
    (True, [TodoItem("", priority="high", id="x")], (A, B, Todo("ship", "completed", "high", "x"))),
]  # fmt: skip


@pytest.mark.parametrize(("merge", "items", "after"), WRITES)
def test_a_write(merge, items, after):
    assert merge_items(KEPT, items, merge=merge) == after


FAULTS = [
    (False, [TodoItem()], "ValidationError", "`todos`: item 1 needs `content`. Nothing was saved."),
    (False, [TodoItem(status="completed", id="1")], "ValidationError", "`todos`: item 1 needs `content`. Nothing was saved."),
    (True, [TodoItem(status="completed", id="9")], "ValidationError", "`todos`: item 1 needs `content`. Nothing was saved."),
    (False, [TodoItem("a", id="1"), TodoItem(" "), TodoItem("b", id="1 ")], "ValidationError", "`todos`: item 2 needs `content`. `todos`: item 3 has the id '1' of another one. Nothing was saved."),
    (False, [TodoItem("x" * 2001)], "ValidationError", "`todos`: item 1 is longer than 2000 characters. Nothing was saved."),
    (False, [TodoItem("x", id="a\nb")], "ValidationError", "`todos`: item 1 has the id 'a\\nb'; use at most 64 plain characters. Nothing was saved."),
    (False, [TodoItem("x")] * 201, "TooLarge", "`todos`: 201 items are too many; keep a list to 200."),
    (True, [TodoItem(str(one)) for one in range(198)], "TooLarge", "`todos`: 201 items are too many; keep a list to 200."),
]  # fmt: skip


@pytest.mark.parametrize(("merge", "items", "code", "message"), FAULTS)
def test_what_is_refused(merge, items, code, message):
    with pytest.raises(ToolError) as caught:
        merge_items(KEPT, items, merge=merge)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_how_far_it_is():
    assert report_todos(KEPT) == Todos(
        [A, B, C], total=3, completed=1, in_progress=1, pending=1, incomplete=2, percent=33
    )
    assert report_todos(()) == Todos([], 0, 0, 0, 0, 0, 0)
    assert report_todos([C] * 199 + [B]).percent == 99
    assert report_todos([C]).percent == 100


@pytest.mark.parametrize(
    ("status", "priority", "shown"),
    [
        ("pending", None, [B]),
        (None, "low", [C]),
        ("completed", "low", [C]),
        ("completed", "high", []),
        (None, None, [A, B, C]),
    ],
)
def test_filters_leave_the_counts(status, priority, shown):
    found = report_todos(KEPT, status, priority)
    assert (found.todos, found.total, found.completed) == (shown, 3, 1)


def test_what_is_shown():
    assert str(report_todos(KEPT)) == (
        "1 of 3 completed (33%), 1 in progress.\n[>] 1. write code (high)\n[ ] 2. test it\n[x] x. ship (low)"
    )
    assert str(report_todos(())) == "The todo list is empty."
    assert str(report_todos(KEPT, "completed", "high")) == "1 of 3 completed (33%), 1 in progress.\nNo item fits."
    assert str(Todo("a\nb", "pending", "medium", "1")) == "[ ] 1. a\n    b"


def test_two_in_progress_are_warned_of():
    two = report_todos([A, Todo("b", "in_progress", "medium", "2")], "completed")
    assert (
        two.warning == two.note == ("2 items are in progress (1, 2). Work on one at a time: set the others to pending.")
    )
    assert report_todos(KEPT).note == ""
