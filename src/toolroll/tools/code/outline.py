"""Show the structure of a file or folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from toolroll.host.context import Context
from toolroll.result import Status
from toolroll.schema import Field, FilePath
from toolroll.text.structure import outline as outlines
from toolroll.text.structure.outline import Line
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Part:
    """One file of an outline."""

    path: str
    title: str
    imports: list[str]
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a file, or of each file of a folder. `files` and `definitions` count all there are."""

    parts: list[Part]
    files: int
    definitions: int
    brief: bool
    """Only names are shown, a file a line, because there are many."""
    note: str
    status: Status = "success"
    whole: Callable[[], str] | None = None

    def __str__(self) -> str:
        return _text(self.parts, self.brief) or "Nothing is defined here."


@tool(Effect.READ, rare=True)
def outline(
    ctx: Context,
    path: Annotated[FilePath, "File or folder."] = ".",
    depth: Annotated[int | None, Field(ge=1, le=10), "Levels of definitions to show."] = None,
    *,
    limit: Annotated[int, Field(ge=1), "Most lines to show."] = 400,
) -> Outline:
    """Outline a file (classes, functions, signatures, line spans) or all files of a folder."""
    where = ctx.structure.place(ctx.files, path)
    if ctx.structure.is_file(where):
        tags = ctx.structure.tags_of(where, ctx.token)
        part = Part(path, outlines.header(path, tags), outlines.imports(tags), outlines.lines(tags, depth or 3))
        fault = f"Line {tags.broken} does not parse: what follows it may be incomplete." if tags.broken else ""
        return _made([part], 1, limit, fault)
    look = ctx.structure.look(where, whole=False, token=ctx.token)
    parts = [
        Part(one, outlines.header(one, tags), [], lines)
        for one, tags in look.found
        if (lines := outlines.lines(tags, depth or 1, values=False))
    ]
    broken = [f"{one}:{tags.broken}" for one, tags in look.found if tags.broken]
    faults = f" Not parsed in full: {', '.join(broken[:5])}{' ...' if len(broken) > 5 else ''}." if broken else ""
    return _made(parts, len(look.found), limit, f"{look}{faults}", "partial" if look.stopped else "success")


def _made(parts: list[Part], files: int, limit: int, note: str, status: Status = "success") -> Outline:
    total = sum(len(part.lines) for part in parts)
    brief = total > limit and len(parts) > 1
    shown = parts[:limit] if brief else [replace(part, lines=part.lines[:limit]) for part in parts]
    notes = [f"{len(shown)} of {len(parts)} files shown."] if len(shown) < len(parts) else []
    if total > limit:
        told = f"{total} definitions: give a file as `path` for their lines." if brief else None
        notes.append(told or f"{limit} of {total} definitions shown.")
    notes += [note] if note else []
    return Outline(
        parts=shown,
        files=files,
        definitions=total,
        brief=brief,
        note=f"({' '.join(notes)})" if notes else "",
        status=status,
        whole=partial(_text, parts, False) if total > limit else None,
    )


def _text(parts: Sequence[Part], brief: bool) -> str:
    if brief:
        return "\n".join(f"{part.path}: {outlines.names(part.lines)}" for part in parts)
    blocks = []
    for part in parts:
        blocks.append(part.title)
        blocks += [f"  {outlines.summary(part.imports)}"] if part.imports else []
        blocks += outlines.rendered(part.lines, "  ")
    return "\n".join(blocks)
