"""Find where a symbol is defined and used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from toolroll.host.code.structure import StructureScan
from toolroll.host.context import Context
from toolroll.host.search.search import Query
from toolroll.result import Status, Suggestion
from toolroll.schema import Field, FilePath
from toolroll.text.code.syntax import symbols
from toolroll.text.code.syntax.model import Tags
from toolroll.text.code.syntax.symbols import SymbolPlace
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Reference:
    """A definition or a use: file, position, kind, and the line."""

    path: str
    line: int
    column: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class References:
    """Definitions apart from uses. `total` counts all uses, `uses` are those shown."""

    symbol: str
    definitions: list[Reference]
    uses: list[Reference]
    total: int
    files: int
    note: str
    status: Status = "success"
    more: Suggestion | None = None

    def __str__(self) -> str:
        if not self.definitions and not self.uses:
            return f"{self.symbol} is neither defined nor used."
        defined = f"{counted(len(self.definitions), 'definition')} of {self.symbol}"
        used = f"{counted(self.total, 'use')} in {counted(self.files, 'file')}"
        return "\n".join([defined, *map(_line, self.definitions), used, *map(_line, self.uses)])


@tool(Effect.READ, rare=True)
def references(
    ctx: Context,
    symbol: Annotated[str, Field(min_length=1, max_length=500), "Name of it, such as parse or Parser.parse."],
    path: Annotated[FilePath, "Folder or file."] = ".",
    *,
    limit: Annotated[int, Field(ge=1), "Most uses to show."] = 200,
    include: Annotated[str | None, "Only files whose path matches this glob."] = None,
) -> References:
    """Find where a symbol is defined and where it is used, in code, not in comments or strings."""
    wanted = symbols.parse_symbol(symbol)
    where = ctx.structure.resolve_path(ctx.files, path)
    # Beyond ASCII, the bytes of a name depend on the encoding of the file.
    holds = Query(wanted.stem, literal=True, whole_word=True) if wanted.stem.isascii() else None
    scan = ctx.structure.scan(where, holds=holds, wanted=lambda one: one.code, include=include, token=ctx.token)
    found = [
        (one, place)
        for one, tags in scan.found
        for place in symbols.find_places(tags, ctx.structure.source_of(one), wanted, one)
    ]
    defined = [_make_reference(one, place) for one, place in found if place.definition]
    # The type of x in `x.method` is unknown; it counts if a class here has such a method.
    used = [(one, place) for one, place in found if not place.definition and (place.sure or defined)]
    if not defined and not used:
        return _not_found(symbol, path, scan, ctx.structure.similar_names(wanted.name, where, ctx.token))
    return References(
        symbol=symbol,
        definitions=defined,
        uses=[_make_reference(one, place) for one, place in used[:limit]],
        total=len(used),
        files=len({one for one, _ in used}),
        note=_note(used, limit, str(scan) if scan.stopped or scan.skipped or scan.others else ""),
        status="partial" if scan.stopped else "success",
    )


def _make_reference(path: str, place: SymbolPlace) -> Reference:
    return Reference(path, place.line, place.column, place.kind, place.text)


def _line(one: Reference) -> str:
    return f"{one.path}:{one.line}:{one.column}: {one.kind}: {one.text}"


def _note(used: Sequence[tuple[str, SymbolPlace]], limit: int, seen: str) -> str:
    notes = [f"{limit} of {len(used)} uses shown (limit reached)."] if len(used) > limit else []
    unsure = sum(not place.sure for _, place in used)
    notes += [f"{unsure} of the uses are told by their name only."] if unsure else []
    notes += [seen] if seen else []
    return f"({' '.join(notes)})" if notes else ""


def _not_found(symbol: str, path: str, scan: StructureScan[Tags], near: list[str]) -> References:
    """The answer for an unknown symbol: what was searched, and similar names."""
    notes = [str(scan)]
    notes += [f"Did you mean {' or '.join(map(repr, near))}?"] if near else []
    more = Suggestion("references", {"symbol": near[0], "path": path}) if near else None
    return References(symbol, [], [], 0, 0, f"({' '.join(notes)})", more=more)
