"""Find where a symbol is defined and used, and what calls it or is called by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from toolroll.host.code.place_resolver import SymbolUses, UsePlace
from toolroll.host.code.symbol_uses import Direction, FoundSymbol, UseFinder
from toolroll.host.context import Context
from toolroll.result import Looked, Status, Suggestion
from toolroll.schema import Field, FilePath
from toolroll.text import names
from toolroll.text.code.syntax import symbols
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool

_MOST_UNKNOWN, _MOST_REASONS = 20, 3


@dataclass(frozen=True, slots=True)
class Reference:
    """A definition or a use: file, position, kind, the line, and the function or class around it."""

    path: str
    line: int
    column: int
    kind: str
    text: str
    within: str = ""
    why: str = ""
    """Why it is unknown or ruled out."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class UseGroup:
    """The uses of one definition. `server` resolved them; without one they are by name."""

    definition: str
    server: str
    uses: list[Reference]
    unknown: list[Reference]
    """Places that may be uses: `why` says what is not known."""


@dataclass(frozen=True, slots=True)
class References:
    """Definitions apart from uses. `total` counts all uses, `uses` are those shown."""

    symbol: str
    definitions: list[Reference]
    uses: list[Reference]
    total: int
    files: int
    note: str
    groups: list[UseGroup]
    ruled_out: list[Reference]
    """At most `limit` places with the name that belong to something else."""
    kind: Direction = "uses"
    status: Status = "success"
    more: Suggestion | None = None
    looked: Looked | None = field(default=None, compare=False)

    @property
    def resolved(self) -> bool:
        return bool(self.groups) and all(group.server for group in self.groups)

    def __str__(self) -> str:
        if not self.definitions and not self.uses:
            return f"{self.symbol} is neither defined nor used."
        defined = f"{counted(len(self.definitions), 'definition')} of {self.symbol}"
        lines = [defined] * (bool(self.definitions) or self.status == "success") + list(map(str, self.definitions))
        word = {"uses": "use", "callers": "call", "callees": "call"}[self.kind]
        lines.append(f"{counted(self.total, word)} in {counted(self.files, 'file')}{_how(self.groups)}")
        left = len(self.uses)
        for group in self.groups:
            lines += [f"of {group.definition}{_how([group])}:"] * (len(self.groups) > 1)
            lines += [f"{one} (in {one.within})" if self.kind != "uses" else str(one) for one in group.uses[:left]]
            left -= min(left, len(group.uses))
            if group.unknown:
                lines.append(f"{len(group.unknown)} more by name: may include others, what they stand on is unknown")
                lines += map(str, group.unknown[:_MOST_UNKNOWN])
        return "\n".join(lines)


@tool(Effect.READ, rare=True)
def references(
    ctx: Context,
    symbol: Annotated[
        str | None, Field(min_length=1, max_length=500), "Name of it, such as parse or Parser.parse."
    ] = None,
    path: Annotated[FilePath, "File that defines it, or folder or file to search."] = ".",
    line: Annotated[int | None, Field(ge=1), "A line of the file that has it."] = None,
    kind: Annotated[Direction, "Uses, or only what calls it, or what it calls."] = "uses",
    *,
    limit: Annotated[int, Field(ge=1), "Most uses to show."] = 200,
    include: Annotated[str | None, "Only files whose path matches this glob."] = None,
) -> References:
    """Find the uses of a symbol and its definitions, in code, not in comments or strings: resolved, or by name."""
    lookup = ctx.lookup
    found = UseFinder(lookup).find(symbol, path, line, kind, include)
    groups = [_group(one) for one in found.groups]
    groups += [UseGroup("", "", list(map(_reference, found.undefined)), [])] * bool(found.undefined)
    uses = [use for group in groups for use in group.uses]
    defined = [_reference(row) for one in found.groups for row in one.definitions]
    looked = lookup.looked(counted(len(found.scan.found), "file"))
    if not defined and not uses:
        found.scan.check_looked()
        near = ctx.structure.similar_names(symbols.parse_symbol(found.name).name, found.where, ctx.token)
        said = [str(found.scan), *([f"Did you mean {' or '.join(map(repr, near))}?"] if near else [])]
        more = Suggestion("references", {"symbol": near[0], "path": path}) if near else None
        return References(found.name, [], [], 0, 0, f"({' '.join(said)})", [], [], kind, more=more, looked=looked)
    notes = [f"{limit} of {len(uses)} uses shown (limit reached)."] * (len(uses) > limit) + _notes(found)
    note, files = f"({' '.join(notes)})" if notes else "", len({use.path for use in uses})
    left_out = list(map(_reference, found.ruled_out[:limit]))
    what = defined, uses[:limit], len(uses), files, note, groups, left_out, kind, found.status
    return References(found.name, *what, looked=looked)


def _group(one: SymbolUses) -> UseGroup:
    tag, uses, unknown = one.symbol.tag, list(map(_reference, one.uses)), list(map(_reference, one.unknown))
    return UseGroup(f"{tag.path} in {names.show_name(one.symbol.path)}:{tag.name_line}", one.server, uses, unknown)


def _reference(row: UsePlace) -> Reference:
    place = row.place
    return Reference(row.path, place.line, place.column, place.kind, place.text, row.within, row.why)


def _how(groups: Sequence[UseGroup]) -> str:
    servers = {group.server for group in groups}
    if len(servers) != 1:
        return ""
    return f", resolved by {server}" if (server := servers.pop()) else ", by name: may include others"


def _notes(found: FoundSymbol) -> list[str]:
    groups, scan = found.groups, found.scan
    notes = list(dict.fromkeys(f"By name: {one.reason.rstrip('.')}." for one in groups if one.reason))
    notes += [f"Also calls what is defined elsewhere: {', '.join(dict.fromkeys(found.outside))}."] * bool(found.outside)
    if found.ruled_out:
        why = ", ".join(dict.fromkeys(row.why for row in found.ruled_out[:_MOST_REASONS]))
        notes.append(f"{counted(len(found.ruled_out), 'other place')} with this name left out: {why}.")
    if any(not one.complete for one in groups):
        notes.append("The server did not see all files with the name: some uses may be missing.")
    return [*notes, str(scan)] if scan.stopped or scan.skipped or scan.others else notes
