"""Create or replace a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import FilePath
from toolroll.text.edit.match import check_omissions
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: a new file, a changed one, or none because it said that already."""

    path: str
    bytes: int
    created: bool
    changed: bool
    diff: str
    note: str = ""
    """Where the file does not parse any more."""

    def __str__(self) -> str:
        if not self.changed:
            return f"{self.path} has this content already; nothing was written."
        done = "Created" if self.created else "Wrote"
        return f"{done} {self.path} ({self.bytes} bytes)." + (f"\n{self.diff}" if self.diff else "")


@tool(Effect.WRITE)
def write(
    ctx: Context,
    path: Annotated[FilePath, "File to write; missing folders are made."],
    content: Annotated[str, "The whole new content."],
    overwrite: Annotated[bool, "Replace an existing file."] = True,
    *,
    unchanged: Annotated[Literal["accept", "refuse"], "What to do when the content is there already."] = "accept",
    mode: Annotated[
        str | None, "File permissions, octal such as '644'; an existing file keeps its own by default."
    ] = None,
    encoding: Annotated[str | None, "Text encoding; an existing file's own by default."] = None,
    syntax: Annotated[bool, "Refuse what makes a Python file unparsable."] = False,
    read_first: Annotated[bool, "Replace a file only as the dialect's guard lets it be edited."] = False,
) -> Written:
    """Create a file or replace all of its content. To change a part of a file, use edit."""
    if syntax:
        ctx.files.check_new_syntax(path, content)
    if ctx.tree.is_file(path):
        ctx.files.check_whole(path)
        if read_first:
            ctx.files.draft(path, encoding)
        check_omissions(content, lambda: ctx.files.peek(path, encoding).text, path)
    permissions = _mode(mode)
    change = ctx.files.write(path, content, overwrite=overwrite, mode=permissions, encoding=encoding)
    if permissions is not None and not change.created:
        ctx.tree.set_mode(path, lambda _now: permissions)
    if unchanged == "refuse" and not change.changed:
        raise ToolError(ErrorCode.CONFLICT, f"{path!r} already contains exactly this: the write would be a no-op.")
    return Written(change.path, len(change.after), change.created, change.changed, change.diff(), change.verdict)


def _mode(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        mode = int(text, 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o777:
        raise ToolError(ErrorCode.VALIDATION, f"`mode` must be octal permissions such as '644', not {text!r}.")
    return mode
