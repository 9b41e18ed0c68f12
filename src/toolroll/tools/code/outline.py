"""Show the structure of a file or folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, NamedTuple

from toolroll.host.context import Context
from toolroll.result import Looked, Status
from toolroll.schema import Field, FilePath
from toolroll.text import names
from toolroll.text.code.syntax import outline as outlines
from toolroll.text.code.syntax.model import Tags
from toolroll.text.code.syntax.outline import OutlineLine
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class FileOutline:
    """One file of an outline."""

    path: str
    title: str
    imports: list[str]
    lines: list[OutlineLine]


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a file, or of each file of a folder. `files` and `definitions` count all there are."""

    parts: list[FileOutline]
    files: int
    definitions: int
    brief: bool
    """Only names are shown, one line per file, because there are many."""
    note: str
    status: Status = "success"
    looked: Looked | None = field(default=None, compare=False)
    whole: Callable[[], str] | None = None
    form: Callable[[], str] | None = None

    def __str__(self) -> str:
        said = self.form() if self.form is not None else _text(self.parts, self.brief)
        return said or "Nothing is defined here."


@tool(Effect.READ, rare=True, asks=("syntax", "its files"))
def outline(
    ctx: Context,
    path: Annotated[FilePath, "File or folder."] = ".",
    depth: Annotated[int | None, Field(ge=1, le=10), "Levels of definitions to show."] = None,
    *,
    limit: Annotated[int, Field(ge=1), "Most lines to show."] = 400,
) -> Outline:
    """Outline a file (classes, functions, signatures, line spans) or all files of a folder."""
    where = ctx.structure.resolve_path(ctx.files, path)
    if ctx.structure.is_file(where):
        tags = ctx.structure.tags_of(where, ctx.token)
        lines = outlines.lines(tags, depth or 3)
        part = FileOutline(path, outlines.header(path, tags), outlines.imports(tags), lines[:limit])
        fault = f"Line {tags.broken} does not parse: what follows it may be incomplete." if tags.broken else ""
        whole = partial(_text, [replace(part, lines=lines)], False)
        return _outline([part], _Counts(len(lines), 1, 1), limit, fault, whole)
    scan = ctx.structure.scan(where, whole=False, token=ctx.token)
    broken = [f"{one}:{tags.broken}" for one, tags in scan.found if tags.broken]
    faults = f" Not parsed in full: {', '.join(broken[:5])}{' ...' if len(broken) > 5 else ''}." if broken else ""
    if not any(tags.definitions for _, tags in scan.found):
        scan.check_looked()
    texts = [(one, tags, text) for one, tags in scan.found if (text := outlines.text(tags, depth or 1))]
    counts = _Counts(sum(text.count("\n") + 1 for _, _, text in texts), len(texts), len(scan.found))
    most = limit if len(texts) == 1 else None
    parts = [
        FileOutline(one, outlines.header(one, tags), [], outlines.lines(tags, depth or 1, values=False)[:most])
        for one, tags, _ in texts[:limit]
    ]
    made = _outline(parts, counts, limit, f"{scan}{faults}", partial(_join_texts, texts))
    return replace(made, status="partial" if scan.stopped or scan.failed else "success", looked=scan.looked)


class _Counts(NamedTuple):
    """Definitions, the files that have some, and all files."""

    definitions: int
    outlined: int
    files: int


def _outline(shown: list[FileOutline], counts: _Counts, limit: int, note: str, whole: Callable[[], str]) -> Outline:
    total, outlined, files = counts
    brief = total > limit and outlined > 1
    notes = [f"{len(shown)} of {outlined} files shown."] if len(shown) < outlined else []
    if total > limit:
        hint = f"{total} definitions: give a file as `path` for their lines." if brief else None
        notes.append(hint or f"{limit} of {total} definitions shown.")
    notes += [note] if note else []
    return Outline(
        parts=shown,
        files=files,
        definitions=total,
        brief=brief,
        note=f"({' '.join(notes)})" if notes else "",
        whole=whole if total > limit else None,
        form=whole if total <= limit else None,
    )


def _join_texts(texts: Sequence[tuple[str, Tags, str]]) -> str:
    return "\n".join([f"{outlines.header(one, tags)}\n{text}" for one, tags, text in texts])


def _text(parts: Sequence[FileOutline], brief: bool) -> str:
    if brief:
        return "\n".join(f"{names.show_name(part.path)}: {outlines.names(part.lines)}" for part in parts)
    blocks = []
    for part in parts:
        blocks.append(part.title)
        blocks += [f"  {outlines.summary(part.imports)}"] if part.imports else []
        blocks += outlines.render(part.lines, "  ")
    return "\n".join(blocks)
