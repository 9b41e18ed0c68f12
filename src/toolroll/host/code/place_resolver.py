"""Resolve the places of a name: those of a symbol, those that are ruled out, and those that nobody knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from toolroll.host.code.symbol_lookup import NamedFile, SymbolLookup, defined_in, merge_redeclared
from toolroll.host.lsp.servers import language_of
from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.exports import find_exports
from toolroll.text.code.syntax import resolution, symbols
from toolroll.text.code.syntax.resolution import LIKELY, DefinedSymbol, family
from toolroll.text.code.syntax.symbols import SymbolPlace
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.host.lsp.answers import Location
    from toolroll.host.runtime.cancellation import CancelToken

Spot = tuple[str, int, int]
"""Path, line and column of a place."""

SAME_FILE = "the server takes it for a symbol of another file with the same text, perhaps by a link"
"""Why a place is unknown that is one of the symbol if the two paths are one file."""

_MAX_RESOLVED = 8  # definitions of one name that a server is asked about
_MAX_ASKED = 30  # places that a server is asked about one by one
_UNKNOWN = "what {} is, is unknown"
_MEMBER_SCORE = 4  # from here on the class of the receiver is known


@dataclass(frozen=True, slots=True)
class LeftPlace:
    """A place in code that a change leaves, and why."""

    place: str
    why: str


class UsePlace(NamedTuple):
    """A definition or use of a symbol in a file, and the function or class around it."""

    path: str
    place: SymbolPlace
    within: str = ""
    why: str = ""
    """Why it is ruled out, or unknown."""

    @property
    def spot(self) -> Spot:
        return self.path, self.place.line, self.place.column

    @property
    def left(self) -> LeftPlace:
        return LeftPlace(f"{self.path}:{self.place.line}:{self.place.column}", self.why)


@dataclass(slots=True)
class SymbolUses:
    """The places of one symbol: resolved by a server, or else by name, and those that may be others."""

    symbol: DefinedSymbol
    definitions: list[UsePlace] = field(default_factory=list)
    uses: list[UsePlace] = field(default_factory=list)
    unknown: list[UsePlace] = field(default_factory=list)
    server: str = ""
    """The language server that resolved them."""
    complete: bool = True
    reason: str = ""
    """Why no server answered."""
    late: bool = False
    """Whether it had too little time."""


@dataclass(slots=True)
class ResolvedPlaces:
    """All places of a name: in a group for each symbol that was asked about, or ruled out."""

    groups: list[SymbolUses]
    ruled_out: list[UsePlace] = field(default_factory=list)


class PlaceResolver:
    """Resolves places on behalf of one call, for references, renames, moves and deletions alike."""

    def __init__(self, lookup: SymbolLookup) -> None:
        self._lookup = lookup

    def resolve(
        self,
        chosen: Sequence[DefinedSymbol],
        named: Sequence[NamedFile],
        edits: Collection[Spot] = (),
        most_asked: int = _MAX_ASKED,
    ) -> ResolvedPlaces:
        """Sort the places of a name in files. `edits` are places that a server has resolved as those of the first."""
        token = self._lookup.server_token()
        made = ResolvedPlaces([])
        reason = f"there are more than {_MAX_RESOLVED} definitions" if len(chosen) > _MAX_RESOLVED else ""
        known = {row.spot: row for row in list_places(named)}
        for one in chosen:
            if any(_is_declared(one, group) for group in made.groups):
                continue  # another declaration of the same symbol
            group = SymbolUses(one, reason=reason)
            made.groups.append(group)
            if not reason:
                self._ask_references(group, known, edits if one is chosen[0] else (), token)
        _Sorting(made, named, self._lookup).run()
        for group in made.groups:
            group.uses += self._exports(group)
            if group.server:
                self._lookup.resolved_by.add(group.server)
                self._ask_about_unknown(group, made.ruled_out, most_asked, token)
        return made

    def _ask_references(
        self, group: SymbolUses, known: dict[Spot, UsePlace], edits: Collection[Spot], token: CancelToken
    ) -> None:
        """Fill a group with what a language server knows; else keep why there is no answer."""
        one, servers = group.symbol, self._lookup.servers
        rows = {spot: known[spot] for spot in edits if spot in known}
        try:
            if language_of(one.path) is None:
                group.reason = "no language server is known for this language"
                return
            answer = servers.references(one.path, one.tag.name_line, one.tag.column, token)
            server = servers.program(one.path)
        except ToolError as error:
            group.reason = self._lookup.check_soft(error).message
            group.late = error.code is ErrorCode.TIMEOUT
            group.server = servers.program(one.path) if edits else ""
        else:
            group.server = server if answer.found or edits else ""
            group.reason, group.complete = "" if group.server else f"{server} knows no uses of it", answer.complete
            apart = find_other_programs(self._lookup, one, known.values())
            for location in answer.found:
                spot = (location.path, location.range.line, location.range.character)
                if location.inside and location.path not in apart:
                    rows[spot] = known.get(spot) or place_at(self._lookup, location)
        for row in rows.values():
            (group.definitions if row.place.definition else group.uses).append(row)

    def _ask_about_unknown(self, group: SymbolUses, ruled_out: list[UsePlace], most: int, token: CancelToken) -> None:
        """Rule out what a server knows to be something else; where there are too many, it is not asked."""
        if len(group.unknown) > most:
            why = f"{group.server} is not asked about more than {most} places"
            group.unknown = [row._replace(why=why) for row in group.unknown]
            return
        spots, left = {row.spot for row in group.unknown}, list[UsePlace]()
        for row in group.unknown:
            why, is_other = self._explain(group, row, spots, token)
            (ruled_out if is_other else left).append(row._replace(why=why))
        group.unknown = left

    def _explain(self, group: SymbolUses, row: UsePlace, spots: set[Spot], token: CancelToken) -> tuple[str, bool]:
        """What a server knows about a place, and whether that is something else.

        To clangd an undeclared function of C is declared where it is first called, which is one of these spots.
        """
        try:
            answer = self._lookup.servers.definition(*row.spot, token).found
        except ToolError as error:
            self._lookup.check_soft(error)
            return row.why, False
        known = [at for at in answer if (at.path, at.range.line, at.range.character) not in spots]
        if not known:
            return row.why, False
        own = group.symbol.path
        if any(at.inside and at.path != own and self._lookup.text(at.path) == self._lookup.text(own) for at in known):
            return SAME_FILE, False
        return f"{group.server} finds it in {known[0].path}:{known[0].range.line}", True

    def _exports(self, group: SymbolUses) -> Iterator[UsePlace]:
        """Where modules of Python that define or import a symbol have it in `__all__`, if no server says so."""
        one, known = group.symbol, {row.spot for row in group.uses}
        if one.tags.language != "python" or one.tag.parent:
            return
        for path in dict.fromkeys([one.path, *(row.path for row in group.uses if row.place.kind == "import")]):
            places = Positions(self._lookup.text(path))
            for line, column in find_exports(self._lookup.text(path), one.tag.name):
                if (path, line, column) not in known:
                    yield UsePlace(path, SymbolPlace(line, column, "name", places.line(line).strip()))


class _Sorting:
    """Gives each place that no server resolved to the symbol it most likely belongs to, or rules it out."""

    def __init__(self, made: ResolvedPlaces, named: Sequence[NamedFile], lookup: SymbolLookup) -> None:
        self._made, self._named, self._lookup = made, named, lookup
        self._chosen = [group.symbol for group in made.groups]
        every = list(defined_in(named))
        self._rivals = [one for one in every if not any(_is_redeclared(one, own) for own in self._chosen)]
        places = list(list_places(named))
        self._apart = [find_other_programs(lookup, one, places) for one in self._chosen]
        self._static = {one.path for one in self._rivals if one.tag.signature.startswith("static ")}

    def run(self) -> None:
        claimed = {row.spot for group in self._made.groups for row in (*group.definitions, *group.uses)}
        for file in self._named:
            for place in file.places:
                row = UsePlace(file.path, place, symbols.enclosing(file.tags, place.line))
                if row.spot not in claimed:
                    (self._sort_use if place.tag is None else self._sort_definition)(row, file)

    def _rule_out(self, row: UsePlace, why: str) -> None:
        self._made.ruled_out.append(row._replace(why=why))

    def _sort_definition(self, row: UsePlace, file: NamedFile) -> None:
        assert row.place.tag is not None
        own = DefinedSymbol(row.path, row.place.tag, file.tags)
        same = [at for at, one in enumerate(self._chosen) if (one.path, one.tag) == (own.path, own.tag)]
        same += [at for at, one in enumerate(self._chosen) if _is_redeclared(own, one)]
        if same and row.path not in self._apart[same[0]]:
            self._made.groups[same[0]].definitions.append(row)
        else:
            self._rule_out(row, f"another definition, {own.tag.path}")

    def _sort_use(self, row: UsePlace, file: NamedFile) -> None:
        text, place = self._lookup.text(file.path), row.place
        among = [*self._chosen, *self._rivals]
        at, score = resolution.choose_definition(among, file.path, file.tags, text, place)
        mine = at if at is not None and at < len(self._chosen) else 0
        group = self._made.groups[mine]
        fits, why = resolution.judge(group.symbol, file.path, file.tags, text, place)
        if family(group.symbol.tags.language) != family(file.tags.language):
            self._rule_out(row, why)
        elif _is_linked(group.symbol) and (file.path in self._static or file.path in self._apart[mine]):
            self._rule_out(row, f"{file.path} defines its own")
        elif group.server and _is_linked(group.symbol) and place.receiver is None and fits >= LIKELY:
            group.uses.append(row)  # a server that does not find the header does not relate it, but the linker does
        elif group.server and group.symbol.owner is not None and place.receiver is not None:
            group.unknown.append(row._replace(why=_UNKNOWN.format(place.receiver)))
        elif at is not None and at >= len(self._chosen) and (score >= _MEMBER_SCORE or place.receiver is None):
            self._rule_out(row, f"more likely {among[at].tag.path} of {among[at].path}")
        elif at is None or why:
            self._rule_out(row, why)
        elif not group.server and score >= _least(group.symbol, place):
            group.uses.append(row)
        else:
            why = _UNKNOWN.format(place.receiver) if place.receiver else "only its name fits"
            group.unknown.append(row._replace(why=why))


def place_at(lookup: SymbolLookup, location: Location) -> UsePlace:
    """A place that only a server knows, such as an alias."""
    at = location.range
    text = Positions(lookup.text(location.path)).line(at.line).strip()
    return UsePlace(location.path, SymbolPlace(at.line, at.character, "name", text))


def find_other_programs(lookup: SymbolLookup, symbol: DefinedSymbol, places: Iterable[UsePlace]) -> set[str]:
    """Files of C that define the same name themselves, if none declares it: they are other programs."""
    if not _is_linked(symbol):
        return set()
    same = [(row.path, row.place.tag) for row in places if row.place.tag and row.place.tag.kind == symbol.tag.kind]
    lines = {path: lookup.text(path).split("\n") for path, _ in same}
    bodies = {path for path, tag in same if "{" in "".join(lines[path][tag.line - 1 : tag.end_line])}
    return bodies - {symbol.path} if bodies >= lines.keys() else set()


def _is_linked(symbol: DefinedSymbol) -> bool:
    """Whether the linker relates its uses in C, by its name."""
    return family(symbol.tags.language) == "c" and symbol.owner is None


def list_places(named: Iterable[NamedFile]) -> Iterator[UsePlace]:
    """All definitions and uses in these files."""
    for file in named:
        for place in file.places:
            yield UsePlace(file.path, place, symbols.enclosing(file.tags, place.line))


def _least(symbol: DefinedSymbol, place: SymbolPlace) -> int:
    """The score from which a place counts as a use where no server answers."""
    return _MEMBER_SCORE if symbol.owner is not None and place.receiver is not None else LIKELY


def _is_redeclared(one: DefinedSymbol, other: DefinedSymbol) -> bool:
    """Whether two definitions are of one symbol: overloads, and the prototypes of a function in C."""
    return len(merge_redeclared([one, other])) == 1


def _is_declared(one: DefinedSymbol, group: SymbolUses) -> bool:
    spot = (one.path, one.tag.name_line, one.tag.column)
    return any(spot == row.spot for row in group.definitions)
