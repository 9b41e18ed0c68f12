"""Todo lists: merge writes, count progress, render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, Literal

from toolroll.result import ErrorCode, ToolError

Status = Literal["pending", "in_progress", "completed", "cancelled"]
Priority = Literal["high", "medium", "low"]

_MAX_ITEMS = 200  # items of a list
_MAX_CONTENT_CHARS = 2000  # characters
_MAX_ID_CHARS = 64
_BOXES: dict[Status, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One item as it is sent; when lists are merged, what is left out stays."""

    content: Annotated[str | None, "What is to be done."] = None
    status: Status | None = None
    priority: Priority | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Todo:
    """One item as it is kept."""

    content: str
    status: Status
    priority: Priority
    id: str

    def __str__(self) -> str:
        rank = "" if self.priority == "medium" else f" ({self.priority})"
        said = self.content.replace("\n", "\n    ")
        return f"{_BOXES[self.status]} {self.id}. {said}{rank}"


@dataclass(frozen=True, slots=True)
class Todos:
    """Some or all items of a list, and how far the whole list is."""

    todos: list[Todo]
    total: int
    completed: int
    in_progress: int
    pending: int
    incomplete: int
    percent: int
    """Of all items, completed; whole numbers, 100 only when all are."""
    warning: str = ""

    @property
    def note(self) -> str:
        return self.warning

    def __str__(self) -> str:
        if not self.total:
            return "The todo list is empty."
        progress = f"{self.completed} of {self.total} completed ({self.percent}%), {self.in_progress} in progress."
        return "\n".join([progress, *(map(str, self.todos) if self.todos else ["No item fits."])])


def merge_items(kept: Sequence[Todo], items: Sequence[TodoItem], *, merge: bool) -> tuple[Todo, ...]:
    """The list after a write: the items alone, or merged into what is kept. ToolError names every fault.

    An item is known by its id, or without one by its content, so that an id stays when the list is written again.
    """
    if len(items) > _MAX_ITEMS:
        raise _too_many(len(items))
    faults: list[str] = []
    made: dict[str, Todo] = {todo.id: todo for todo in kept} if merge else {}
    named = {_clean(item.id) for item in items}
    fresh = _numbers([*(todo.id for todo in kept), *named])
    seen: set[str] = set()
    for at, item in enumerate(items):
        old = _old(kept, item, seen | named)
        id = _clean(item.id) or (old.id if old else next(fresh))
        todo = _todo(item, old if merge else None, id)
        if fault := _fault(todo, id in seen):
            faults.append(f"`todos`: item {at + 1} {fault}")
        seen.add(id)
        made[id] = todo
    if faults:
        raise ToolError(ErrorCode.VALIDATION, f"{' '.join(faults)} Nothing was saved.", details=faults)
    if len(made) > _MAX_ITEMS:
        raise _too_many(len(made))
    return tuple(made.values())


def report_todos(todos: Sequence[Todo], status: Status | None = None, priority: Priority | None = None) -> Todos:
    """The items of a status and a priority, and how far the whole list is."""
    counts = Counter(todo.status for todo in todos)
    total, completed = len(todos), counts["completed"]
    return Todos(
        [todo for todo in todos if status in (None, todo.status) and priority in (None, todo.priority)],
        total,
        completed,
        counts["in_progress"],
        counts["pending"],
        total - completed - counts["cancelled"],
        100 * completed // total if total else 0,
        _warning(todos),
    )


def _warning(todos: Iterable[Todo]) -> str:
    ids = [todo.id for todo in todos if todo.status == "in_progress"]
    if len(ids) < 2:
        return ""
    return f"{len(ids)} items are in progress ({', '.join(ids)}). Work on one at a time: set the others to pending."


def _old(kept: Sequence[Todo], item: TodoItem, others: set[str]) -> Todo | None:
    """The kept item that a sent one is about; without an id it is none that is of others."""
    wanted = _clean(item.id)
    if wanted:
        return next((todo for todo in kept if todo.id == wanted), None)
    content = _clean(item.content)
    return next((todo for todo in kept if todo.content == content and todo.id not in others), None)


def _todo(item: TodoItem, old: Todo | None, id: str) -> Todo:
    old = old or Todo("", "pending", "medium", id)
    return replace(
        old,
        content=_clean(item.content) or old.content,
        status=item.status or old.status,
        priority=item.priority or old.priority,
    )


def _fault(todo: Todo, again: bool) -> str:
    if again:
        return f"has the id {todo.id!r} of another one."
    if not todo.content:
        return "needs `content`."
    if len(todo.content) > _MAX_CONTENT_CHARS:
        return f"is longer than {_MAX_CONTENT_CHARS} characters."
    if len(todo.id) > _MAX_ID_CHARS or not todo.id.isprintable():
        return f"has the id {todo.id[:_MAX_ID_CHARS]!r}; use at most {_MAX_ID_CHARS} plain characters."
    return ""


def _too_many(items: int) -> ToolError:
    return ToolError(ErrorCode.TOO_LARGE, f"`todos`: {items} items are too many; keep a list to {_MAX_ITEMS}.")


def _clean(text: str | None) -> str:
    """Without blanks around it; models fill in what they do not need."""
    return (text or "").strip()


def _numbers(taken: Iterable[str]) -> Iterator[str]:
    """Ids that follow on all that are numbers, so that none comes back for something else."""
    last = max((int(id) for id in taken if id.isascii() and id.isdigit() and len(id) < 10), default=0)
    return map(str, count(last + 1))
