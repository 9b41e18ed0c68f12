"""Types of a search: query, scope, results, the searched folder, and the engine protocol."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from toolroll.host.files.openat import Opener, walk
from toolroll.host.files.walk import Kind, Walk, WalkEntry
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import CancelToken

Stopped = Literal["time", "rows", "limit"]
Sort = Literal["modified", "path", "name", "size"]
Name = Literal["ripgrep", "python"]

BINARY = -1
"""Line number of a hit that says: this file is binary, drop its earlier hits."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search. `path` itself is searched even if it is hidden or ignored."""

    path: str = "."
    include: tuple[str, ...] = ()
    """Only files that match one of these patterns. A pattern that names a dot brings hidden files in."""
    exclude: tuple[str, ...] = ()
    """No file or folder that matches one of these patterns."""
    hidden: bool = False
    ignored: bool = False
    skip: tuple[str, ...] = ()
    """Names of folders that are not entered; their content counts as ignored."""
    depth: int | None = None
    """How many levels down; 1 is the folder itself only."""

    def filter(self) -> globs.GlobFilter:
        """The patterns, compiled."""
        return globs.GlobFilter(
            tuple(globs.compile(text) for text in self.include),
            tuple(globs.compile(text) for text in self.exclude),
        )


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for: a regular expression, or with `literal` the text itself."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False
    whole_word: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0


@dataclass(slots=True, unsafe_hash=True)  # not frozen: there are thousands of them, and that would take twice as long
class GrepRow:
    """A matching line, or a line of context."""

    path: str
    """Relative to the workspace, with forward slashes."""
    line: int
    column: int
    """The character, from 1, where the first match starts in the whole line; 0 for a line of context."""
    text: str
    """The line without its end; of a long line, the part around the match."""

    @property
    def source(self) -> str:
        """Its file, and the part of that which it is from, where that has parts."""
        return self.path


@dataclass(slots=True, unsafe_hash=True)
class DocumentRow(GrepRow):
    """A line of the text of a document."""

    place: str
    """The page, sheet, slide or cell, as it is cited; empty where there are none."""

    @property
    def source(self) -> str:
        return f"{self.path} {self.place}".rstrip()


@dataclass(slots=True)
class Survey:
    """What an empty or cut answer did not show."""

    searched: int = 0
    """Files (or folders, if those were asked for) that were searched, binary ones included."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Files that were not searched, by reason: ignored, hidden, too big, unreadable, document, unreadable folders."""
    elsewhere: dict[str, int] = field(default_factory=dict)
    """Matches that are not shown, by kind of file: ignored, hidden or binary."""
    complete: bool = True
    """False if the time was up; then all numbers are lower bounds."""
    other_case: bool = False
    """Nothing matches, but would if case were ignored."""
    as_text: dict[str, int] = field(default_factory=dict)
    """Files that have the regular expression as plain text, though nothing matches it, and in how many lines."""
    near: list[str] = field(default_factory=list)
    """Names like the one that was looked for, if it was not found; folders end in a slash."""


@dataclass(slots=True)
class GrepResult:
    """The answer of `grep`."""

    rows: list[GrepRow]
    matches: int
    """Matching lines, without context."""
    files: int
    complete: bool
    stopped: Stopped | None
    survey: Survey | None
    """Made for an empty answer, and for one that was stopped before it had as many rows as were asked for."""
    unreadable: int = 0
    """Files and folders that could not be opened."""
    failed: list[str] = field(default_factory=list)
    """Documents that could not be read, and why."""
    barred: int = 0
    """Files with matches whose type the policy does not allow to be read."""


@dataclass(slots=True, unsafe_hash=True)
class FileEntry:
    """A file, a folder, or a link that was not followed."""

    path: str
    kind: Kind
    size: int
    mtime: int
    """In nanoseconds."""


@dataclass(slots=True)
class FindResult:
    """The answer of `find`."""

    entries: list[FileEntry]
    total: int
    """Number of all matching entries, listed or not."""
    complete: bool
    stopped: Stopped | None
    survey: Survey | None
    """Made for an empty answer, and for one that ran out of time."""
    dead_links: list[str]
    """Matching links that lead nowhere, or out of the workspace."""
    unreadable: int = 0
    """Folders that could not be opened."""
    whole: str = ""
    """All paths, one per line, if there are more than the entries asked for."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Files to search in one folder, newest first, relative to it. Each is checked before ripgrep takes it for text."""

    files: Sequence[str]

    def part(self, start: int, end: int) -> Candidates:
        """Some of these files."""
        return Candidates(self.files[start:end])


@dataclass(slots=True)
class SearchRoot:
    """The open folder, or single file, that one search works on: its deadline, and what engines note about it."""

    fd: int
    folder: int
    """A folder to start programs in: the searched one, or the workspace for a single file."""
    parts: tuple[str, ...]
    """Its path in the workspace."""
    is_file: bool
    rules: list[str]
    """Ignore rules of the folders above it."""
    token: CancelToken | None
    deadline: float
    unreadable: int = 0
    ages: dict[str, int] = field(default_factory=dict)
    """Ages of files that a search has opened; less is newer."""
    opener: Opener = walk

    def open(self, path: str) -> int:
        """Open a file in the searched folder; a link that is swapped in cannot lead out of it."""
        return self.opener(self.fd, path, _OPEN)

    def stat(self, path: str) -> os.stat_result | None:
        """The status of a file, folder or link; None if it is gone."""
        try:
            return os.stat(path, dir_fd=self.fd, follow_symlinks=False)
        except OSError:
            return None

    def shown(self, path: str) -> str:
        """A path relative to the workspace, as text that can be written whatever bytes the name has."""
        return writable("/".join((*self.parts, path)) if path else "/".join(self.parts))

    def check(self) -> None:
        """Raise ToolError when the call was cancelled, TimeoutError when the time is up."""
        if self.token is not None:
            self.token.check()
        if time.monotonic() >= self.deadline:
            raise TimeoutError("the search took too long")

    def walk(self, scope: Scope) -> Iterator[WalkEntry]:
        """All files, folders and links in scope."""
        wanted = scope.filter()
        walk = Walk(
            self.fd,
            hidden=scope.hidden,
            ignored=scope.ignored,
            skip=scope.skip,
            depth=scope.depth,
            rules=self.rules,
            excludes=wanted.excludes if wanted.exclude else None,
        )
        for seen in walk:
            self.check()
            if wanted.includes(seen.path):
                yield seen
        self.unreadable += walk.unreadable


def writable(text: str) -> str:
    """The same text with the bytes of names that are not UTF-8 spelt out."""
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "backslashreplace")


def is_hidden(path: str) -> bool:
    """Whether a part of the path starts with a dot."""
    return path.startswith(".") or "/." in path


Hit = tuple[str, int, int, bytes]
"""File, relative to the searched folder; line; byte where the match starts, or 0 for context; bytes of the line."""


class Engine(Protocol):
    """Finds matching lines. All engines give the same answers."""

    def rows(
        self,
        root: SearchRoot,
        query: Query,
        scope: Scope,
        candidates: Candidates | None = None,
        stop_after: int | None = None,
    ) -> Generator[Hit, None, None]:
        """Matching lines and their context, file by file, in the order of lines within a file.

        Searches the `candidates`, or without them every file in scope. After `stop_after` matching lines in
        candidates the caller has enough, and the engine may stop. The caller closes the generator, and with it the
        program behind it.
        """


class CountingEngine(Engine, Protocol):
    """An engine that can search any tree by itself, and count matches for a report."""

    @property
    def name(self) -> Name: ...

    def counts(
        self, root: SearchRoot, query: Query, scope: Scope, *, binary: bool = False, only: Sequence[str] | None = None
    ) -> Generator[tuple[str, int], None, None]:
        """Each file that was searched to its end, with its number of matching lines; `binary` files too.

        `only` names files that are in scope and not too big.
        """

    def check_works(self, root: SearchRoot) -> None:
        """Raise CouldNotLookError if this engine finds nothing because it does not work."""
