"""What a write makes of a todo list, and how far it is."""

import pytest

from toolroll import ToolError
from toolroll.text.knowledge.todos import Item, Todo, Todos, reported, written

A = Todo("write code", "in_progress", "high", "1")
B = Todo("test it", "pending", "medium", "2")
C = Todo("ship", "completed", "low", "x")
KEPT = (A, B, C)

WRITES = [
    # merge, items, list after it
    (False, [], ()),
    (False, [Item("new")], (Todo("new", "pending", "medium", "3"),)),
    (False, [Item(" new ", "completed", "low", " n ")], (Todo("new", "completed", "low", "n"),)),
    (False, [Item("test it", "completed"), Item("write code")], (Todo("test it", "completed", "medium", "2"), Todo("write code", "pending", "medium", "1"))),
    (False, [Item("a"), Item("a")], (Todo("a", "pending", "medium", "3"), Todo("a", "pending", "medium", "4"))),
    (False, [Item("test it"), Item("other", id="2")], (Todo("test it", "pending", "medium", "3"), Todo("other", "pending", "medium", "2"))),
    (False, [Item("a", id="7"), Item("b", id="")], (Todo("a", "pending", "medium", "7"), Todo("b", "pending", "medium", "8"))),
    (True, [], KEPT),
    (True, [Item(status="completed", id="1")], (Todo("write code", "completed", "high", "1"), B, C)),
    (True, [Item("test all", id="2"), Item("new", "in_progress")], (A, Todo("test all", "pending", "medium", "2"), C, Todo("new", "in_progress", "medium", "3"))),
    (True, [Item("ship", "pending")], (A, B, Todo("ship", "pending", "low", "x"))),
    (True, [Item("", priority="high", id="x")], (A, B, Todo("ship", "completed", "high", "x"))),
]  # fmt: skip


@pytest.mark.parametrize(("merge", "items", "after"), WRITES)
def test_a_write(merge, items, after):
    assert written(KEPT, items, merge=merge) == after


FAULTS = [
    (False, [Item()], "ValidationError", "`todos`: item 1 needs `content`. Nothing was saved."),
    (False, [Item(status="completed", id="1")], "ValidationError", "`todos`: item 1 needs `content`. Nothing was saved."),
    (True, [Item(status="completed", id="9")], "ValidationError", "`todos`: item 1 needs `content`. Nothing was saved."),
    (False, [Item("a", id="1"), Item(" "), Item("b", id="1 ")], "ValidationError", "`todos`: item 2 needs `content`. `todos`: item 3 has the id '1' of another one. Nothing was saved."),
    (False, [Item("x" * 2001)], "ValidationError", "`todos`: item 1 is longer than 2000 characters. Nothing was saved."),
    (False, [Item("x", id="a\nb")], "ValidationError", "`todos`: item 1 has the id 'a\\nb'; use at most 64 plain characters. Nothing was saved."),
    (False, [Item("x")] * 201, "TooLarge", "`todos`: 201 items are too many; keep a list to 200."),
    (True, [Item(str(one)) for one in range(198)], "TooLarge", "`todos`: 201 items are too many; keep a list to 200."),
]  # fmt: skip


@pytest.mark.parametrize(("merge", "items", "code", "message"), FAULTS)
def test_what_is_refused(merge, items, code, message):
    with pytest.raises(ToolError) as caught:
        written(KEPT, items, merge=merge)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_how_far_it_is():
    assert reported(KEPT) == Todos([A, B, C], total=3, completed=1, in_progress=1, pending=1, incomplete=2, percent=33)
    assert reported(()) == Todos([], 0, 0, 0, 0, 0, 0)
    assert reported([C] * 199 + [B]).percent == 99
    assert reported([C]).percent == 100


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
    found = reported(KEPT, status, priority)
    assert (found.todos, found.total, found.completed) == (shown, 3, 1)


def test_what_is_shown():
    assert str(reported(KEPT)) == (
        "1 of 3 completed (33%), 1 in progress.\n[>] 1. write code (high)\n[ ] 2. test it\n[x] x. ship (low)"
    )
    assert str(reported(())) == "The todo list is empty."
    assert str(reported(KEPT, "completed", "high")) == "1 of 3 completed (33%), 1 in progress.\nNo item fits."
    assert str(Todo("a\nb", "pending", "medium", "1")) == "[ ] 1. a\n    b"


def test_two_in_progress_are_warned_of():
    two = reported([A, Todo("b", "in_progress", "medium", "2")], "completed")
    assert (
        two.warning == two.note == ("2 items are in progress (1, 2). Work on one at a time: set the others to pending.")
    )
    assert reported(KEPT).note == ""
