"""Remove a file or folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolroll.host.code.file_uses import find_file_uses
from toolroll.host.context import Context
from toolroll.result import ErrorCode, Looked, ToolError
from toolroll.schema import FilePath
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class DeletedPath:
    """What is gone."""

    path: str
    entries: int
    named: list[str]
    """Places that still name the old path."""
    unknown: list[str]
    """Places that may name it."""
    tests: list[str]
    note: str
    looked: Looked | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"Deleted {self.path}" + (f" ({self.entries} entries)." if self.entries > 1 else ".")


@tool(Effect.WRITE | Effect.DELETE, rare=True)
def delete(
    ctx: Context,
    path: Annotated[FilePath, "File, link or folder to delete."],
    recursive: Annotated[bool, "Also delete a folder that is not empty."] = False,
    *,
    folders: Annotated[bool, "Whether folders may be deleted at all."] = True,
) -> DeletedPath:
    """Delete a file, a link (not its target) or a folder."""
    if not folders and ctx.tree.item(path).kind == "directory":
        raise ToolError(ErrorCode.VALIDATION, f"{path!r} is a directory, not a file.")
    entries = ctx.tree.delete(path, recursive)
    uses = find_file_uses(ctx.files.root.text(ctx.files.where(path)[1]), ctx.files, ctx.search, ctx.token)
    return DeletedPath(path, entries, uses.named, uses.unknown, uses.tests, str(uses), uses.looked)
