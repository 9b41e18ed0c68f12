"""Rename or move a file or folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolroll.host.code.file_uses import find_file_uses
from toolroll.host.context import Context
from toolroll.result import ErrorCode, Looked, ToolError
from toolroll.schema import FilePath
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Moved:
    """The old path and the new one."""

    source: str
    target: str
    named: list[str]
    """Places that still name the old path."""
    unknown: list[str]
    """Places that may name it."""
    tests: list[str]
    note: str
    looked: Looked | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"Moved {self.source} to {self.target}."


@tool(Effect.WRITE | Effect.DELETE, rare=True)
def move(
    ctx: Context,
    source: Annotated[FilePath, "File, link or folder to move."],
    target: Annotated[FilePath, "New path, or a folder to move into."],
    overwrite: Annotated[bool, "Replace a file that is there."] = False,
    *,
    into: Annotated[bool, "Move into a folder that is there; else it is in the way."] = True,
) -> Moved:
    """Move or rename a file, link or folder. Missing folders are made."""
    if not into and ctx.tree.exists(target):
        raise ToolError(ErrorCode.CONFLICT, f"Destination already exists: {target!r}.")
    old, new = ctx.tree.move(source, target, overwrite)
    uses = find_file_uses(old, ctx.files, ctx.search, ctx.token)
    return Moved(old, new, uses.named, uses.unknown, uses.tests, str(uses), uses.looked)
