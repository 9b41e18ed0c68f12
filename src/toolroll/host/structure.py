"""The structure of the workspace's files: parsed when asked for, remembered while they stay the same."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from toolroll.host.folders import Folders
from toolroll.host.parsing import Parsers, TooHardError
from toolroll.host.query import Query, Scope, Survey
from toolroll.host.records import Version, digest
from toolroll.result import ErrorCode, ToolError
from toolroll.text import survey
from toolroll.text.encoding import HEAD, detect
from toolroll.text.structure import languages
from toolroll.text.structure.languages import MOST_BYTES, Language
from toolroll.text.structure.source import Source
from toolroll.text.structure.uses import near

if TYPE_CHECKING:
    from toolroll.host.reader import Reader
    from toolroll.host.search import Search
    from toolroll.host.token import Token
    from toolroll.policy.limits import Limits
    from toolroll.text.structure.model import Tags
    from toolroll.text.structure.patterns import Match

T = TypeVar("T")

_REMEMBERED = 96 << 20  # bytes of tags
_PATHS = 200_000
_SETTLED = 100_000_000  # nanoseconds after which a change shows in a file's times
_SHARE = 0.8  # of the time that the call has left, so that it can still answer with what was found
_FEW = 8  # files that are not worth threads
_TIME = "time"
_EVERY = tuple(
    glob for one in languages.LANGUAGES.values() for glob in (*(f"*{suffix}" for suffix in one.suffixes), *one.files)
)
_REASONS = {
    ErrorCode.TOO_LARGE: "too large",
    ErrorCode.PERMISSION: "not allowed",
    ErrorCode.SECURITY: "not allowed",
    ErrorCode.UNSUPPORTED: "without a grammar here",
    ErrorCode.EXECUTION: "too hard to parse",
    ErrorCode.NOT_FOUND: "unreadable",
}


@dataclass(slots=True)
class Look(Generic[T]):
    """What was seen of a file or of a folder."""

    found: list[tuple[str, T]] = field(default_factory=list)
    """The files that could be parsed, by path, with what was found in each."""
    skipped: Counter[str] = field(default_factory=Counter)
    """The files that could not, by reason."""
    others: Counter[str] = field(default_factory=Counter)
    """The files that were not wanted, by language, or by suffix if that is not known."""
    stopped: bool = False
    """There was no time for all, or there were too many."""
    survey: Survey | None = None
    """If no file holds what was asked for: what was searched for it."""

    def __str__(self) -> str:
        if self.survey is not None:
            return survey.sentence(self.survey.searched, self.survey.skipped, self.survey.elsewhere)
        said = [f"{count} {what}" for what, count in (*sorted(self.skipped.items()), *sorted(self.others.items()))]
        looked = f"Looked at {len(self.found)} file{'s' if len(self.found) != 1 else ''}"
        passed = f"; not at: {', '.join(said)}" if said else ""
        late = " There was no time for all of them: give a narrower `path`." if self.stopped else ""
        return f"{looked}{passed}.{late}"


class Structure:
    """The tags of the files of one workspace. Several threads may use it at a time."""

    def __init__(self, files: Reader, search: Search, limits: Limits) -> None:
        self._files = files
        self._search = search
        self._limits = limits
        self._parsers = Parsers()
        self._listing = threading.Lock()
        self._folders = Folders(files.root, search)
        self._lock = threading.Lock()
        self._paths: OrderedDict[str, tuple[str, Version, tuple[str, bytes]]] = OrderedDict()
        self._tags: OrderedDict[tuple[str, bytes], Tags] = OrderedDict()
        self._weight = 0
        self._hard: dict[tuple[str, bytes], str] = {}

    def tags_of(self, path: str, token: Token | None = None) -> Tags:
        """The tags of one file; a ToolError if it has no known language or cannot be parsed."""
        tags = self._tags_of(path, token)
        if tags is None:
            raise languages.unknown(path)
        return tags

    def source_of(self, path: str) -> Source:
        """The text of a file, in the bytes that its tags are about."""
        return Source(_utf8(self._files.data(path, MOST_BYTES), path))

    def look(
        self,
        path: str = ".",
        *,
        holds: Query | None = None,
        wanted: Callable[[Language], bool] = lambda _: True,
        token: Token | None = None,
    ) -> Look[Tags]:
        """The tags of a file, or of the files of a folder that are `wanted`; with `holds`, of those that match it."""
        return self._look(path, holds, wanted, lambda one: self._tags_of(one, token), token, known=self._known)

    def fitting(
        self, pattern: str, path: str = ".", *, holds: Query | None = None, token: Token | None = None
    ) -> Look[list[Match]]:
        """The same for the places that fit a structural pattern."""

        def fits(one: str) -> list[Match] | None:
            language, data = self._read(one)
            if language is None or not language.pattern:
                return None
            try:
                return self._parsers.matches(language.name, data, pattern, token)
            except TooHardError as error:
                raise _too_hard(one, str(error)) from None

        return self._look(path, holds, lambda language: bool(language.pattern), fits, token)

    def place(self, files: Reader, path: str) -> str:
        """A path as a call gives it, from the workspace; kept outputs have no structure."""
        root, where = files.where(path)
        if root is not self._files.root:
            raise ToolError(ErrorCode.UNSUPPORTED, f"{path!r} is a kept output, not code. Use `read` or `grep` on it.")
        return where

    def near(self, name: str, path: str, token: Token | None = None) -> list[str]:
        """Up to three names like one that was not found."""
        stem = Query(name[: max(3, 2 * len(name) // 3)], literal=True, ignore_case=True)
        lines = [row.text for row in self._search.grep(stem, Scope(path), token=token).rows]
        with self._lock:
            known = [tag.name for tags in self._tags.values() for tag in tags.definitions]
        return near(name, [*lines, *known])

    def is_file(self, path: str) -> bool:
        """Whether a path names a file; one that names nothing is a ToolError with names that are near."""
        try:
            os.close(self._files.root.folder(path))
        except NotADirectoryError:
            return True
        except FileNotFoundError:
            raise self._files.missing(path) from None
        return False

    def close(self) -> None:
        """End the children that parse."""
        self._parsers.close()

    def _look(
        self,
        path: str,
        holds: Query | None,
        wanted: Callable[[Language], bool],
        work: Callable[[str], T | None],
        token: Token | None,
        known: Callable[[str], T | None] = lambda _: None,
    ) -> Look[T]:
        seen: Look[T] = Look()
        left = self._limits.search_seconds
        deadline = time.monotonic() + (left if token is None else min(left, _SHARE * token.remaining()))
        paths = self._wanted(self._listed(Scope(path), holds, seen, token), wanted, seen)
        results = {one: result for one in paths if (result := known(one)) is not None}
        reasons: dict[str, str] = {}
        rest = [one for one in paths if one not in results]
        for one, result, reason in self._each(rest, work, deadline):
            if result is not None:
                results[one] = result
            elif reason:
                reasons[one] = reason
        seen.found = [(one, results[one]) for one in paths if one in results]
        seen.skipped = Counter(reason for reason in reasons.values() if reason != _TIME)
        seen.stopped |= _TIME in reasons.values()
        return seen

    def _listed(self, scope: Scope, holds: Query | None, seen: Look[T], token: Token | None) -> Iterable[str]:
        """The paths to look at, from the workspace."""
        if self.is_file(scope.path):
            return [self._files.root.text(scope.path)]
        if holds is not None:
            matching = self._search.grep(holds, scope, sort="path", token=token)
            seen.stopped, seen.survey = not matching.complete, matching.survey
            return dict.fromkeys(row.path for row in matching.rows)
        with self._listing:
            listed = self._folders.files(self._files.root.text(scope.path) or ".", token)
        if listed.whole:
            return sorted(one for one in listed.files if languages.named(one) or "." not in one.rpartition("/")[2])
        # There are too many of all kinds: perhaps not of those that may be parsed.
        named = self._search.find("**", replace(scope, include=_EVERY), sort="path", token=token)
        bare = self._search.find("**", replace(scope, exclude=("*.*",)), sort="path", token=token)
        seen.stopped = not (named.complete and bare.complete)
        return sorted({entry.path for found in (named, bare) for entry in found.entries})

    def _wanted(self, paths: Iterable[str], wanted: Callable[[Language], bool], seen: Look[T]) -> list[str]:
        """The paths whose files may be of a wanted language."""
        kept = []
        for path in paths:
            language = languages.named(path)
            if language is None and not languages.may_be_script(path):
                seen.others[f".{path.rpartition('.')[2]}"] += 1
            elif language is not None and not wanted(language):
                seen.others[language.title] += 1
            else:
                kept.append(path)
        return kept

    def _each(
        self, paths: Sequence[str], work: Callable[[str], T | None], deadline: float
    ) -> Iterator[tuple[str, T | None, str]]:
        """What came of each path, in order: a result, or why there is none."""

        def one(path: str) -> tuple[str, T | None, str]:
            return (path, None, _TIME) if time.monotonic() > deadline else _tried(path, work)

        if len(paths) <= _FEW:
            yield from map(one, paths)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._parsers.most) as pool:
            try:
                yield from pool.map(one, paths)
            finally:
                pool.shutdown(cancel_futures=True)  # when one of them raised, nobody wants the others

    def _tags_of(self, path: str, token: Token | None) -> Tags | None:
        """The tags of a file, remembered or new; None if its language is not known."""
        if (known := self._known(path)) is not None:
            return known
        where = self._files.root.text(path)
        stamp = self._stamp(where)
        language, data = self._read(path)
        key = (language.name if language else "", digest(data))
        with self._lock:
            tags = self._tags.get(key)
        if tags is None and language is not None:
            if key in self._hard:
                raise _too_hard(path, self._hard[key])
            try:
                tags = self._parsers.tags(language.name, data, token)
            except TooHardError as error:
                self._hard[key] = str(error)
                raise _too_hard(path, str(error)) from None
        self._remember(path, where, stamp, key, tags)
        return tags

    def _read(self, path: str) -> tuple[Language | None, bytes]:
        """The language of a file and its text in UTF-8."""
        language = languages.named(path)
        if language is None and not languages.may_be_script(path):
            os.close(self._files.root.file(path))  # what is not there, or no file, is told first
            return None, b""
        data = self._files.data(path, MOST_BYTES)
        found = languages.of(path, data)
        return (found, _utf8(data, path)) if found is not None else (None, b"")

    def _known(self, path: str) -> Tags | None:
        """The tags of a file that has not changed since they were made."""
        with self._lock:
            held = self._paths.get(path)
        if held is None or held[1] != self._stamp(held[0]):
            return None
        with self._lock:
            tags = self._tags.get(held[2])
            if tags is not None:
                self._tags.move_to_end(held[2])
            return tags

    def _stamp(self, where: str) -> Version | None:
        """The state of a file by its times; None if they cannot tell whether it changes.

        It is compared and nothing else, so that it does no harm if a folder was swapped for a link meanwhile:
        a file outside has another number than the one that was read.
        """
        if ".." in where.split("/"):
            return None
        try:
            status = os.stat(where, dir_fd=self._files.root.fd, follow_symlinks=False)
        except OSError:
            return None
        recent = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED
        return None if recent or not stat.S_ISREG(status.st_mode) else Version.of(status)

    def _remember(
        self, path: str, where: str, stamp: Version | None, key: tuple[str, bytes], tags: Tags | None
    ) -> None:
        if tags is None:
            return
        with self._lock:
            if stamp is not None:
                self._paths[path] = (where, stamp, key)
                if len(self._paths) > _PATHS:
                    self._paths.popitem(last=False)
            if key not in self._tags:
                self._tags[key] = tags
                self._weight += tags.weight
            while self._weight > _REMEMBERED and len(self._tags) > 1:
                self._weight -= self._tags.popitem(last=False)[1].weight


def _tried(path: str, work: Callable[[str], T | None]) -> tuple[str, T | None, str]:
    """A result, or the reason why there is none; what ends the call, or concerns all files, is raised."""
    try:
        return path, work(path), ""
    except ToolError as error:
        if error.code not in _REASONS:
            raise
        return path, None, _REASONS[error.code]
    except OSError:
        return path, None, "unreadable"


def _too_hard(path: str, reason: str) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION, f"{path!r} {reason}: its structure cannot be told. Use `read` or `grep` on it instead."
    )


def _utf8(data: bytes, path: str) -> bytes:
    """The text of a source in UTF-8 without a mark, whatever it is written in."""
    try:
        encoding = detect(data[:HEAD])
        if not encoding.bom and encoding.codec == "utf-8":
            data.decode("utf-8")
            return data
        return data[len(encoding.bom) :].decode(encoding.codec, "replace").encode("utf-8", "replace")
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()  # letters of another time: a byte each, so that columns are right
    except ToolError as error:
        raise ToolError(error.code, f"{path!r} cannot be read as text. {error.message}") from None
