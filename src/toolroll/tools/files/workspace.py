"""Tell the folders of the workspace."""

from __future__ import annotations

from dataclasses import dataclass

from toolroll.host.context import Context
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class WorkspaceFolders:
    """The folders that tools reach, by their whole paths."""

    folders: list[str]

    def __str__(self) -> str:
        return "\n".join(self.folders)


@tool(Effect.READ, rare=True)
def workspace(ctx: Context) -> WorkspaceFolders:
    """Tell the folders that tools can reach, by their whole paths."""
    return WorkspaceFolders(list(ctx.files.root.folders))
