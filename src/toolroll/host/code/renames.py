"""Plan a rename: edits of a language server, completed and checked, or by syntax where nothing is ambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from toolroll.host.code.overridden import check_overridden
from toolroll.host.code.symbol_lookup import (
    SERVER_SECONDS,
    NamedFile,
    SymbolLookup,
    SymbolTarget,
    defined_in,
    merge_redeclared,
)
from toolroll.host.code.symbol_uses import MAX_UNSURE, UseFinder, UsePlace, is_exportable, list_places
from toolroll.host.lsp.answers import FileEdits
from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.exports import find_exports
from toolroll.text.code.syntax import collisions, resolution
from toolroll.text.code.syntax.resolution import BY_NAME, LIKELY, DefinedSymbol
from toolroll.text.code.syntax.symbols import Symbol, SymbolPlace
from toolroll.text.edit.text_edits import Edit
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.host.lsp.answers import Location

_MAX_SHOWN = 10
_MEMBER_SCORE = 4  # from here on the class of the receiver is known

_UNSEEN = re.compile("no symbol at the given location|not a supported kind")  # clangd, of inactive code and of macros

_Spot = tuple[str, int, int]


@dataclass(slots=True)
class RenamePlan:
    """The edits of a rename, and the places in code that have the name and are left."""

    files: list[FileEdits]
    server: str = ""
    """The language server that resolved them; without one they are by name."""
    added: int = 0
    """Edits by name besides those of the server."""
    others: list[UsePlace] = field(default_factory=list)
    unknown: list[UsePlace] = field(default_factory=list)
    """Those of the others that may be uses: what they stand on is unknown."""
    reason: str = ""
    warnings: list[str] = field(default_factory=list)
    """About methods outside that the renamed one overrides."""


class RenamePlanner:
    """Plans renames on behalf of one call; nothing is changed."""

    def __init__(self, lookup: SymbolLookup) -> None:
        self._lookup = lookup

    def plan(self, target: SymbolTarget, new: str, language: str | None, *, unknown: bool = False) -> RenamePlan:
        """The edits that rename a symbol everywhere, with `unknown` where it is not known to be used too.

        ToolError when the new name is taken.
        """
        named = self._lookup.named_files(Symbol(target.name), ".")[0] if target.name else []
        plan = self._by_server(target, new, language, named)
        symbol = (target.symbol or next(iter(self._lookup.define(target)), None)) if plan.files else None
        self._add_exports(symbol, plan, named, new)
        edited = {file.path: [edit.start for edit in file.edits] for file in plan.files}
        spots = {spot for file in plan.files for spot in _spots(file)}
        plan.others = [row for row in list_places(named) if row.spot not in spots]
        plan.unknown = self._find_unknown(symbol, plan) if plan.files else []
        if unknown:
            self._add(plan, [row.spot for row in plan.unknown], new, len(target.name))
            plan.others, plan.unknown = [row for row in plan.others if row not in plan.unknown], []
        if plan.files and new != target.name:
            self._check_free(symbol, new, {path: self._lines(path, starts) for path, starts in edited.items()})
            family = self._family(symbol, named) if symbol is not None and symbol.owner is not None else []
            plan.warnings = check_overridden(self._lookup, family)
            if plan.server and symbol is not None:
                self._check_imports(symbol, plan, named)
        return plan

    def _add_exports(
        self, symbol: DefinedSymbol | None, plan: RenamePlan, named: Sequence[NamedFile], new: str
    ) -> None:
        """Rename a symbol of Python also in `__all__` of the module that defines it, and of those that import it."""
        if symbol is None or not is_exportable(symbol):
            return
        covered = {spot for file in plan.files for spot in _spots(file)}
        importing = {row.path for row in list_places(named) if row.place.kind == "import" and row.spot in covered}
        for path in [one.path for one in plan.files if one.path in {symbol.path, *importing}]:
            spots = [(path, *one) for one in find_exports(self._lookup.text(path), symbol.tag.name)]
            self._add(plan, [spot for spot in spots if spot not in covered], new, len(symbol.tag.name))

    def _find_unknown(self, symbol: DefinedSymbol | None, plan: RenamePlan) -> list[UsePlace]:
        """Uses of the name on something, where no server knows what is used."""
        if symbol is None or symbol.owner is None:
            return []
        rows = [row for row in plan.others if not row.place.definition and row.place.receiver is not None]
        token, spots = self._lookup.token.within(SERVER_SECONDS), {row.spot for row in rows}
        finder = UseFinder(self._lookup)
        asked = rows[:MAX_UNSURE] if plan.server else []
        return [row for row in rows if row not in asked or not finder.is_known(row, spots, token)]

    def _check_imports(self, symbol: DefinedSymbol, plan: RenamePlan, named: Sequence[NamedFile]) -> None:
        """ToolError where a file imports the symbol by a way that the server does not follow, such as a link."""
        files, alone = {file.path: file for file in named}, len(list(defined_in(named))) == 1
        for row in plan.others:
            if row.place.kind != "import" or not self._is_likely(symbol, files[row.path], row.place):
                continue
            ask = partial(self._lookup.servers.definition, row.path, row.place.line, row.place.column)
            answer, _ = self._lookup.ask(ask)
            found = answer.found if answer is not None else []
            if self._is_same_file(symbol, found) or (alone and not found):
                how = f"seems to import {symbol.tag.name!r} from {symbol.path} by a link or a folder that"
                where = f"{row.path}:{row.place.line} {how} {plan.server} does not follow"
                raise ToolError(ErrorCode.CONFLICT, f"{where}. Nothing was renamed: use `multiedit`.")

    def _is_same_file(self, symbol: DefinedSymbol, found: Iterable[Location]) -> bool:
        """Whether one of these places is in the file of the symbol by another path."""
        other = {one.path for one in found if one.inside} - {symbol.path}
        return any(self._lookup.text(path) == self._lookup.text(symbol.path) for path in other)

    def _is_likely(self, symbol: DefinedSymbol, file: NamedFile, place: SymbolPlace) -> bool:
        return resolution.score(symbol, file.path, file.tags, self._lookup.text(file.path), place) >= LIKELY

    def _by_server(
        self, target: SymbolTarget, new: str, language: str | None, named: Sequence[NamedFile]
    ) -> RenamePlan:
        servers, token, place = self._lookup.servers, self._lookup.token, (target.path, target.line, target.character)
        program, failed = self._lookup.ask(lambda _: servers.program(target.path, language))
        if program is None or failed:
            return self._by_name(target, new, named, failed.message if failed else "")
        try:
            files = servers.rename(*place, new, token, language)
        except ToolError as error:
            self._lookup.token.check()
            started = any(one.program == program for one in servers.running())
            if started and error.code is not ErrorCode.TIMEOUT and not _UNSEEN.search(error.message):
                raise
            self._lookup.note_failure(error, program)
            return self._by_name(target, new, named, error.message)
        others = self._other_programs(target.symbol, named) if target.symbol is not None else set()
        files = [file for file in files if file.path not in others]
        plan = RenamePlan(files, program)
        if files:
            self._add_overrides(target, files, new, language, named)
            found, _ = self._lookup.ask(lambda part: servers.references(*place, part, language).found)
            missed = self._missed(target, files, found or (), named)
            self._add(plan, [spot for spot in missed if spot[0] not in others], new)
        return plan

    def _add_overrides(
        self, target: SymbolTarget, files: list[FileEdits], new: str, language: str | None, named: Sequence[NamedFile]
    ) -> None:
        """Add the edits of methods that override the symbol or are overridden by it, where the server leaves them."""
        symbol = target.symbol or next(iter(self._lookup.define(target)), None)
        for other in self._family(symbol, named)[1:] if symbol is not None else ():
            spot = (other.path, other.tag.name_line, other.tag.column)
            if any(spot in _spots(file) for file in files):
                continue
            for more in self._lookup.servers.rename(*spot, new, self._lookup.token, language):
                known = next((file for file in files if file.path == more.path), None)
                if known is None:
                    files.append(more)
                else:
                    known.edits.extend(edit for edit in more.edits if edit not in known.edits)

    def _family(self, symbol: DefinedSymbol, named: Sequence[NamedFile]) -> list[DefinedSymbol]:
        """A symbol, and the methods that override it or are overridden by it."""
        every = list(defined_in(named)) if symbol.owner is not None else []
        family = [symbol]
        for one in family:  # grows
            family += [other for other in every if other not in family and resolution.overrides(one, other)]
        return family

    def _missed(
        self, target: SymbolTarget, files: Sequence[FileEdits], found: Iterable[Location], named: Sequence[NamedFile]
    ) -> list[_Spot]:
        """Places that belong to the symbol and that the edits leave out."""
        covered = {spot for file in files for spot in _spots(file)}
        missed = []
        for one in found:
            spot = (one.path, one.range.line, one.range.character)
            places = self._lookup.places(one.path) if one.inside else None
            if places and spot not in covered and places.word(*spot[1:]) == target.name and not _covers(files, spot):
                missed.append(spot)
        symbol = target.symbol
        if symbol is None or symbol.owner is not None or resolution.family(symbol.tags.language) != "c":
            return missed
        # A server that does not know how C files are built misses prototypes and uses in files it cannot relate.
        return list(dict.fromkeys([*missed, *self._linked(symbol, named, covered)]))

    def _linked(self, symbol: DefinedSymbol, named: Sequence[NamedFile], covered: set[_Spot]) -> list[_Spot]:
        """The places of a name in C that the linker gives to the same symbol."""
        apart = [one for one in defined_in(named) if one.tag.signature.startswith("static ") and one != symbol]
        found = []
        for file in named:
            static = any(one.path == file.path for one in apart)
            for place in file.places:
                spot = (file.path, place.line, place.column)
                likely = self._is_likely(symbol, file, place)
                if spot not in covered and not static and place.receiver is None and likely:
                    found.append(spot)
        return found

    def _other_programs(self, symbol: DefinedSymbol, named: Sequence[NamedFile]) -> set[str]:
        """Files of C that define the same name themselves, if none declares it: they are other programs."""
        if resolution.family(symbol.tags.language) != "c" or symbol.owner is not None:
            return set()
        same = [one for one in defined_in(named) if one.tag.kind == symbol.tag.kind]
        lines = {one.path: self._lookup.text(one.path).split("\n") for one in same}
        bodies = {one.path for one in same if "{" in "".join(lines[one.path][one.tag.line - 1 : one.tag.end_line])}
        return bodies - {symbol.path} if bodies >= lines.keys() else set()

    def _by_name(self, target: SymbolTarget, new: str, named: Sequence[NamedFile], reason: str) -> RenamePlan:
        """Edits by syntax; ToolError where a use could be of something else."""
        said = f"{reason.rstrip('.')}. " if reason else ""
        defined = self._lookup.define_by_name(target)
        if len(merge_redeclared(defined)) != 1:
            raise ToolError(ErrorCode.UNSUPPORTED, f"{said}By syntax alone it is not clear what to rename.")
        symbol = defined[0]
        every = list(defined_in(named))
        own = [one for one in every if merge_redeclared([symbol, one]) in ([symbol], [one])]
        rivals = [one for one in every if one not in own]
        spots: list[_Spot] = [(one.path, one.tag.name_line, one.tag.column) for one in own]
        unclear: list[str] = []
        for row in list_places(named):
            if row.place.definition:
                continue
            file = next(one for one in named if one.path == row.path)
            text = self._lookup.text(row.path)
            at, score = resolution.choose_definition([*own, *rivals], row.path, file.tags, text, row.place)
            member = row.place.receiver is not None and symbol.owner is not None
            if at is None or at >= len(own):
                continue
            if score <= BY_NAME or (member and score < _MEMBER_SCORE):
                unclear.append(f"{row.path}:{row.place.line}")
            else:
                spots.append(row.spot)
        if unclear:
            shown = ", ".join(unclear[:_MAX_SHOWN]) + ", ..." * (len(unclear) > _MAX_SHOWN)
            message = f"{said}By syntax alone it is not clear whether these are uses of {target.name!r}: {shown}."
            raise ToolError(ErrorCode.UNSUPPORTED, f"{message} Nothing was changed.")
        plan = RenamePlan([], reason=reason)
        self._add(plan, [(path, line, column) for path, line, column in spots], new, len(target.name))
        return plan

    def _add(self, plan: RenamePlan, spots: Sequence[_Spot], new: str, length: int = 0) -> None:
        """Add edits of the name at these places."""
        for path, line, column in spots:
            file = next((one for one in plan.files if one.path == path), None)
            if file is None:
                file = FileEdits(path, self._lookup.text(path), [])
                plan.files.append(file)
            places = self._lookup.places(path)
            start = places.offset(line, column)
            file.edits.append(Edit(start, start + (length or len(places.word(line, column))), new))
        plan.added += len(spots)

    def _lines(self, path: str, starts: Iterable[int]) -> list[int]:
        places = Positions(self._lookup.text(path))
        return sorted({places.position(start).line for start in starts})

    def _check_free(self, symbol: DefinedSymbol | None, new: str, edited: Mapping[str, list[int]]) -> None:
        for path, lines in edited.items():
            file = self._lookup.named_file(Symbol(new), path)
            taken = collisions.find_collision(symbol, path, file.tags, file.places, self._lookup.text(path), lines)
            if taken is not None:
                raise ToolError(
                    ErrorCode.CONFLICT,
                    f"{new!r} exists already, in {path}:{taken.line}: {taken.text}. Nothing was renamed: give another "
                    "name.",
                )


def _spots(file: FileEdits) -> list[_Spot]:
    places = Positions(file.text)
    return [(file.path, at.line, at.character) for edit in file.edits for at in (places.position(edit.start),)]


def _covers(files: Sequence[FileEdits], spot: _Spot) -> bool:
    """Whether an edit replaces the character at a place."""
    for file in files:
        if file.path == spot[0]:
            at = Positions(file.text).offset(*spot[1:])
            return any(edit.start <= at < edit.end for edit in file.edits)
    return False
