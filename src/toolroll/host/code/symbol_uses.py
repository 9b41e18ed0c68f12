"""Find the uses of symbols and what they call: resolved by a language server, or else by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from toolroll.host.code.place_resolver import PlaceResolver, SymbolUses, UsePlace, list_places, place_at
from toolroll.host.code.structure import StructureScan
from toolroll.host.code.symbol_lookup import NamedFile, SymbolLookup, defined_in
from toolroll.result import ErrorCode, Status, ToolError
from toolroll.text.code.syntax import resolution, symbols
from toolroll.text.code.syntax.resolution import DefinedSymbol
from toolroll.text.code.syntax.symbols import Symbol, SymbolPlace

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.text.code.syntax.model import Tags

Direction = Literal["uses", "callers", "callees"]

_PARSE_SHARE = 0.6  # of the time, so that there is an answer by text
_MAX_CALLS = 100  # in one definition
_CALLS = frozenset({"call", "decorator"})


@dataclass(slots=True)
class FoundSymbol:
    """What is known of a name: the places of each definition, and those that are ruled out."""

    name: str
    where: str
    groups: list[SymbolUses]
    ruled_out: list[UsePlace] = field(default_factory=list)
    scan: StructureScan[Tags] = field(default_factory=StructureScan)
    undefined: list[UsePlace] = field(default_factory=list)
    """Uses of a name that is defined outside the workspace."""
    outside: list[str] = field(default_factory=list)
    """Names that are called and defined outside the workspace."""

    @property
    def status(self) -> Status:
        """Whether there was time for all of it."""
        return "partial" if self.scan.stopped or any(one.late for one in self.groups) else "success"


class UseFinder:
    """Finds uses on behalf of one call."""

    def __init__(self, lookup: SymbolLookup) -> None:
        self._lookup = lookup

    def find(
        self, symbol: str | None, path: str, line: int | None, kind: Direction = "uses", include: str | None = None
    ) -> FoundSymbol:
        """The definitions and uses of a symbol; the lines with its name, if there is no time for more."""
        lookup, whole = self._lookup, self._lookup.token
        lookup.token = whole.within(_PARSE_SHARE * whole.remaining())
        try:
            return self._find(symbol, path, line, kind, include)
        except ToolError as error:
            if error.code is not ErrorCode.TIMEOUT or symbol is None or kind == "callees":
                raise
        name, where = symbols.parse_symbol(symbol).name, lookup.resolve(path)
        lines, scan = lookup.find_lines(name, where, include, whole)
        return FoundSymbol(name, where, [], scan=scan, undefined=[UsePlace(*one) for one in lines])

    def _find(
        self, symbol: str | None, path: str, line: int | None, kind: Direction, include: str | None
    ) -> FoundSymbol:
        """The definitions and uses of a symbol: of one that a file defines, or of its name in a file or folder."""
        chosen: list[DefinedSymbol] = []
        where = self._lookup.resolve(path)
        if symbol is None or line is not None or kind == "callees":
            target = self._lookup.locate("references", symbol, None if path == "." else path, line, None)
            chosen = self._lookup.define(target) or [self._lookup.undefined(target)]
            symbol, where = target.name, "."
        if kind == "callees":
            return self._find_callees(symbol, chosen)
        wanted = symbols.parse_symbol(symbol)
        if not chosen and self._lookup.is_file(where):
            chosen = list(defined_in(self._lookup.named_files(wanted, where)[0]))
            where = "." if chosen else where
        named, scan = self._lookup.named_files(wanted, where, include)
        chosen = chosen or list(defined_in(named)) or self._lookup.definitions(symbol)
        if chosen:  # what their uses stand on is looked at later
            named, scan = self._lookup.named_files(Symbol(wanted.name, "", wanted.whole), where, include)
        if not chosen:  # a use of `x.name` counts only where something has this name
            undefined = [row for row in list_places(named) if row.place.sure]
            return FoundSymbol(symbol, where, [], scan=scan, undefined=undefined)
        resolved = PlaceResolver(self._lookup).resolve(chosen, named)
        found = FoundSymbol(symbol, where, resolved.groups, resolved.ruled_out, scan)
        _sort(found, named)
        if kind == "callers":
            for group in found.groups:
                group.uses = [row for row in group.uses if row.place.kind in _CALLS]
                group.unknown = [row for row in group.unknown if row.place.kind in _CALLS]
        return found

    def _find_callees(self, name: str, chosen: Sequence[DefinedSymbol]) -> FoundSymbol:
        """What each definition calls, with the line of the call as `within`."""
        found = FoundSymbol(name, ".", [])
        for one in chosen:
            group = SymbolUses(one, [_defined_place(one)])
            source = self._lookup.source(one.path)
            calls = []
            for use in one.tags.uses_of():
                if use.kind == "call" and one.tag.line <= use.line <= one.tag.end_line:
                    line = source.line_text(use.line)
                    before = symbols.receiver(line[: use.column - 1])
                    place = SymbolPlace(use.line, use.column, "call", line.strip(), receiver=before)
                    calls.append((use.name, UsePlace(one.path, place)))
            try:
                callees = self._callees_by_server(group, calls[:_MAX_CALLS])
            except ToolError as error:
                group.server, group.reason = "", self._lookup.check_soft(error).message
                callees = self._callees_by_name(one, calls)
            for (called, call), callee in zip(calls, callees, strict=False):
                if callee is None:
                    found.outside.append(called)
                else:
                    group.uses.append(callee._replace(within=f"line {call.place.line}"))
            found.groups.append(group)
        return found

    def _callees_by_server(self, group: SymbolUses, calls: Sequence[tuple[str, UsePlace]]) -> list[UsePlace | None]:
        token = self._lookup.server_token()
        group.server = self._lookup.servers.program(group.symbol.path)
        return [self._defined_at(call, token) for _, call in calls]

    def _defined_at(self, call: UsePlace, token: CancelToken) -> UsePlace | None:
        """The definition of what is used at a place, if it is in the workspace."""
        found = self._lookup.servers.definition(*call.spot, token).found
        if not found or not found[0].inside:
            return None
        known = self._lookup.tagged(found[0])
        return place_at(self._lookup, found[0]) if known is None else _defined_place(known)

    def _callees_by_name(self, one: DefinedSymbol, calls: Sequence[tuple[str, UsePlace]]) -> list[UsePlace | None]:
        known = self._lookup.definitions_by_name({name for name, _ in calls})
        made: list[UsePlace | None] = []
        for name, call in calls:
            among = known.get(name, [])
            at, _ = resolution.choose_definition(among, one.path, one.tags, self._lookup.text(one.path), call.place)
            made.append(None if at is None else _defined_place(among[at]))
        return made


def _sort(found: FoundSymbol, named: Sequence[NamedFile]) -> None:
    """Put uses in the order of files and lines, only of the files that were searched, and find the other places."""
    inside = {file.path for file in named}
    for group in found.groups:
        group.uses.sort(key=lambda row: row.spot)
        if found.where != ".":  # a server answers for the whole project
            group.definitions = [row for row in group.definitions if row.path in inside]
            group.uses = [row for row in group.uses if row.path in inside]


def _defined_place(one: DefinedSymbol) -> UsePlace:
    tag = one.tag
    return UsePlace(one.path, SymbolPlace(tag.name_line, tag.column, tag.kind, tag.text, definition=True, tag=tag))
