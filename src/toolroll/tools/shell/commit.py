"""Merge a fork into the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from toolroll.host.context import Context
from toolroll.schema import FilePath
from toolroll.text.files.changes import change_rows, describe_changes
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Committed:
    """What was merged."""

    fork: int
    changes: list[dict[str, Any]]
    total: int
    line: str

    def __str__(self) -> str:
        return self.line or f"Fork {self.fork} has no changes there: nothing was merged."


@tool(Effect.READ | Effect.WRITE | Effect.DELETE, rare=True)
def commit(
    ctx: Context,
    fork: Annotated[int, "The number of the fork."],
    paths: Annotated[list[FilePath] | None, "Only these files and folders."] = None,
) -> Committed:
    """Merge a fork into the workspace: all of it, or nothing if the same files changed here. `undo` takes it back."""
    named = ["/".join(ctx.files.key(one)) or "." for one in paths or ()]
    changes, repository = ctx.forks.merge(fork, ctx.call, ctx.files, named)
    line = " ".join(filter(None, [describe_changes(changes), str(repository)]))
    return Committed(fork, change_rows(changes), len(changes), line)
