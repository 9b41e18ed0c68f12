"""List a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.host.tree import Item
from toolroll.schema import Field, FilePath
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Listed:
    """The entries of a folder. `hidden` counts dot names left out, `total` what there is besides."""

    path: str
    entries: list[Item]
    total: int
    hidden: int

    def marked(self, form: str) -> str:
        """A line for each entry in a form of `kind`, `name`, `mark` and `size`."""
        prefix = "" if self.path in (".", "") else f"{self.path}/"
        marks = {"directory": "/", "link": " -> ", "file": "", "other": " (special)"}
        shown = [
            form.format(
                name=one.path.removeprefix(prefix),
                kind={"directory": "dir", "other": "special"}.get(one.kind, one.kind),
                mark=marks[one.kind] + (one.target or ""),
                size=one.size,
            )
            for one in self.entries
        ]
        return "\n".join(shown) or "(empty)"

    @property
    def note(self) -> str:
        """What is not shown, in words."""
        notes = []
        if self.total > len(self.entries):
            notes.append(f"{len(self.entries)} of {self.total} entries shown")
        if self.hidden:
            notes.append(f"{self.hidden} hidden not shown")
        return f"({'; '.join(notes)})" if notes else ""

    def __str__(self) -> str:
        return self.marked("{name}{mark}")


@tool(Effect.READ)
def ls(
    ctx: Context,
    path: Annotated[FilePath, "Folder to list."] = ".",
    hidden: Annotated[bool, "Dot names too."] = False,
    depth: Annotated[int, Field(ge=1, le=20), "Levels to go down."] = 1,
    *,
    sort: Annotated[Literal["name", "size", "modified"], "Order of the entries."] = "name",
    limit: Annotated[int, Field(ge=1), "Most entries to show."] = 1000,
    recursive: Annotated[bool, "Go down at all; without it, one level."] = True,
) -> Listed:
    """List a folder: folders end in /, links show their target."""
    where, found = ctx.tree.folder(path, depth if recursive else 1, ctx.token)
    prefix = f"{where}/" if where else ""
    shown = [one for one in found if hidden or not _is_hidden(one.path.removeprefix(prefix))]
    if sort == "size":
        shown.sort(key=lambda one: -one.size)
    elif sort == "modified":
        shown.sort(key=lambda one: -one.modified)
    return Listed(where or ".", shown[:limit], len(shown), len(found) - len(shown))


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))
