"""Write the todo list."""

from __future__ import annotations

from typing import Annotated

from toolroll.host.context import Context
from toolroll.text.knowledge.todos import TodoItem, Todos, merge_items, report_todos
from toolroll.tool import Effect, tool


@tool(Effect.STATE, rare=True)
def todo_write(
    ctx: Context,
    todos: Annotated[tuple[TodoItem, ...], "The whole list; with merge, only what is new or changed."],
    merge: Annotated[bool, "Keep the other items; an item with a known id changes that one."] = False,
) -> Todos:
    """Plan work of several steps: write the todo list of this session. Keep one item in progress at a time."""
    from toolroll.host.knowledge.todo_store import TodoFile

    file = TodoFile(ctx.files.state, ctx.session, ctx.token)
    return report_todos(file.change(lambda kept: merge_items(kept, todos, merge=merge), replace=not merge))
