"""List a folder."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.host.files.tree import TreeItem
from toolroll.host.search.query import is_hidden
from toolroll.schema import Field, FilePath
from toolroll.text.lines import counted
from toolroll.text.search import globs
from toolroll.tool import Effect, tool

_COUNTED = 20_000  # entries that are looked at for the sizes of folders


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The entries of a folder. `hidden` counts dot names left out, `total` what there is besides.

    `closed` counts the folders that could not be entered.
    """

    path: str
    entries: list[TreeItem]
    total: int
    hidden: int
    closed: int

    def marked(self, form: str) -> str:
        """A line for each entry in a form of `kind`, `name` or `indent` and `base`, `mark` and `size`."""
        prefix = "" if self.path in (".", "") else f"{self.path}/"
        marks = {"directory": "/", "link": " -> ", "file": "", "other": " (special)"}
        shown = [
            form.format(
                name=(name := one.path.removeprefix(prefix)),
                indent="  " * name.count("/"),
                base=one.name,
                kind={"directory": "dir", "other": "special"}.get(one.kind, one.kind),
                mark=marks[one.kind] + (one.target or ""),
                size=one.size,
            )
            for one in self.entries
        ]
        return "\n".join(shown) or "(empty)"

    @property
    def details(self) -> list[dict[str, Any]]:
        """Each entry with its size, permissions and time of change as people write them."""
        return [_detail(one) for one in self.entries]

    @property
    def note(self) -> str:
        """What is not shown, in words."""
        notes = []
        if self.total > len(self.entries):
            notes.append(f"{len(self.entries)} of {self.total} entries shown")
        if self.hidden:
            notes.append(f"{self.hidden} hidden not shown")
        if self.closed:
            notes.append(f"{counted(self.closed, 'folder')} could not be read")
        return f"({'; '.join(notes)})" if notes else ""

    def __str__(self) -> str:
        return self.marked("{name}{mark}")


@dataclass(frozen=True, slots=True)
class Summed(FolderListing):
    """The same with the size of all files in a folder, where it could be counted."""

    sums: dict[str, int | None]

    @property
    def details(self) -> list[dict[str, Any]]:
        return [_detail(one) | {"size": self.sums.get(one.path, one.size)} for one in self.entries]


@tool(Effect.READ)
def ls(
    ctx: Context,
    path: Annotated[FilePath, "Folder to list."] = ".",
    hidden: Annotated[bool, "Dot names too."] = False,
    depth: Annotated[int, Field(ge=1, le=100), "Levels to go down."] = 1,
    *,
    type: Annotated[Literal["all", "file", "directory", "link"], "Only entries of this type."] = "all",
    pattern: Annotated[str | None, "Only names that match this glob."] = None,
    sort: Annotated[Literal["name", "size", "modified", "type"], "Order of the entries."] = "name",
    limit: Annotated[int, Field(ge=1), "Most entries to show."] = 1000,
    recursive: Annotated[bool, "Go down at all; without it, one level."] = True,
    sizes: Annotated[bool, "Tell as a folder's size that of all files in it."] = False,
    exclude: Annotated[tuple[str, ...], "Globs of names to leave out."] = (),
) -> FolderListing:
    """List a folder: folders end in /, links show their target."""
    closed: list[str] = []
    where, found = ctx.tree.folder(path, depth if recursive else 1, ctx.token, closed)
    prefix = f"{where}/" if where else ""
    named = globs.compile(pattern) if pattern else None
    found = [one for one in found if type in ("all", one.kind) and (named is None or named.matches(one.name))]
    if exclude:
        files = globs.GlobFilter((), tuple(map(globs.compile, exclude)))
        found = [one for one in found if files.wants(one.path.removeprefix(prefix))]
    shown = [one for one in found if hidden or not is_hidden(one.path.removeprefix(prefix))]
    if sort == "size":
        shown.sort(key=lambda one: -one.size)
    elif sort == "modified":
        shown.sort(key=lambda one: -one.modified)
    elif sort == "type":
        shown.sort(key=lambda one: one.kind)
    listed = FolderListing(where or ".", shown[:limit], len(shown), len(found) - len(shown), len(closed))
    if not sizes:
        return listed
    folders = [one.path for one in listed.entries if one.kind == "directory"]
    sums = {one: _sum(ctx, f"{path}/{one.removeprefix(prefix)}", _COUNTED // len(folders)) for one in folders}
    if sort == "size":  # what is too much to count is the largest
        listed.entries.sort(key=lambda one: -(size if (size := sums.get(one.path, one.size)) is not None else inf))
    return Summed(listed.path, listed.entries, listed.total, listed.hidden, listed.closed, sums)


def _sum(ctx: Context, folder: str, most: int) -> int | None:
    """How large the files in a folder are together; None if it has more entries, or some that may not be seen."""
    size, waiting = 0, [folder]
    while waiting:
        below = waiting.pop()
        try:
            items = ctx.tree.folder(below, 1, ctx.token)[1]
        except PermissionError:
            return None
        most -= len(items) + 1
        if most < 0:
            return None
        size += sum(one.size for one in items if one.kind == "file")
        waiting += [f"{below}/{one.name}" for one in items if one.kind == "directory"]
    return size


def _detail(one: TreeItem) -> dict[str, Any]:
    modified = datetime.datetime.fromtimestamp(one.modified, datetime.UTC).isoformat(timespec="seconds")
    facts = {"name": one.name, "path": one.path, "type": one.kind, "size": one.size}
    known = facts | {"permissions": f"{one.mode & 0o7777:04o}", "modified": modified}
    return known if one.target is None else known | {"target": one.target}
