"""Plan a rename: edits of a language server, completed and checked, or by syntax where nothing is ambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolroll.host.code.overridden import check_overridden
from toolroll.host.code.place_resolver import (
    SAME_FILE,
    PlaceResolver,
    Spot,
    UsePlace,
    find_other_programs,
    list_places,
)
from toolroll.host.code.symbol_lookup import NamedFile, SymbolLookup, SymbolTarget, defined_in, merge_redeclared
from toolroll.host.lsp.answers import FileEdits
from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.syntax import collisions, resolution, symbols
from toolroll.text.code.syntax.symbols import Symbol
from toolroll.text.edit.text_edits import Edit
from toolroll.text.lines import counted
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.text.code.syntax.resolution import DefinedSymbol

_SHOWN = 10
_MAX_ASKED = 200  # places that a server is asked about: a rename may take longer than a look

_UNSEEN = re.compile("no symbol at the given location|not a supported kind")  # clangd, of inactive code and of macros


@dataclass(slots=True)
class RenamePlan:
    """The edits of a rename, and the places in code that have the name and are left."""

    files: list[FileEdits]
    server: str = ""
    """The language server that resolved them; without one they are by name."""
    added: int = 0
    """Edits by name besides those of the server."""
    ruled_out: list[UsePlace] = field(default_factory=list)
    unknown: list[UsePlace] = field(default_factory=list)
    """Places that may be uses."""
    reason: str = ""
    warnings: list[str] = field(default_factory=list)
    """About methods outside that the renamed one overrides."""

    @property
    def spots(self) -> dict[Spot, None]:
        """Where the edits are."""
        return dict.fromkeys(spot for file in self.files for spot in _spots(file))

    def describe_left(self, old: str, left: Iterable[str]) -> list[str]:
        """Lines about the places of the old name that are left; `left` are those that a search finds."""
        unknown, ruled_out = (
            list(dict.fromkeys(f"{row.path}:{row.place.line}" for row in rows))
            for rows in (self.unknown, self.ruled_out)
        )
        text = [place for place in left if place not in (*unknown, *ruled_out)]
        code = [place for place in left if place in ruled_out and place not in unknown]
        lines = [*([f"(By name: {self.reason})"] if self.reason else []), *self.warnings]
        if self.server and self.added:
            lines.append(f"({counted(self.added, 'place')} by name, which the server did not name.)")
        if text:
            lines.append(f"({old!r} still stands in strings, comments or documents: {_few(text)}.)")
        if unknown:
            how = f"{counted(len(unknown), 'place')} may use it, by an object of unknown type: {_few(unknown)}."
            lines.append(f"({how} Renamed too with `unknown`.)")
        if code:
            lines.append(f"({old!r} is still the name of something else, by what is known: {_few(code)}.)")
        return lines


class RenamePlanner:
    """Plans renames on behalf of one call; nothing is changed."""

    def __init__(self, lookup: SymbolLookup) -> None:
        self._lookup = lookup

    def plan(self, target: SymbolTarget, new: str, language: str | None, *, unknown: bool = False) -> RenamePlan:
        """The edits that rename a symbol everywhere, with `unknown` where it is not known to be used too.

        ToolError when the new name is taken.
        """
        named = self._lookup.named_files(Symbol(target.name), ".")[0] if target.name else []
        plan = self._ask_server(target, new, language, named)
        if plan.server and not plan.files:
            return plan
        edited = {file.path: [edit.start for edit in file.edits] for file in plan.files}
        symbol = self._find_symbol(target, plan)
        self._resolve(symbol, plan, named, new)
        if unknown:
            self._add(plan, plan.unknown, new, target.name)
            plan.unknown = []
        if new != target.name:
            edited = edited or {file.path: [edit.start for edit in file.edits] for file in plan.files}
            self._check_free(symbol, new, {path: self._lines(path, starts) for path, starts in edited.items()})
            family = self._family(symbol, named) if symbol is not None and symbol.owner is not None else []
            plan.warnings = check_overridden(self._lookup, family)
            if plan.server and symbol is not None:
                self._check_imports(symbol, plan, named)
        return plan

    def _find_symbol(self, target: SymbolTarget, plan: RenamePlan) -> DefinedSymbol | None:
        """The definition of a target, an attribute that no tag defines, or None for another variable or alias."""
        if plan.server:
            before = symbols.receiver(
                Positions(self._lookup.text(target.path)).line(target.line)[: target.character - 1]
            )
            known = target.symbol or next(iter(self._lookup.define(target)), None)
            return known or (self._lookup.undefined(target, is_member=True) if before is not None else None)
        defined = self._lookup.define_by_name(target)
        if len(merge_redeclared(defined)) != 1:
            said = f"{plan.reason.rstrip('.')}. " if plan.reason else ""
            raise ToolError(ErrorCode.UNSUPPORTED, f"{said}By syntax alone it is not clear what to rename.")
        return defined[0]

    def _resolve(self, symbol: DefinedSymbol | None, plan: RenamePlan, named: Sequence[NamedFile], new: str) -> None:
        """Add the places of the symbol that the server left out; the others are ruled out or unknown."""
        if symbol is None:
            why, spots = f"another variable, as {plan.server} sees it", plan.spots
            plan.ruled_out = [row._replace(why=why) for row in list_places(named) if row.spot not in spots]
            return
        resolved = PlaceResolver(self._lookup).resolve([symbol], named, plan.spots, _MAX_ASKED)
        group = resolved.groups[0]
        self._add(plan, [*group.definitions, *group.uses], new, symbol.tag.name)
        plan.server = plan.server or group.server
        plan.ruled_out, plan.unknown = resolved.ruled_out, group.unknown

    def _check_imports(self, symbol: DefinedSymbol, plan: RenamePlan, named: Sequence[NamedFile]) -> None:
        """ToolError where a file imports the symbol by a way that the server does not follow, such as a link."""
        alone = len(list(defined_in(named))) == 1
        for row in plan.unknown:
            if row.place.kind == "import" and (alone or row.why == SAME_FILE):
                how = f"seems to import {symbol.tag.name!r} from {symbol.path} by a link or a folder that"
                where = f"{row.path}:{row.place.line} {how} {plan.server} does not follow"
                raise ToolError(ErrorCode.CONFLICT, f"{where}. Nothing was renamed: use `multiedit`.")

    def _ask_server(
        self, target: SymbolTarget, new: str, language: str | None, named: Sequence[NamedFile]
    ) -> RenamePlan:
        """The edits of a server; none, and the reason, where syntax has to do."""
        servers, token, place = self._lookup.servers, self._lookup.token, (target.path, target.line, target.character)
        program, failed = self._lookup.ask(lambda _: servers.program(target.path, language))
        if program is None or failed:
            return RenamePlan([], reason=failed.message if failed else "")
        try:
            files = servers.rename(*place, new, token, language)
        except ToolError as error:
            self._lookup.token.check()
            started = any(one.program == program for one in servers.running())
            if started and error.code is not ErrorCode.TIMEOUT and not _UNSEEN.search(error.message):
                raise
            self._lookup.note_failure(error, program)
            return RenamePlan([], reason=error.message)
        if target.symbol is not None:
            others = find_other_programs(self._lookup, target.symbol, list_places(named))
            files = [file for file in files if file.path not in others]
        if files:
            self._add_overrides(target, files, new, language, named)
        return RenamePlan(files, program)

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

    def _add(self, plan: RenamePlan, rows: Iterable[UsePlace], new: str, old: str) -> None:
        """Add edits of the name at these places, where it is spelled so and no edit has it."""
        for row in rows:
            file = next((one for one in plan.files if one.path == row.path), None)
            text = self._lookup.text(row.path)
            start = self._lookup.places(row.path).offset(row.place.line, row.place.column)
            covered = file is not None and any(edit.start <= start < edit.end for edit in file.edits)
            if covered or not text.startswith(old, start):
                continue
            if file is None:
                file = FileEdits(row.path, text, [])
                plan.files.append(file)
            file.edits.append(Edit(start, start + len(old), new))
            plan.added += 1

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


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + ", ..." * (len(names) > _SHOWN)


def _spots(file: FileEdits) -> list[Spot]:
    places = Positions(file.text)
    return [(file.path, at.line, at.character) for edit in file.edits for at in (places.position(edit.start),)]
