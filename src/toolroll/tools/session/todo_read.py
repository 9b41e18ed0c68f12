"""Show the todo list."""

from __future__ import annotations

from typing import Annotated

from toolroll.host.context import Context
from toolroll.text.knowledge.todos import Priority, Status, Todos, report_todos
from toolroll.tool import Effect, tool


@tool(Effect.READ, rare=True)
def todo_read(
    ctx: Context,
    status: Annotated[Status | None, "Show only these."] = None,
    priority: Annotated[Priority | None, "Show only these."] = None,
) -> Todos:
    """Show the todo list of this session and how far it is."""
    from toolroll.host.knowledge.todo_store import TodoFile

    return report_todos(TodoFile(ctx.files.state, ctx.session, ctx.token).read(), status, priority)
