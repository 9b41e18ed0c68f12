"""Which engine searches which files, in which order, and the rows that are collected."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING

from toolroll.host.files import ignore
from toolroll.host.search.list_files import list_aged
from toolroll.host.search.query import BINARY, Candidates, GrepRow
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.search.query import CountingEngine, Hit, Query, Scope, SearchRoot, Stopped
    from toolroll.policy.limits import Limits

_MAX_NAMED = 2_500  # files that ripgrep is given by name; more of them it finds faster by its own walk
_MIN_PROBED = 1_000  # files in a tree whose newest are worth a look before the walk
_PLENTY = 3_000  # matching lines of a walk after which a caller with a limit gets the newest files only
_FIRST, _GROWTH = 4, 8  # files in the first batch for a caller with a limit, and how much larger the next one is
_FIRST_SORTED = 256  # of many files, those that are sorted at once: sorting all takes long
_MAX_ROWS_PER_MATCH = 5  # lines of context and the match, on average


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One run of an engine."""

    candidates: Candidates | None
    """The files to search; None for all files in scope, which the engine finds by itself."""
    max_matches: int | None = None
    """More matching lines than these are more than the caller needs."""
    covers_all: bool = False
    """Rows of earlier steps are dropped, and the answer is whole after this step, unless it has too many rows."""


Newest = Callable[[], Iterable[Candidates]]
"""Lists the files in scope, newest first, in parts."""


def plan(
    newest: Candidates | None, limit: int | None, list_newest: Newest, *, must_list: bool = False
) -> Iterator[SearchStep]:
    """The steps of a search, in order; the caller stops when it has enough.

    `newest`: the files in scope, where they are known. `must_list`: the engine's own walk cannot be trusted. With a
    `limit`, the newest files come first, and a step that covers all is given up for them if too much matches.
    """
    if not must_list:
        if limit is not None and newest is not None and len(newest.files) > _MIN_PROBED:
            yield SearchStep(newest.part(0, _FIRST * _GROWTH), limit)
        yield SearchStep(None, None if limit is None else max(_PLENTY, 2 * limit), covers_all=True)
    if limit is not None or must_list:
        for part in list_newest():
            yield from _batches(part, limit)


def _batches(candidates: Candidates, limit: int | None) -> Iterator[SearchStep]:
    """Named files in batches: small ones first for a caller with a limit."""
    total, at = len(candidates.files), 0
    size = _FIRST if limit is not None and total > _FIRST else _MAX_NAMED
    if not total:
        yield SearchStep(candidates)  # so that ripgrep checks the pattern
    while at < total:
        yield SearchStep(candidates.part(at, at + size), limit)
        at, size = at + size, min(_GROWTH * size, _MAX_NAMED)


class HitCollector:
    """The rows of each file with a match."""

    def __init__(self, root: SearchRoot, limits: Limits, max_matches: int | None = None) -> None:
        """Takes as many matching lines as the limits allow, or `max_matches` if that is less."""
        self._root = root
        self._width = limits.line_chars
        self._max_matches = limits.search_rows if max_matches is None else min(max_matches, limits.search_rows)
        self._max_rows = _MAX_ROWS_PER_MATCH * self._max_matches
        self._count = 0
        self.matches = 0
        self.hits: dict[str, list[GrepRow]] = {}

    def take(self, rows: Iterable[Hit]) -> bool:
        """Take rows, file by file; False if there are more than may be kept."""
        hits, width, last, name, found = self.hits, self._width, None, "", []
        for path, line, byte, raw in rows:
            if line == BINARY:
                hits.pop(path, None)
                last = None
                continue
            if byte:
                self.matches += 1
            self._count += 1
            if self.matches > self._max_matches or self._count > self._max_rows:
                return False
            if path != last:
                last, name = path, self._root.shown(path)
                found = hits.setdefault(path, [])
            if len(raw) <= width and raw.isascii():  # nearly all
                text, column = raw.decode("ascii").removesuffix("\r"), byte
            else:
                text, column = _cut(raw, byte, width)
            found.append(GrepRow(name, line, column, text))
        return True


@dataclass(slots=True)
class GrepRun:
    """One content search."""

    engine: Callable[[], CountingEngine]
    """The engine of this machine, made when it is first needed."""
    limits: Limits
    root: SearchRoot
    query: Query
    scope: Scope
    newest: Candidates | None
    """The files in scope, where they are known."""
    listed_all: bool = True

    def collect(self, limit: int | None) -> tuple[dict[str, list[GrepRow]], Stopped | None]:
        """The rows of each file with a match, and why the search stopped early; with a `limit`, of the newest files."""
        if self.root.is_file or (self.newest is None and self.engine().name != "ripgrep"):
            limit = None  # the engine finds its files by itself
        hits, stopped = self._run(limit)
        return hits, stopped if self.listed_all else "time"

    def _run(self, limit: int | None) -> tuple[dict[str, list[GrepRow]], Stopped | None]:
        steps = plan(self.newest, limit, self._list_newest, must_list=self._must_list())
        collector, restart = HitCollector(self.root, self.limits), False
        for step in steps:
            if step.covers_all or restart:
                collector = HitCollector(self.root, self.limits, step.max_matches if step.covers_all else None)
            try:
                with closing(self._rows(step)) as rows:
                    fits = collector.take(rows)
            except TimeoutError:
                return collector.hits, "time"
            restart = step.covers_all and not fits and limit is not None
            if not fits and not restart:
                return collector.hits, "rows"
            if fits and step.covers_all:
                return collector.hits, None
            if limit is not None and not restart and collector.matches > limit:
                return collector.hits, "limit"
        return collector.hits, None

    def _rows(self, step: SearchStep) -> Generator[Hit, None, None]:
        most = step.max_matches
        if step.candidates is not None:  # one more than the collector takes, so that it notices
            most = (self.limits.search_rows if most is None else most) + 1
        return self.engine().rows(self.root, self.query, self.scope, step.candidates, most)

    def _must_list(self) -> bool:
        """Whether ripgrep would have to walk the tree, and read its ignore files in another way than git."""
        if self.root.is_file or self.scope.ignored or self.engine().name != "ripgrep":
            return False
        return ignore.needs_own_walk(self.root.fd)

    def _list_newest(self) -> Iterator[Candidates]:
        """All files in scope, newest first: a few at once, and the rest when they are wanted, as sorting takes long."""
        if self.newest is not None and self.newest.files:
            yield self.newest
            return
        aged, self.listed_all = list_aged(self.root, self.scope, globs.compile("**"))
        aged = [one for one in aged if one[2] <= self.limits.search_bytes]
        first = nsmallest(_FIRST_SORTED, aged)
        yield Candidates([path for _, path, _ in first])
        if len(aged) > len(first):
            yield Candidates([path for _, path, _ in sorted(aged)[len(first) :]])


def _cut(raw: bytes, column: int, width: int) -> tuple[str, int]:
    """A line as text, of a long line the part around the match; and the column in characters."""
    text = raw.decode("utf-8", "backslashreplace").removesuffix("\r")
    if column > 1 and not raw.isascii():
        column = len(raw[: column - 1].decode("utf-8", "backslashreplace")) + 1
    if len(text) <= width:
        return text, column
    width = max(1, width - 2)
    start = max(0, min(column - 1 - width // 4, len(text) - width))
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}", column
