"""Find files by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.host.search.search import FileEntry, FindResult, Scope
from toolroll.result import Status, Suggestion
from toolroll.schema import Field, FilePath
from toolroll.text import names
from toolroll.text.lines import counted
from toolroll.text.search.skipped import sentence
from toolroll.tool import Effect, tool

_MAX_NAMED_LINKS = 5


@dataclass(frozen=True, slots=True)
class Files:
    """The paths that match, in the order asked for; links to files count as files. `entries` are shown of `total`."""

    entries: list[FileEntry]
    total: int
    note: str
    status: Status = "success"
    more: Suggestion | None = None
    whole: Callable[[], str] | None = None

    @property
    def returned(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        return _text(self.entries) or "No files found."


@tool(Effect.READ, asks=("the file list", "the workspace"))
def find(
    ctx: Context,
    pattern: Annotated[str, Field(min_length=1), "Glob, such as src/**/*.{ts,tsx}; a bare name matches anywhere."],
    path: Annotated[FilePath, "Folder."] = ".",
    type: Annotated[Literal["file", "directory", "both"], "What to find."] = "file",
    hidden: Annotated[bool, "Dot names too."] = False,
    ignored: Annotated[bool, "What .gitignore leaves out, too."] = False,
    sort: Annotated[Literal["modified", "path", "name", "size"], "Order."] = "modified",
    limit: Annotated[int, Field(ge=1), "Most paths."] = 100,
    exclude: Annotated[tuple[str, ...], "Globs of what to leave out."] = (),
    *,
    skip: Annotated[tuple[str, ...], "Names of folders not to enter."] = (),
    full: Annotated[bool, "Give whole paths, from the root of the file system."] = False,
) -> Files:
    """Find files by a glob pattern, newest first."""
    search, where = ctx.search.of(*ctx.files.where(path), ctx.limits if ctx.call.is_whole else None)
    scope = Scope(where, exclude=exclude, hidden=hidden, ignored=ignored, skip=skip)
    found = search.find(pattern, scope, kind=type, sort=sort, limit=limit, links=True, token=ctx.token)
    elsewhere = found.survey.elsewhere if found.survey else {}
    switches = {kind: True for kind in ("hidden", "ignored") if elsewhere.get(kind)}
    asked = {"type": type if type != "file" else "", "hidden": hidden, "ignored": ignored, "exclude": list(exclude)}
    given = {name: value for name, value in {**asked, **switches}.items() if value}
    more = Suggestion("find", {"pattern": pattern, "path": path, **given})
    return Files(
        entries=[_with_whole_path(ctx, one) if full else one for one in found.entries[:limit]],
        total=found.total,
        note=_note(found, limit),
        status="success" if found.complete else "partial",
        more=more if switches and not found.entries else None,
        whole=partial(_whole, found) if found.total > limit else None,
    )


def _with_whole_path(ctx: Context, entry: FileEntry) -> FileEntry:
    _, root, parts = ctx.files.root.owner(tuple(entry.path.split("/")))
    return replace(entry, path="/".join((root.path, *parts)))


def _text(entries: Sequence[FileEntry]) -> str:
    """A path a line; folders end in a slash."""
    return "\n".join([f"{one.path}/" if one.kind == "directory" else one.path for one in entries])


def _whole(found: FindResult) -> str:
    return found.whole or _text(names.show_names(found.entries))


def _note(found: FindResult, limit: int) -> str:
    notes = []
    if not found.complete:
        notes.append("Stopped for want of time: this is a part of the files. Narrow `path` or `pattern`.")
    if found.total > limit:
        notes.append(f"{limit} of {found.total} shown (limit reached).")
    if found.dead_links:
        named = ", ".join(names.show_name(path) for path in found.dead_links[:_MAX_NAMED_LINKS])
        lead = f"{counted(len(found.dead_links), 'link')} left out, to nothing or out of the workspace"
        notes.append(f"{lead}: {named}.")
    if (survey := found.survey) is not None and not found.entries:
        notes.append(sentence(survey.searched, survey.skipped, survey.elsewhere, survey.near))
    return f"({' '.join(notes)})" if notes else ""
