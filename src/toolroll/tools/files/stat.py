"""Tell about a file or folder."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import Annotated

from toolroll.host.context import Context
from toolroll.result import ToolError
from toolroll.schema import FilePath
from toolroll.text import lines as text_lines
from toolroll.tool import Effect, tool

_COUNTED = 20_000_000  # bytes up to which lines are counted


@dataclass(frozen=True, slots=True)
class PathStatus:
    """What is known of a path without showing its content. `lines` is None for what is no text."""

    path: str
    kind: str
    size: int
    modified: str
    mode: str
    lines: int | None = None
    encoding: str | None = None
    line_ending: str | None = None
    target: str | None = None
    accessed: str = ""
    changed: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_dir(self) -> bool:
        return self.kind == "directory"

    def __str__(self) -> str:
        facts = {
            "kind": self.kind,
            "size": f"{self.size} bytes",
            "lines": self.lines,
            "encoding": self.encoding,
            "line ending": self.line_ending,
            "target": self.target,
            "mode": self.mode,
            "modified": self.modified,
        }
        return "\n".join([self.path, *(f"  {name}: {value}" for name, value in facts.items() if value is not None)])


@tool(Effect.READ, rare=True)
def stat(ctx: Context, path: Annotated[FilePath, "File or folder."]) -> PathStatus:
    """Tell a path's kind, size, line count, encoding, permissions and time of change."""
    item = ctx.tree.item(path)
    modified, accessed, changed = map(_iso, (item.modified, item.accessed, item.changed))
    mode = f"{item.mode & 0o7777:04o}"
    known = PathStatus(
        item.path, item.kind, item.size, modified, mode, target=item.target, accessed=accessed, changed=changed
    )
    if item.kind != "file" or item.size > _COUNTED:
        return known
    try:
        document = ctx.files.peek(path)
    except ToolError:
        return known  # no text: there are no lines to count
    ending = {"\n": "LF", "\r\n": "CRLF"}[text_lines.ending(document.text)]
    return replace(
        known,
        lines=len(text_lines.split(document.text)),
        encoding=document.encoding.codec + (" with BOM" if document.encoding.bom else ""),
        line_ending=ending if "\n" in document.text else None,
    )


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")
