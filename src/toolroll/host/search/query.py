"""What is asked of a search, and what it gives back."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from toolroll.host.files.openat import Opener, walk
from toolroll.host.files.walk import Kind, Walk, WalkEntry
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import Token

Stopped = Literal["time", "rows", "limit"]
Sort = Literal["modified", "path", "name", "size"]
Name = Literal["ripgrep", "python"]

BINARY = -1
"""As the line of a hit: the file turned out to be binary, so that its earlier hits do not count."""
AGAIN = -3
"""As the line of a hit: the search is begun again, so that no earlier hit counts."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look. A `path` that is named is searched even if it is hidden or ignored."""

    path: str = "."
    include: tuple[str, ...] = ()
    """Only files that match one of these patterns. A pattern that names a dot brings hidden files in."""
    exclude: tuple[str, ...] = ()
    """No file or folder that matches one of these patterns."""
    hidden: bool = False
    ignored: bool = False
    skip: tuple[str, ...] = ()
    """Names of folders that are not entered; what is in them counts as ignored."""
    depth: int | None = None
    """How many levels down; 1 is the folder itself only."""

    def filter(self) -> globs.Filter:
        """The patterns, compiled."""
        return globs.Filter(
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
class Row:
    """One line that matches, or that is shown around one."""

    path: str
    """From the workspace, with forward slashes."""
    line: int
    column: int
    """The character, from 1, where the first match starts in the whole line; 0 for a line of context."""
    text: str
    """The line without its end; of a long line, the part around the match."""


@dataclass(slots=True)
class Survey:
    """What an empty or cut answer did not show, so that nobody takes it for the whole truth."""

    searched: int = 0
    """Files (or folders, if those were asked for) that were looked at, binary ones too."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Files that were passed over, by reason: ignored, hidden, too big, unreadable; and "unreadable folders"."""
    elsewhere: dict[str, int] = field(default_factory=dict)
    """Matches that are not shown, by what the files are: ignored, hidden or binary."""
    complete: bool = True
    """False if there was no time to count everything; then all numbers are lower bounds."""


@dataclass(slots=True)
class Found:
    """The answer of a content search."""

    rows: list[Row]
    matches: int
    """Lines that match, without those shown around them."""
    files: int
    complete: bool
    stopped: Stopped | None
    survey: Survey | None
    """Made when there are no rows, or when the search was stopped before it had as many as were asked for."""
    engine: Name
    unreadable: int = 0
    """Files and folders that could not be opened."""


@dataclass(slots=True, unsafe_hash=True)
class Entry:
    """A file, a folder, or a link that was not followed."""

    path: str
    kind: Kind
    size: int
    mtime: int
    """In nanoseconds."""


@dataclass(slots=True)
class Listing:
    """The answer of a search for names."""

    entries: list[Entry]
    total: int
    """How many there are, also if not all are listed."""
    complete: bool
    stopped: Stopped | None
    survey: Survey | None
    """Made when there are no entries, or when there was no time for all."""
    engine: Name
    unreadable: int = 0
    """Folders that could not be opened."""
    whole: str = ""
    """All paths, a line each, if fewer entries were asked for than there are."""


@dataclass(slots=True)
class Ground:
    """The opened folder, or single file, that is searched, and how long that may take."""

    fd: int
    folder: int
    """A folder to start programs in: the searched one, or the workspace if it is a file."""
    parts: tuple[str, ...]
    """Where it is in the workspace."""
    is_file: bool
    rules: list[str]
    """What ignore files above it say about its contents."""
    token: Token | None
    deadline: float
    unreadable: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    """The files that match, by what they are: "text" is shown, and not what is "binary", "too big" or "unwanted"."""
    binary: int = 0
    """Matching lines in binary ones."""
    ages: dict[str, int] = field(default_factory=dict)
    """How old files are that a search has opened; less is newer."""
    searched: int = 0
    log: bytes = b""
    """If it told what it passed over: how many files it searched, and its words."""
    opener: Opener = walk

    def open(self, path: str) -> int:
        """A descriptor of a file in the searched folder; no link that is swapped in leads out of it."""
        return self.opener(self.fd, path, _OPEN)

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
        self.unreadable += walk.passed["unreadable"]


def is_hidden(path: str) -> bool:
    """Whether a file, or a folder on the way to it, has a name with a dot in front."""
    return path.startswith(".") or "/." in path


Hit = tuple[str, int, int, bytes]
"""A file, from the searched folder; the line; the byte where the match starts, or 0; its bytes."""


class Engine(Protocol):
    """Two of these exist, and give the same answers: ripgrep, and a walk in Python."""

    @property
    def name(self) -> Name: ...

    # Generators, because a caller that has enough closes them, and with them the program behind them.

    def rows(self, ground: Ground, query: Query, scope: Scope) -> Generator[Hit, None, None]:
        """The matching lines and those around them, file by file, in the order of lines within a file."""

    def counts(
        self, ground: Ground, query: Query, scope: Scope, *, binary: bool = False, only: Sequence[str] | None = None
    ) -> Generator[tuple[str, int], None, None]:
        """Each file that was searched to its end, with its number of matching lines; `binary` ones too.

        `only` names some, which are known to be in scope and not too big.
        """
