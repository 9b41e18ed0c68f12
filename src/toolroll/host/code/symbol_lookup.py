"""Find symbols by name: their definitions by syntax, their uses by a language server or else by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from toolroll.host.lsp.answers import Location, Range
from toolroll.host.lsp.targets import find_new_problems
from toolroll.host.search.query import Query
from toolroll.result import CouldNotLookError, ErrorCode, Looked, Suggestion, ToolError
from toolroll.text import names
from toolroll.text.code.syntax import languages, resolution, symbols
from toolroll.text.code.syntax.model import HOLDERS, Tag, Tags
from toolroll.text.code.syntax.resolution import LIKELY, DefinedSymbol
from toolroll.text.code.syntax.symbols import Symbol, SymbolPlace
from toolroll.text.edit import text_edits
from toolroll.text.lines import counted
from toolroll.text.positions import Positions

if TYPE_CHECKING:
    from toolroll.host.code.structure import Structure, StructureScan
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.lsp.answers import FileReport, Problem
    from toolroll.host.lsp.language_servers import LanguageServers
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.text.code.syntax.source import SourceText

T = TypeVar("T")
CHECK_SECONDS = 20.0
"""Time limit of the diagnostics before and after a change."""
_SERVER_SECONDS = 30.0
_SERVER_SHARE = 0.5  # of the time that the call has left
"""Time limit of what language servers add to an answer; then the answer is by name."""

_GUESS = re.compile(r"(?:[;,.] )?did you mean .*", re.IGNORECASE | re.DOTALL)  # a name that is like an unknown one
_MAX_BASES = 20
_MAX_CANDIDATES = 12
_MAX_CHECKED = 100  # files whose diagnostics are compared
_MAX_ERRORS = 10
ASIDE_KINDS = frozenset({"import", "decorator"})
"""Kinds of tags that define no symbol."""
_SOFT_ERRORS = frozenset({
    ErrorCode.UNSUPPORTED, ErrorCode.EXECUTION, ErrorCode.TIMEOUT, ErrorCode.TOO_LARGE, ErrorCode.VALIDATION,
    ErrorCode.CONFLICT,
})  # fmt: skip


class SymbolTarget(NamedTuple):
    """One symbol by a position of its name, and its definition where syntax knows it."""

    path: str
    line: int
    character: int
    name: str
    symbol: DefinedSymbol | None = None


class NamedFile(NamedTuple):
    """A file that has a name, and where it has it."""

    path: str
    tags: Tags
    places: list[SymbolPlace]


class SymbolLookup:
    """Finds symbols on behalf of one call. Paths are relative to the workspace."""

    def __init__(self, files: Workspace, structure: Structure, servers: LanguageServers, token: CancelToken) -> None:
        self._files = files
        self._structure = structure
        self.servers = servers
        self.token = token
        self._texts: dict[str, str] = {}
        self._failed: dict[str, CouldNotLookError] = {}
        self.resolved_by: set[str] = set()
        """The language servers that have resolved something."""

    def looked(self, at: str) -> Looked:
        """What the answer of this call stands on; its own note says why a server did not answer."""
        return Looked(at, ("syntax", *sorted(self.resolved_by)), tuple(self._failed.values()), told=True)

    def locate(
        self,
        tool: str,
        symbol: str | None,
        path: str | None,
        line: int | None,
        character: int | None,
        **others: Any,
    ) -> SymbolTarget:
        """The one symbol that a call is about; a ToolError for an ambiguous one lists the calls to choose from.

        `others` are further arguments, which these calls have too.
        """
        others = {name: value for name, value in others.items() if value is not None}
        if path is not None and line is not None:
            return self._at_line(tool, symbol, self.resolve(path), line, character, others)
        if symbol is None:
            raise ToolError(ErrorCode.VALIDATION, "Give `symbol`, such as Parser.parse, or `path` and `line`.")
        found = merge_redeclared(self.definitions(symbol, path or "."))
        if len(found) == 1:
            return to_target(found[0])
        if found:
            raise self._ambiguous(tool, symbol, found, others)
        return self._first_use(symbol, path)

    def define(self, target: SymbolTarget) -> list[DefinedSymbol]:
        """The definitions of a target, by a language server or else by name."""
        if target.symbol is not None:
            return [target.symbol]
        place = (target.path, target.line, target.character)
        found, _ = self.ask(lambda token: self.servers.definition(*place, token).found)
        if found is None:
            return self.define_by_name(target)
        return [one for at in found if at.inside and (one := self.tagged(at)) is not None]

    def ask(self, ask: Callable[[CancelToken], T]) -> tuple[T | None, ToolError | None]:
        """The answer of a language server within its time limit, or None and the error instead of it."""
        try:
            return ask(self.server_token()), None
        except ToolError as error:
            return None, self.check_soft(error)

    def server_token(self) -> CancelToken:
        """For questions to a language server: it leaves the call time for an answer by name."""
        return self.token.within(min(_SERVER_SECONDS, _SERVER_SHARE * self.token.remaining()))

    def tagged(self, at: Location) -> DefinedSymbol | None:
        """The definition whose name is at a location."""
        try:
            tags = self._structure.tags_of(at.path, self.token)
        except ToolError as error:
            self.check_soft(error)
            return None
        spot = (at.range.line, at.range.character)
        named = (tag for tag in tags.definitions if (tag.name_line, tag.column) == spot and tag.kind not in ASIDE_KINDS)
        return next((DefinedSymbol(at.path, tag, tags) for tag in named), None)

    def define_by_name(self, target: SymbolTarget) -> list[DefinedSymbol]:
        """The definition that a target most likely has, by imports and receivers; else all of its name."""
        if target.symbol is not None or not target.name:
            return [target.symbol] if target.symbol else []
        found = self.definitions(target.name)
        before = symbols.receiver(Positions(self.text(target.path)).line(target.line)[: target.character - 1])
        place = SymbolPlace(target.line, target.character, "name", "", receiver=before)
        try:
            tags = self.tags(target.path)
        except ToolError as error:
            self.check_soft(error)
            return []
        at, score = resolution.choose_definition(found, target.path, tags, self.text(target.path), place)
        return found if at is None or score < LIKELY else [found[at]]

    def definitions(self, symbol: str, path: str = ".") -> list[DefinedSymbol]:
        """The definitions of a name in a file or folder, else in the workspace, else in the bases of its class."""
        wanted = symbols.parse_symbol(symbol)
        for place in dict.fromkeys((self.resolve(path), ".")):
            if found := list(defined_in(self.named_files(wanted, place)[0])):
                return found
        return self._inherited(wanted) if wanted.above else []

    def _inherited(self, wanted: Symbol) -> list[DefinedSymbol]:
        """The definitions of a member in the nearest base class that has it, by the names of the bases."""
        bases = [wanted.above.rpartition(".")[2]]
        for base in bases:
            if found := list(defined_in(self.named_files(Symbol(wanted.name, base, wanted.whole), ".")[0])):
                return [one for one in found if one.owner is not None]
            for one in defined_in(self.named_files(Symbol(base), ".")[0]):
                if one.tag.kind in HOLDERS and len(bases) < _MAX_BASES:
                    words = re.findall(r"\w+", one.tag.signature.partition(base)[2])
                    bases += [word for word in words if word not in bases and not text_edits.is_reserved(word)]
        return []

    def named_files(
        self, wanted: Symbol, where: str, include: str | None = None
    ) -> tuple[list[NamedFile], StructureScan[Tags]]:
        """The files that define or use a name, and the scan that found them."""
        # Beyond ASCII, the bytes of a name depend on the encoding of the file.
        holds = Query(wanted.stem, literal=True, whole_word=True) if wanted.stem.isascii() else None
        scan = self._structure.scan(where, holds=holds, wanted=lambda one: one.code, include=include, token=self.token)
        self._failed |= scan.failed
        found = [
            NamedFile(path, tags, symbols.find_places(tags, self._structure.source_of(path), wanted, path))
            for path, tags in scan.found
        ]
        return found, scan

    def find_lines(
        self, name: str, where: str, include: str | None, token: CancelToken
    ) -> tuple[list[tuple[str, SymbolPlace]], StructureScan[Any]]:
        """The lines with a name, by file, also in comments and strings: their files are not parsed."""
        rows, scan = self._structure.find_lines(name, where, include, token)
        return [(row.path, SymbolPlace(row.line, row.column, "text", row.text.strip())) for row in rows], scan

    def named_file(self, wanted: Symbol, path: str) -> NamedFile:
        """The places of a name in one file."""
        tags = self.tags(path)
        return NamedFile(path, tags, symbols.find_places(tags, self.source(path), wanted, path))

    def check_changes(
        self, changes: Mapping[str, tuple[str, str]], renamed: Mapping[str, str], others: Iterable[str], done: str
    ) -> list[str]:
        """Raise ToolError if new texts of files cause errors, in them or in others; else say what was not checked.

        `changes` has the old and the new text of each file, `renamed` the old name for each new one.
        """
        paths = list(dict.fromkeys([*changes, *others]))[:_MAX_CHECKED]
        old, new = (
            {path: changes[path][at] if path in changes else self.text(path) for path in paths} for at in (0, 1)
        )
        token = self.token.within(min(CHECK_SECONDS, _SERVER_SHARE * self.token.remaining()))
        try:
            before = {one.path: one for one in self.servers.try_texts(old, token)}
            after = self.servers.try_texts(new, token)
        except ToolError as error:
            return [f"(Not checked: {self.check_soft(error).message})"]
        errors = [
            f"{names.show_name(one.path)}:{problem.range.line}: {problem.message}"
            for one in after
            for problem in _new_errors(before[one.path], one, renamed)
        ]
        if errors:
            shown = "\n".join(errors[:_MAX_ERRORS])
            message = f"Nothing was {done}: it would cause {counted(len(errors), 'new error')}.\n{shown}"
            raise ToolError(ErrorCode.CONFLICT, message)
        unchecked = {one.reason: one for one in after if one.problems is None and one.path in changes}
        for reason, one in unchecked.items():
            self.note_failure(ToolError(one.code or ErrorCode.EXECUTION, reason), one.server)
        return [f"(Not checked: {reason})" for reason in unchecked]

    def definitions_by_name(self, wanted: Collection[str]) -> dict[str, list[DefinedSymbol]]:
        """The definitions of several names in the whole workspace."""
        scan = self._structure.scan(".", wanted=lambda language: language.code, whole=False, token=self.token)
        self._failed |= scan.failed
        found: dict[str, list[DefinedSymbol]] = {}
        for path, tags in scan.found:
            for tag in tags.definitions:
                if tag.name in wanted and tag.kind not in ASIDE_KINDS:
                    found.setdefault(tag.name, []).append(DefinedSymbol(path, tag, tags))
        return found

    def undefined(self, target: SymbolTarget, *, is_member: bool = False) -> DefinedSymbol:
        """A symbol whose definition is no tag, such as a parameter or an attribute, or is outside the workspace."""
        kind = "method" if is_member else "name"
        tag = Tag(target.name, kind, target.line, target.line, target.character, "", name_line=target.line)
        return DefinedSymbol(target.path, tag, self.tags(target.path))

    def resolve(self, path: str) -> str:
        """A path of the call relative to the workspace."""
        return self._structure.resolve_path(self._files, path)

    def is_file(self, path: str) -> bool:
        return path != "." and self._structure.is_file(path)

    def source(self, path: str) -> SourceText:
        return self._structure.source_of(path)

    def tags(self, path: str) -> Tags:
        return self._structure.tags_of(path, self.token)

    def parse(self, path: str, text: str) -> Tags | None:
        """The tags of a text as if it were this file; None if its language has no grammar."""
        return self._structure.parse(path, text, self.token)

    def text_or_none(self, path: str) -> str | None:
        """The text of a file, None if there is no such file."""
        try:
            return self.text(path)
        except ToolError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            return None

    def text(self, path: str) -> str:
        """The text of a file, as it was first read in this call."""
        if path not in self._texts:
            try:
                self._texts[path] = self._files.at(".").peek(path).text
            except ToolError:  # in an encoding that the parser guesses
                self._texts[path] = self.source(path).data.decode("utf-8", "replace")
        return self._texts[path]

    def places(self, path: str) -> Positions:
        """The lines and words of a file."""
        known = languages.by_name(path)
        return Positions(self.text(path), dollar=known is not None and "$" in known.word)

    def check_soft(self, error: ToolError) -> ToolError:
        """The error of a language server, in words for the answer that is given instead; raises what ends the call."""
        self.token.check()
        if error.code not in _SOFT_ERRORS:
            raise error
        if error.code is ErrorCode.TIMEOUT:
            late = "The language server did not answer in time. Ask again: it may be ready then."
            error = ToolError(ErrorCode.TIMEOUT, late)
        return self.note_failure(error)

    def note_failure(self, error: ToolError, server: str = "") -> CouldNotLookError:
        """Remember that a language server gave no answer, for `looked`."""
        failed = CouldNotLookError.of(server or "The language server", error)
        self._failed[failed.message] = failed
        return failed

    def _at_line(
        self,
        tool: str,
        symbol: str | None,
        path: str,
        line: int,
        character: int | None,
        others: Mapping[str, Any],
    ) -> SymbolTarget:
        """The symbol in a line: at the character, or of the given name, or what the line defines, or its only name."""
        places = self.places(path)
        places.offset(line, character or 1)
        if character is not None:
            return SymbolTarget(path, line, character, places.word(line, character))
        words = places.words(line)
        if symbol is not None:
            wanted, known = symbols.parse_symbol(symbol), languages.by_name(path)
            name = wanted.spelled(known.name) if known else wanted.name
            column = next((at for word, at in words if word == name), None)
            if column is None:
                raise ToolError(ErrorCode.VALIDATION, f"Line {line} of {path!r} has no {name!r}. {places.hint(line)}")
            at = Location(path, Range(line, column, line, column))
            return SymbolTarget(path, line, column, name, self.tagged(at))
        words = [(word, at) for word, at in words if not text_edits.is_reserved(word)]
        tags = self.tags(path)
        for tag in tags.definitions:
            if line in (tag.line, tag.name_line) and tag.kind not in ASIDE_KINDS:
                return to_target(DefinedSymbol(path, tag, tags))
        if len({word for word, _ in words}) != 1:
            calls = tuple(
                Suggestion(tool, {"path": path, "line": line, "symbol": word, **others})
                for word in dict.fromkeys(word for word, _ in words)
            )
            raise ambiguous(f"Line {line} of {path!r} has {len(calls)} names.", calls)
        return SymbolTarget(path, line, words[0][1], words[0][0])

    def _first_use(self, symbol: str, path: str | None) -> SymbolTarget:
        """A use of a symbol that is defined nowhere here, such as one of a package; ToolError if there is none."""
        wanted = symbols.parse_symbol(symbol)
        where = self.resolve(path or ".")
        named, scan = self.named_files(wanted, where)
        for file in named:
            if place := next(iter(file.places), None):
                return SymbolTarget(file.path, place.line, place.column, wanted.name)
        scan.check_looked()
        near = self._structure.similar_names(wanted.name, where, self.token)
        known = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ToolError(ErrorCode.NOT_FOUND, f"There is no symbol {symbol!r} in {path or '.'!r}.{known}")

    def _ambiguous(
        self, tool: str, symbol: str, found: Sequence[DefinedSymbol], others: Mapping[str, Any]
    ) -> ToolError:
        calls = tuple(
            Suggestion(
                tool,
                {"symbol": one.tag.path, "path": one.path, **({"line": one.tag.name_line} if twice else {}), **others},
            )
            for one in found
            for twice in (sum((other.path, other.tag.path) == (one.path, one.tag.path) for other in found) > 1,)
        )
        return ambiguous(f"There are {len(found)} definitions of {symbol!r}.", calls)


def ambiguous(why: str, calls: tuple[Suggestion, ...]) -> ToolError:
    """An error that lists the calls to choose from."""
    import msgspec

    shown = [names.show_name(msgspec.json.encode(one.arguments).decode()) for one in calls[:_MAX_CANDIDATES]]
    more = [f"and {len(calls) - _MAX_CANDIDATES} more: give a narrower `path`"] * (len(calls) > _MAX_CANDIDATES)
    return ToolError(
        ErrorCode.VALIDATION, "\n".join([f"{why} Choose one:", *shown, *more]), suggest=calls[:_MAX_CANDIDATES]
    )


def merge_redeclared(found: Iterable[DefinedSymbol]) -> list[DefinedSymbol]:
    """One definition for each symbol: overloads, and the prototypes of a function in C, are not told apart."""
    kept: dict[tuple[Any, ...], DefinedSymbol] = {}
    for one in found:
        shared = resolution.family(one.tags.language) == "c" and not one.tag.signature.startswith("static ")
        key = (shared or one.path, one.tag.path, one.tag.kind if shared else "")
        span = one.tag.end_line - one.tag.line
        if key not in kept or (shared and span > kept[key].tag.end_line - kept[key].tag.line):
            kept[key] = one
    return list(kept.values())


def _new_errors(before: FileReport, after: FileReport, renamed: Mapping[str, str]) -> list[Problem]:
    """The errors of a report that the one before does not have, with the old names in their messages."""
    if before.problems is None or after.problems is None:
        return []
    known, same = ([_without_guess(one) for one in problems] for problems in (before.problems, after.problems))
    for new, old in renamed.items():
        same = [replace(one, message=re.sub(rf"\b{re.escape(new)}\b", old, one.message)) for one in same]
    fresh = {id(one) for one in find_new_problems(replace(before, problems=known), replace(after, problems=same))}
    return [
        problem
        for problem, one in zip(after.problems, same, strict=True)
        if id(one) in fresh and problem.severity == "error"
    ]


def _without_guess(problem: Problem) -> Problem:
    """A problem without the name that the server supposes is meant, which a rename may change."""
    return replace(problem, message=_GUESS.sub("", problem.message), code=problem.code.removesuffix("_suggest"))


def to_target(one: DefinedSymbol) -> SymbolTarget:
    """The target that is a definition."""
    return SymbolTarget(one.path, one.tag.name_line, one.tag.column, one.tag.name, one)


def defined_in(named: Iterable[NamedFile]) -> Iterator[DefinedSymbol]:
    """The definitions among the places of a name."""
    return (DefinedSymbol(file.path, place.tag, file.tags) for file in named for place in file.places if place.tag)
