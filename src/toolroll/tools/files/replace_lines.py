"""Replace lines of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.schema import Field, FilePath
from toolroll.text import lines
from toolroll.text.edit import control_flow
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class ReplacedLines:
    """Which lines were replaced, by how many."""

    path: str
    start: int
    end: int
    lines: int
    diff: str
    note: str = ""
    """Where the file does not parse any more."""

    def __str__(self) -> str:
        old = f"{lines.line_range(self.start, self.end)} of {self.path}"
        done = f"Replaced {old} by {lines.counted(self.lines, 'line')}" if self.lines else f"Deleted {old}"
        return f"{done}.\n{self.diff}"


@tool(Effect.READ | Effect.WRITE, rare=True)
def replace_lines(
    ctx: Context,
    path: Annotated[FilePath, "File to change, relative to the workspace."],
    start: Annotated[int, Field(ge=1), "First line to replace."],
    end: Annotated[int, Field(ge=1), "Last line to replace, inclusive."],
    content: Annotated[str, "Whole lines to put there; empty to delete."],
    *,
    encoding: Annotated[str | None, "Only for files that are not UTF-8 or UTF-16."] = None,
    syntax: Annotated[bool, "Refuse what makes a Python file unparsable."] = False,
    keep_flow: Annotated[bool, "Refuse to drop a return, yield or raise."] = False,
) -> ReplacedLines:
    """Replace or delete a range of lines. Read the file first, so that the numbers are right."""
    draft = ctx.files.draft(path, encoding)
    if keep_flow:
        control_flow.check_kept(lines.split(draft.text), start, end, content)
    text = lines.replace(draft.text, start, end, content)
    if syntax:
        ctx.files.check_syntax(draft, text)
    change = ctx.files.save(draft, text)
    return ReplacedLines(change.path, start, end, len(lines.split(content)), change.diff(), change.verdict)
