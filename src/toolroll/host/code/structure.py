"""The structure of the files of a workspace: parsed on demand, cached while they stay the same."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from toolroll.host.code.parser_pool import ParserPool, TooHardError
from toolroll.host.code.tag_cache import Key, TagCache
from toolroll.host.files.versions import Stamp, digest
from toolroll.host.search.file_list import FileLists
from toolroll.host.search.query import GrepRow, Query, Scope, Survey
from toolroll.result import CouldNotLookError, ErrorCode, Looked, ToolError
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.language import MAX_SOURCE_BYTES, Language
from toolroll.text.code.syntax.source import SourceText
from toolroll.text.code.syntax.symbols import near
from toolroll.text.encoding import as_utf8
from toolroll.text.lines import counted
from toolroll.text.search.skipped import sentence

if TYPE_CHECKING:
    from toolroll.host.files.reader import FileReader
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.search.search import Search
    from toolroll.policy.limits import Limits
    from toolroll.text.code.syntax.model import Tags
    from toolroll.text.code.syntax.patterns import PatternMatch

T = TypeVar("T")

_SHARE = 0.8  # of the time that the call has left, so that it can still answer with what was found
_TIME = "time"
_REASONS = {
    ErrorCode.TOO_LARGE: "too large",
    ErrorCode.PERMISSION: "not allowed",
    ErrorCode.SECURITY: "not allowed",
    ErrorCode.UNSUPPORTED: "without a grammar",
    ErrorCode.EXECUTION: "too hard to parse",
    ErrorCode.NOT_FOUND: "unreadable",
}


class HardFileError(CouldNotLookError):
    """One file is too hard to parse: others are not."""


@dataclass(slots=True)
class StructureScan(Generic[T]):
    """The structure of a file, or of the files of a folder, and which files were left out."""

    found: list[tuple[str, T]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    """Files that could not be parsed, by reason."""
    others: Counter[str] = field(default_factory=Counter)
    """Files that were not wanted, by language, or by suffix if that is unknown."""
    stopped: bool = False
    """The time was up, or there were too many files."""
    survey: Survey | None = None
    """If no file matches `holds`: what was searched."""
    failed: dict[str, CouldNotLookError] = field(default_factory=dict)
    """Why files were not parsed that could have been, by its words: no grammar, or a parser that does not work."""

    def check_looked(self) -> None:
        """Raise CouldNotLookError if there are files that were not looked at: then what is not there may be in them."""
        if self.failed:
            raise next(iter(self.failed.values()))
        if self.skipped or self.stopped:
            code = ErrorCode.TIMEOUT if self.stopped else ErrorCode.EXECUTION
            late = ["those that there was no time for"] * self.stopped
            passed = ", ".join([*(f"{count} {what}" for what, count in sorted(self.skipped.items())), *late])
            why = f"not all files that may hold the answer were parsed ({passed})."
            raise CouldNotLookError(
                "The parser", why, "Use `grep` or `read` for these, or a narrower `path`.", code=code
            )

    @property
    def looked(self) -> Looked:
        """What the answer stands on."""
        return Looked(counted(len(self.found), "file"), ("syntax",), tuple(self.failed.values()))

    def __str__(self) -> str:
        if self.survey is not None:
            return sentence(self.survey.searched, self.survey.skipped, self.survey.elsewhere)
        said = [f"{count} {what}" for what, count in (*sorted(self.skipped.items()), *sorted(self.others.items()))]
        passed = f"; not at: {', '.join(said)}" if said else ""
        late = " There was no time for all of them: give a narrower `path`." if self.stopped else ""
        return f"Looked at {counted(len(self.found), 'file')}{passed}.{late}"


class _Copy(NamedTuple):
    """A source as it was read, and the stamp of its file before that."""

    path: str
    where: str
    stamp: Stamp | None
    language: Language
    data: bytes
    key: Key


_Outcome = tuple[str, T | None, str, CouldNotLookError | None]
"""A path with its result, or with the reason why there is none, and the error if it is not the file's own."""


class Structure:
    """The tags of the files of one workspace. Thread-safe."""

    def __init__(self, files: FileReader, search: Search, limits: Limits, launcher: Launcher) -> None:
        self._files = files
        self._search = search
        self._limits = limits
        self.parsers = ParserPool(launcher)
        self._listing = threading.Lock()
        self._folders = FileLists(files.root, search)
        self._tag_cache = TagCache(files.root)

    def tags_of(self, path: str, token: CancelToken | None = None) -> Tags:
        """The tags of one file; a ToolError if it has no known language or cannot be parsed."""
        known = self._tag_cache.of_files([path], whole=True).get(path)
        tags = known or self._tags_of([path], token, whole=True)[0]
        if isinstance(tags, Exception):
            raise tags
        if tags is None:
            raise languages.unknown(path)
        return tags

    def parse(self, path: str, text: str, token: CancelToken | None = None) -> Tags | None:
        """The tags of a text as if it were this file; None if its language is unknown or it cannot be parsed."""
        data = text.encode()
        language = languages.detect(path, data)
        tags = self.parsers.every_tags([(language.name, data)], token)[0] if language else None
        return None if isinstance(tags, Exception) else tags

    def source_of(self, path: str) -> SourceText:
        """The text of a file, in the bytes that its tags are about."""
        return SourceText(_utf8(self._files.data(path, MAX_SOURCE_BYTES), path))

    def scan(
        self,
        path: str = ".",
        *,
        holds: Query | None = None,
        wanted: Callable[[Language], bool] = lambda _: True,
        whole: bool = True,
        include: str | None = None,
        token: CancelToken | None = None,
    ) -> StructureScan[Tags]:
        """The tags of a file, or of the files of a folder.

        Only files whose language is `wanted`, whose path matches the glob `include`, and whose content matches `holds`.
        Without `whole`, which is less work, the tags may lack uses.
        """

        scope = Scope(path, () if include is None else (include,))
        known = partial(self._tag_cache.of_files, whole=whole)
        return self._scan(scope, holds, wanted, lambda some: self._tags_of(some, token, whole=whole), token, known)

    def find_pattern(
        self, pattern: str, path: str = ".", *, holds: Query | None = None, token: CancelToken | None = None
    ) -> StructureScan[list[PatternMatch]]:
        """The matches of a structural pattern in a file, or in the files of a folder."""

        def fits(paths: Sequence[str]) -> list[list[PatternMatch] | Exception | None]:
            def ask(copies: Sequence[_Copy]) -> Sequence[list[PatternMatch] | Exception]:
                return self.parsers.every_match([(one.language.name, one.data) for one in copies], pattern, token)

            return self._ask(paths, lambda copy: copy.language.patterns, ask)

        return self._scan(Scope(path), holds, lambda language: language.patterns, fits, token)

    def resolve_path(self, files: FileReader, path: str) -> str:
        """The path of a call relative to the workspace; ToolError for a kept output, which has no structure."""
        root, where = files.where(path)
        if root is not self._files.root:
            raise ToolError(ErrorCode.UNSUPPORTED, f"{path!r} is a kept output, not code. Use `read` or `grep` on it.")
        return where

    def similar_names(self, name: str, path: str, token: CancelToken | None = None) -> list[str]:
        """Up to three names that are similar to one that was not found."""
        stem = Query(name[: max(3, 2 * len(name) // 3)], literal=True, ignore_case=True)
        lines = [row.text for row in self._search.grep(stem, Scope(path), token=token).rows]
        return near(name, [*lines, *self._tag_cache.names()])

    def find_lines(
        self, name: str, where: str, include: str | None, token: CancelToken | None
    ) -> tuple[list[GrepRow], StructureScan[Any]]:
        """The lines with a name, for want of time to parse their files."""
        query, scope = Query(name, literal=True, whole_word=True), Scope(where, (include,) if include else ())
        rows = self._search.grep(query, scope, sort="path", token=token).rows
        return rows, StructureScan(skipped=Counter({"not parsed": len({row.path for row in rows})}), stopped=True)

    def is_file(self, path: str) -> bool:
        """Whether a path names a file; ToolError with similar names if it names nothing."""
        try:
            os.close(self._files.root.folder(path))
        except NotADirectoryError:
            return True
        except FileNotFoundError:
            raise self._files.missing(path) from None
        return False

    def close(self) -> None:
        self.parsers.close()

    def _scan(
        self,
        scope: Scope,
        holds: Query | None,
        wanted: Callable[[Language], bool],
        work: Callable[[Sequence[str]], list[T | Exception | None]],
        token: CancelToken | None,
        known: Callable[[Sequence[str], Mapping[str, Stamp | None] | None], dict[str, T]] = lambda _, __: {},
    ) -> StructureScan[T]:
        scan: StructureScan[T] = StructureScan()
        if token is not None:
            token.check()  # where everything is known, nothing below would
        left = self._limits.answer_seconds if token is None else token.remaining()
        deadline = time.monotonic() + _SHARE * left
        listed, stamps = self._list(scope, holds, scan, token)
        if scope.include:
            above, wants = f"{self._files.root.text(scope.path)}/", scope.filter().wants
            listed = [one for one in listed if wants(one.removeprefix(above))]
        paths = self._wanted(listed, wanted, scan)
        results = known(paths, stamps)
        for one, result, reason, error in self._each([one for one in paths if one not in results], work, deadline):
            if result is not None:
                results[one] = result
            elif reason == _TIME:
                scan.stopped = True
            elif reason:
                scan.skipped[reason] += 1
                scan.failed |= {error.message: error} if error is not None else {}
        scan.found = [(one, results[one]) for one in paths if one in results]
        return scan

    def _list(
        self, scope: Scope, holds: Query | None, scan: StructureScan[T], token: CancelToken | None
    ) -> tuple[Iterable[str], Mapping[str, Stamp | None] | None]:
        """The paths to parse, relative to the workspace, and the stamps of their files if they are known."""
        if self.is_file(scope.path):
            return [self._files.root.text(scope.path)], None
        if holds is not None:
            matching = self._search.grep(holds, scope, sort="path", token=token)
            scan.stopped, scan.survey = not matching.complete, matching.survey
            return dict.fromkeys(row.path for row in matching.rows), None
        with self._listing:
            listed = self._folders.files(self._files.root.text(scope.path) or ".", token)
        if listed.whole:
            found = (one for one in listed.files if languages.by_name(one) or "." not in one.rpartition("/")[2])
            return sorted(found), listed.stamps
        # There are too many files, but perhaps not too many sources.
        named = self._search.find("**", replace(scope, include=_globs()), sort="path", token=token)
        bare = self._search.find("**", replace(scope, exclude=("*.*",)), sort="path", token=token)
        scan.stopped = not (named.complete and bare.complete)
        return sorted({entry.path for found in (named, bare) for entry in found.entries}), None

    def _wanted(self, paths: Iterable[str], wanted: Callable[[Language], bool], scan: StructureScan[T]) -> list[str]:
        """The paths whose files may be of a wanted language."""
        kept = []
        for path in paths:
            language = languages.by_name(path)
            if language is None and not languages.may_be_script(path):
                scan.others[f".{path.rpartition('.')[2]}"] += 1
            elif language is not None and not wanted(language):
                scan.others[language.title] += 1
            else:
                kept.append(path)
        return kept

    def _each(
        self, paths: Sequence[str], work: Callable[[Sequence[str]], list[T | Exception | None]], deadline: float
    ) -> Iterator[_Outcome[T]]:

        def some(chosen: Sequence[str]) -> list[_Outcome[T]]:
            if time.monotonic() > deadline:
                return [(path, None, _TIME, None) for path in chosen]
            return [_outcome(path, found) for path, found in zip(chosen, work(chosen), strict=True)]

        yield from chain.from_iterable(self.parsers.spread(some, paths))

    def _tags_of(
        self, paths: Sequence[str], token: CancelToken | None, *, whole: bool
    ) -> list[Tags | Exception | None]:
        """The tags of files, cached or new; None for a file of unknown language, or the error."""

        def ask(copies: Sequence[_Copy]) -> list[Tags | Exception]:
            held = {one.key: self._tag_cache.get(one.key, whole=whole) for one in copies}
            new = [one for one in copies if held[one.key] is None]
            made = self.parsers.every_tags([(one.language.name, one.data) for one in new], token, whole=whole)
            fresh = {one.key: tags for one, tags in zip(new, made, strict=True)}
            found = [held[one.key] or fresh[one.key] for one in copies]
            for one, tags in zip(copies, found, strict=True):
                if not isinstance(tags, Exception):
                    self._tag_cache.keep(one.path, one.where, one.stamp, one.key, tags)
            return found

        return self._ask(paths, lambda _: True, ask)

    def _ask(
        self,
        paths: Sequence[str],
        wanted: Callable[[_Copy], bool],
        ask: Callable[[Sequence[_Copy]], Sequence[T | Exception]],
    ) -> list[T | Exception | None]:
        """Read files and `ask` about the wanted ones: an answer for each path, None, or the error."""
        made: dict[str, T | Exception | None] = dict.fromkeys(paths)
        copies: list[_Copy] = []
        for path in made:
            try:
                copy = self._read(path)
            except (ToolError, OSError) as error:
                made[path] = error
                continue
            if copy is not None and copy.key in self._tag_cache.hard:
                made[path] = _too_hard(path, self._tag_cache.hard[copy.key])
            elif copy is not None and wanted(copy):
                copies.append(copy)
        for copy, answer in zip(copies, ask(copies), strict=True):
            made[copy.path] = answer
            if isinstance(answer, TooHardError):
                self._tag_cache.hard[copy.key] = str(answer)
                made[copy.path] = _too_hard(copy.path, str(answer))
        return [made[path] for path in paths]

    def _read(self, path: str) -> _Copy | None:
        where = self._files.root.text(path)
        stamp = self._tag_cache.stamp(where)
        if languages.by_name(path) is None and not languages.may_be_script(path):
            os.close(self._files.root.file(path))  # raises if there is no such file
            return None
        data = self._files.data(path, MAX_SOURCE_BYTES)
        language = languages.detect(path, data)
        if language is None:
            return None
        data = _utf8(data, path)
        return _Copy(path, where, stamp, language, data, (language.name, digest(data)))


def _globs() -> tuple[str, ...]:
    every = ((*(f"*{suffix}" for suffix in one.suffixes), *one.files) for one in languages.every())
    return tuple(chain.from_iterable(every))


def _outcome(path: str, found: T | Exception | None) -> _Outcome[T]:
    """A result, or the reason why there is none; raises an error that ends the call or concerns all files."""
    if isinstance(found, ToolError):
        if found.code not in _REASONS:
            raise found
        fault = found if isinstance(found, CouldNotLookError) and not isinstance(found, HardFileError) else None
        parsed = fault is None or found.code is ErrorCode.UNSUPPORTED
        return path, None, _REASONS[found.code] if parsed else "not parsed", fault
    if isinstance(found, OSError):
        return path, None, "unreadable", None
    if isinstance(found, Exception):
        raise found
    return path, found, "", None


def _too_hard(path: str, reason: str) -> ToolError:
    message = f"{path!r} {reason}: its structure is unknown. Use `read` or `grep` on it."
    return HardFileError("The parser", f"{path!r} {reason}.", message=message)


def _utf8(data: bytes, path: str) -> bytes:
    try:
        return as_utf8(data)
    except ToolError as error:
        raise ToolError(error.code, f"{path!r} cannot be read as text. {error.message}") from None
