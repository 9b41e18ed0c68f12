"""Find definitions, imports, calls and decorators by kind and name, or code by a structural pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from toolroll.host.code.structure import StructureScan
from toolroll.host.context import Context
from toolroll.host.search.search import Query
from toolroll.result import Looked, Status
from toolroll.schema import Field, FilePath
from toolroll.text.code.syntax import languages, patterns
from toolroll.text.code.syntax.symbols import SymbolQuery, SymbolRow, format_row, literal
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Symbols:
    """Symbols by path and line. `total` counts all, `rows` are those shown."""

    rows: list[SymbolRow]
    total: int
    files: int
    note: str
    status: Status = "success"
    looked: Looked | None = field(default=None, compare=False)
    whole: Callable[[], str] | None = None

    def __str__(self) -> str:
        return _text(self.rows) or "Nothing found."


@tool(Effect.READ, rare=True)
def symbols(
    ctx: Context,
    kind: Annotated[
        str, "any, function, method, class, type, variable, import, call, decorator; or struct, enum, interface ..."
    ] = "any",
    name: Annotated[str | None, Field(min_length=1), "Only this name; may be a glob or dotted."] = None,
    path: Annotated[FilePath, "Folder or file."] = ".",
    pattern: Annotated[
        str | None, Field(min_length=1), "Instead: code that looks like this, such as open($FILE, $$$REST)."
    ] = None,
    limit: Annotated[int, Field(ge=1), "Most to show."] = 200,
    *,
    include: Annotated[str | None, "Only files whose path matches this glob."] = None,
) -> Symbols:
    """List what is defined, imported, called or used to decorate, by syntax, with file and line."""
    where = ctx.structure.resolve_path(ctx.files, path)
    if pattern is not None:
        return _find_pattern(ctx, pattern, where, limit)
    word, wanted = literal(name), SymbolQuery(kind, name)
    scan = ctx.structure.scan(where, holds=_holds(word), whole=wanted.kind == "call", include=include, token=ctx.token)
    rows: list[SymbolRow] = []
    for one, tags in scan.found:
        rows += wanted.rows(one, tags, partial(ctx.structure.source_of, one), limit - len(rows))
    near = ctx.structure.similar_names(word, where, ctx.token) if word and not rows else []
    return _make_symbols(rows, limit, scan, near)


def _find_pattern(ctx: Context, pattern: str, where: str, limit: int) -> Symbols:
    patterns.check(pattern)
    scan = ctx.structure.find_pattern(pattern, where, holds=_holds(patterns.literal(pattern)), token=ctx.token)
    rows = [
        SymbolRow(path, match.line, match.end_line, match.column, "match", "", match.text)
        for path, matches in scan.found
        for match in matches
    ]
    if not rows:
        patterns.check_parsed(pattern, {known.name for path, _ in scan.found if (known := languages.by_name(path))})
    return _make_symbols(rows, limit, scan, [])


def _holds(word: str) -> Query | None:
    """The text that a file must hold to be worth parsing."""
    return Query(word, literal=True) if word else None


def _make_symbols(rows: list[SymbolRow], limit: int, scan: StructureScan[Any], near: list[str]) -> Symbols:
    if not rows:
        scan.check_looked()
    files = len({row.path for row in rows})
    notes = [f"{limit} of {len(rows)} in {counted(files, 'file')} shown (limit reached)."] if len(rows) > limit else []
    notes += [str(scan)] if scan.stopped or scan.skipped or not rows else []
    notes += [f"Did you mean {' or '.join(map(repr, near))}?"] if near else []
    return Symbols(
        rows=rows[:limit],
        total=len(rows),
        files=files,
        note=f"({' '.join(notes)})" if notes else "",
        status="partial" if scan.stopped or scan.failed else "success",
        looked=scan.looked,
        whole=partial(_text, rows) if len(rows) > limit else None,
    )


def _text(rows: Sequence[SymbolRow]) -> str:
    return "\n".join(map(format_row, rows))
