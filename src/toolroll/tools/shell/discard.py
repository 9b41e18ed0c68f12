"""Drop what a fork changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.schema import FilePath
from toolroll.text.files.changes import describe_changes
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Discarded:
    """What was dropped."""

    fork: int
    line: str
    left: str = ""
    """What the fork still holds."""

    def __str__(self) -> str:
        return f"{self.line} Still held: {self.left}" if self.left else self.line


@tool(Effect.READ, rare=True)
def discard(
    ctx: Context,
    fork: Annotated[int, "The number of the fork."],
    paths: Annotated[list[FilePath] | None, "Only these files and folders."] = None,
) -> Discarded:
    """Drop what a command with `hold` changed: all of it, or some files. The workspace stays as it is."""
    held = ctx.forks.get(fork)
    if paths:
        dropped = ctx.forks.discard(fork, ["/".join(ctx.files.key(one)) or "." for one in paths])
        if left := describe_changes(held.changes()):
            return Discarded(fork, f"Discarded {len(dropped)} of the changes of fork {fork}.", left)
    ctx.forks.drop(fork)
    return Discarded(fork, f"Fork {fork} was discarded.")
