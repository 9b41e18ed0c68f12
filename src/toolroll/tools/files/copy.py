"""Copy a file or folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.schema import FilePath
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Copied:
    """Where the copy is, and how many files it has."""

    source: str
    target: str
    files: int

    def __str__(self) -> str:
        return f"Copied {self.source} to {self.target}" + (f" ({self.files} files)." if self.files != 1 else ".")


@tool(Effect.READ | Effect.WRITE, rare=True)
def copy(
    ctx: Context,
    source: Annotated[FilePath, "File or folder to copy."],
    target: Annotated[FilePath, "Path of the copy, or a folder to copy into."],
    overwrite: Annotated[bool, "Replace a file that is there."] = False,
) -> Copied:
    """Copy a file, or a folder with all that is in it. Missing folders are made."""
    return Copied(source, *ctx.tree.copy(source, target, overwrite, ctx.token))
