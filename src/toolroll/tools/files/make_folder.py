"""Make a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.schema import FilePath
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class MadeFolder:
    """A folder that is there now."""

    path: str
    created: bool

    def __str__(self) -> str:
        return f"Made {self.path}." if self.created else f"{self.path} is a folder already."


@tool(Effect.WRITE, rare=True)
def make_folder(ctx: Context, path: Annotated[FilePath, "Folder to make."]) -> MadeFolder:
    """Make a folder, with those above it that are missing. One that is there is left as it is."""
    return MadeFolder(*ctx.tree.make_folder(path))
