"""Find the uses of symbols and what they call: resolved by a language server, or else by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from toolroll.host.code.structure import StructureScan
from toolroll.host.code.symbol_lookup import SERVER_SECONDS, NamedFile, SymbolLookup, defined_in
from toolroll.host.lsp.servers import language_of
from toolroll.result import ToolError
from toolroll.text.code.exports import find_exports
from toolroll.text.code.syntax import resolution, symbols
from toolroll.text.code.syntax.resolution import LIKELY, DefinedSymbol, family
from toolroll.text.code.syntax.symbols import Symbol, SymbolPlace
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.host.lsp.answers import Location
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.text.code.syntax.model import Tags

Direction = Literal["uses", "callers", "callees"]

_MAX_RESOLVED = 8  # definitions of one name that a server is asked about
_MAX_CALLS = 100  # in one definition
MAX_UNSURE = 30  # uses whose receiver a server is asked about
_CALLS = frozenset({"call", "decorator"})


class UsePlace(NamedTuple):
    """A definition or use of a symbol in a file, and the function or class around it."""

    path: str
    place: SymbolPlace
    within: str = ""

    @property
    def spot(self) -> tuple[str, int, int]:
        return self.path, self.place.line, self.place.column


@dataclass(slots=True)
class SymbolUses:
    """The uses of one symbol. Without a server they are by name, and so are those in `unsure` in any case."""

    symbol: DefinedSymbol
    definitions: list[UsePlace] = field(default_factory=list)
    uses: list[UsePlace] = field(default_factory=list)
    unsure: list[UsePlace] = field(default_factory=list)
    server: str = ""
    """The language server that resolved them."""
    complete: bool = True
    reason: str = ""
    """Why no server answered."""


@dataclass(slots=True)
class FoundSymbol:
    """What is known of a name: the uses of each definition, and places that belong to none of them."""

    name: str
    where: str
    groups: list[SymbolUses]
    others: list[UsePlace] = field(default_factory=list)
    scan: StructureScan[Tags] = field(default_factory=StructureScan)
    outside: list[str] = field(default_factory=list)
    """Names that are called and defined outside the workspace."""


class UseFinder:
    """Finds uses on behalf of one call."""

    def __init__(self, lookup: SymbolLookup) -> None:
        self._lookup = lookup

    def find(
        self, symbol: str | None, path: str, line: int | None, kind: Direction = "uses", include: str | None = None
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
            return FoundSymbol(symbol, where, [], [row for row in list_places(named) if row.place.sure], scan)
        found = FoundSymbol(symbol, where, self.group_uses(chosen, named), scan=scan)
        _sort(found, named)
        if kind == "callers":
            for group in found.groups:
                group.uses = [row for row in group.uses if row.place.kind in _CALLS]
                group.unsure = [row for row in group.unsure if row.place.kind in _CALLS]
        return found

    def group_uses(self, chosen: Sequence[DefinedSymbol], named: Sequence[NamedFile]) -> list[SymbolUses]:
        """The uses of each definition among the places of its name: resolved by a server, else by syntax."""
        groups: list[SymbolUses] = []
        token = self._lookup.token.within(SERVER_SECONDS)
        reason = f"there are more than {_MAX_RESOLVED} definitions" if len(chosen) > _MAX_RESOLVED else ""
        for one in chosen:
            own = (one.path, one.tag.name_line, one.tag.column)
            if any(own == row.spot for group in groups for row in group.definitions):
                continue  # another declaration of the same symbol
            groups.append(SymbolUses(one, reason=reason))
            if not reason:
                self._resolve(groups[-1], named, token)
        self._share(groups, named)
        for group in groups:
            group.uses += self._exports(group)
            if group.server and len(group.unsure) <= MAX_UNSURE:
                spots = {row.spot for row in group.unsure}
                group.unsure = [row for row in group.unsure if not self.is_known(row, spots, token)]
        return groups

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
        token = self._lookup.token.within(SERVER_SECONDS)
        group.server = self._lookup.servers.program(group.symbol.path)
        return [self._defined_at(call, token) for _, call in calls]

    def _defined_at(self, call: UsePlace, token: CancelToken) -> UsePlace | None:
        """The definition of what is used at a place, if it is in the workspace."""
        found = self._lookup.servers.definition(*call.spot, token).found
        if not found or not found[0].inside:
            return None
        known = self._lookup.tagged(found[0])
        return self._at(found[0]) if known is None else _defined_place(known)

    def _callees_by_name(self, one: DefinedSymbol, calls: Sequence[tuple[str, UsePlace]]) -> list[UsePlace | None]:
        known = self._lookup.definitions_by_name({name for name, _ in calls})
        made: list[UsePlace | None] = []
        for name, call in calls:
            among = known.get(name, [])
            at, _ = resolution.choose_definition(among, one.path, one.tags, self._lookup.text(one.path), call.place)
            made.append(None if at is None else _defined_place(among[at]))
        return made

    def _resolve(self, group: SymbolUses, named: Sequence[NamedFile], token: CancelToken) -> None:
        """Fill a group with what a language server knows; else say why there is no answer."""
        one, servers = group.symbol, self._lookup.servers
        if language_of(one.path) is None:
            group.reason = "no language server is known for this language"
            return
        try:
            answer = servers.references(one.path, one.tag.name_line, one.tag.column, token)
            server = servers.program(one.path)
        except ToolError as error:
            group.reason = self._lookup.check_soft(error).message
            return
        if not answer.found:
            group.reason = f"{server} knows no uses of it"
            return
        group.server, group.complete = server, answer.complete
        known = {row.spot: row for row in list_places(named)}
        for location in answer.found:
            if location.inside:
                row = known.get((location.path, location.range.line, location.range.character)) or self._at(location)
                (group.definitions if row.place.definition else group.uses).append(row)

    def _exports(self, group: SymbolUses) -> Iterator[UsePlace]:
        """Where modules of Python that define or import a symbol have it in `__all__`, if no server says so."""
        one, known = group.symbol, {row.spot for row in group.uses}
        importing = [row.path for row in group.uses if row.place.kind == "import"]
        for path in dict.fromkeys([one.path, *importing] if is_exportable(one) else []):
            places = Positions(self._lookup.text(path))
            for line, column in find_exports(self._lookup.text(path), one.tag.name):
                if (path, line, column) not in known:
                    yield UsePlace(path, SymbolPlace(line, column, "name", places.line(line).strip()))

    def _at(self, location: Location) -> UsePlace:
        """A place that only the server knows, such as an alias."""
        at = location.range
        text = Positions(self._lookup.text(location.path)).line(at.line).strip()
        return UsePlace(location.path, SymbolPlace(at.line, at.character, "name", text))

    def _share(self, groups: Sequence[SymbolUses], named: Sequence[NamedFile]) -> None:
        """Give each place that no server resolved to the definition it most likely belongs to."""
        claimed = {row.spot for group in groups for row in (*group.definitions, *group.uses)}
        chosen = [group.symbol for group in groups]
        rivals = [one for one in defined_in(named) if one not in chosen]
        for file in named:
            text = self._lookup.text(file.path)
            for place in file.places:
                row = UsePlace(file.path, place, symbols.enclosing(file.tags, place.line))
                if row.spot in claimed:
                    continue
                if place.definition:
                    same = [one for one in groups if (one.symbol.path, one.symbol.tag) == (file.path, place.tag)]
                    for group in same:
                        group.definitions.append(row)
                    continue
                at, score = resolution.choose_definition([*chosen, *rivals], file.path, file.tags, text, place)
                if at is not None and at < len(groups):
                    _add(groups[at], row, score)

    def is_known(self, row: UsePlace, spots: set[tuple[str, int, int]], token: CancelToken) -> bool:
        """Whether a server knows what is used at a place: then it is something else.

        To clangd an undeclared function of C is declared where it is first called, which is one of these spots.
        """
        try:
            found = self._lookup.servers.definition(*row.spot, token).found
            return any((at.path, at.range.line, at.range.character) not in spots for at in found)
        except ToolError as error:
            self._lookup.check_soft(error)
            return False


def _add(group: SymbolUses, row: UsePlace, score: int) -> None:
    if not group.server:
        (group.uses if score >= LIKELY else group.unsure).append(row)
    elif (group.symbol.owner is not None) == (row.place.receiver is not None) and (
        group.symbol.owner is not None or (family(group.symbol.tags.language) == "c" and score >= LIKELY)
    ):
        # What a server does not count may still be a use: if the type of the receiver is unknown to it, or in C if it
        # does not find the headers of the file.
        group.unsure.append(row)


def _sort(found: FoundSymbol, named: Sequence[NamedFile]) -> None:
    """Put uses in the order of files and lines, only of the files that were searched, and find the other places."""
    inside = {file.path for file in named}
    for group in found.groups:
        group.uses.sort(key=lambda row: row.spot)
        if found.where != ".":  # a server answers for the whole project
            group.definitions = [row for row in group.definitions if row.path in inside]
            group.uses = [row for row in group.uses if row.path in inside]
    known = {row.spot for one in found.groups for row in (*one.definitions, *one.uses, *one.unsure)}
    found.others = [row for row in list_places(named) if row.spot not in known]


def list_places(named: Iterable[NamedFile]) -> Iterator[UsePlace]:
    """All definitions and uses in these files."""
    for file in named:
        for place in file.places:
            yield UsePlace(file.path, place, symbols.enclosing(file.tags, place.line))


def _defined_place(one: DefinedSymbol) -> UsePlace:
    tag = one.tag
    return UsePlace(one.path, SymbolPlace(tag.name_line, tag.column, tag.kind, tag.text, definition=True, tag=tag))


def is_exportable(one: DefinedSymbol) -> bool:
    """Whether `__all__` may have it: a name at the upper level of a Python module."""
    return one.tags.language == "python" and not one.tag.parent
