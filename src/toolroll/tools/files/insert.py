"""Put lines into a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.schema import Field, FilePath
from toolroll.text import lines
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Inserted:
    """Where lines were put."""

    path: str
    line: int | None
    lines: int
    diff: str
    note: str = ""
    """Where the file does not parse any more."""

    def __str__(self) -> str:
        where = "at the end" if self.line is None else f"before line {self.line}"
        return f"Inserted {counted(self.lines, 'line')} into {self.path} {where}.\n{self.diff}"


@tool(Effect.READ | Effect.WRITE, rare=True)
def insert(
    ctx: Context,
    path: Annotated[FilePath, "File to change, relative to the workspace."],
    line: Annotated[int | None, Field(ge=1), "Line that the new lines go before; one past the last appends."],
    content: Annotated[str, Field(min_length=1), "Whole lines to insert."],
    *,
    encoding: Annotated[str | None, "Only for files that are not UTF-8 or UTF-16."] = None,
    syntax: Annotated[bool, "Refuse what makes a Python file unparsable."] = False,
) -> Inserted:
    """Insert whole lines before a line of a file."""
    draft = ctx.files.draft(path, encoding)
    text = lines.insert(draft.text, line, content)
    if syntax:
        ctx.files.check_syntax(draft, text)
    change = ctx.files.save(draft, text)
    return Inserted(change.path, line, len(lines.split(content)), change.diff(), change.verdict)
