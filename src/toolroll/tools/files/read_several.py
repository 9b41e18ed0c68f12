"""Show several files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.result import as_tool_error
from toolroll.schema import Field, FilePath
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class FileText:
    """The whole text of a file, or why it cannot be read."""

    path: str
    text: str = ""
    error: str = ""

    def __str__(self) -> str:
        return f"{self.path}: Error - {self.error}" if self.error else f"{self.path}:\n{self.text}\n"


@dataclass(frozen=True, slots=True)
class FileTexts:
    """Several files."""

    files: list[FileText]

    def __str__(self) -> str:
        return "\n---\n".join(map(str, self.files))


@tool(Effect.READ, rare=True)
def read_several(
    ctx: Context, paths: Annotated[tuple[FilePath, ...], Field(min_length=1), "Files to show."]
) -> FileTexts:
    """Show several text files, each whole. One that cannot be read is named with the reason; the others are shown."""
    return FileTexts([_read(ctx, path) for path in paths])


def _read(ctx: Context, path: str) -> FileText:
    ctx.token.check()
    try:
        return FileText(path, ctx.files.read(path).text)
    except Exception as error:
        failed = as_tool_error(error)
        if failed is None:
            raise
        return FileText(path, error=failed.message.partition(". ")[0].rstrip("."))  # advice names tools
