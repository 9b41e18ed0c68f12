"""What a search may take for granted because it is known: the files that there are, and which of them can match."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from toolroll.host.search.in_process import Glance, glance
from toolroll.host.search.index.builder import Builder
from toolroll.host.search.index.coverage import MOST_CHANGED, Coverage
from toolroll.host.search.index.file_table import Table, TooMuchError
from toolroll.host.search.index.postings import remove
from toolroll.result import ToolError
from toolroll.text.search import patterns, trigrams

if TYPE_CHECKING:
    from toolroll.host.code.fact_store import Stamp
    from toolroll.host.files.root import Root
    from toolroll.host.files.walk import Kind
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.runtime.state import State
    from toolroll.host.search.index.by_age import Order, Wants
    from toolroll.host.search.query import Entry, Query, Scope
    from toolroll.text.search.globs import Matcher

T = TypeVar("T")

SWITCH = "TOOLROLL_INDEX"
"""The variable that, set to "off", has every search look at the files themselves."""
LEAST = 100
"""Files from which on an index is worth its making."""

_MOST_TEXT = 500_000_000  # bytes; the index takes less than half of that
_SOON = 30.0  # seconds after which few changed files are taken into the index too
_QUIET = 2.0  # seconds without a change until a file is taken in, and at least between two builds
_REST = 0.01  # seconds between two builds for each file of the last one: ten times what reading it in takes
_NEVER = float("-inf")
_RETRY = 60.0  # seconds until a tree that could not be kept, or a file that could not be read, is tried again


@dataclass(slots=True)
class Sight:
    """What there is to search in one folder at one time. All paths are from that folder."""

    files: list[str]
    """Those that can match, newest first; if it is not narrowed, all. If they are `few`, in no order."""
    narrowed: bool
    """The index has told which can match."""
    binary: list[str] = field(default_factory=list)
    """Binary files that can match. This and what follows is known if it is narrowed."""
    searched: int = 0
    big: int = 0
    """How many files in scope are looked at, and are too big for that."""
    left: list[tuple[str, Kind]] = field(default_factory=list)
    """What is hidden or ignored, in scope or not; of a folder nothing in it is named."""
    plenty: bool = False
    """So many of the files match that the newest of them will do."""
    few: bool = False
    """These are all files, and nothing is known of them but their names: see `few`."""
    glance: Glance | None = None
    """How to look into few files, if the query is one for that."""


class First(NamedTuple):
    """The files of an answer, newest first."""

    entries: Sequence[Entry]
    """The first ones."""
    total: int
    """How many there are."""
    whole: str
    """The paths of all, from the workspace, a line each, if there are more; the same object until one changes."""


class Warm:
    """Knows the tree of one workspace, after the first search. Several threads may use it at a time."""

    def __init__(self, root: Root, state: State, most_bytes: int, launcher: Launcher) -> None:
        self._root = root
        self._state = state
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._table: Table | None = None
        self._next = 0.0
        self._coverage: Coverage | None = None
        self._builder = Builder(root, index_path(state, root.path), most_bytes, launcher)
        self._built = _NEVER
        self._rest = 0.0
        self._tried: dict[str, Stamp] = {}

    def searched(self) -> None:
        """A search was made: get to know the tree, and bring the index up to date, beside all else."""
        with self._lock:
            if self._stop.is_set():
                return
            if self._table is not None:
                self._with(self._index)
            elif self._thread is None and time.monotonic() >= self._next:
                self._thread = threading.Thread(target=self._learn, name="toolroll tree", daemon=True)
                self._thread.start()

    def ready(self, seconds: float, *, indexed: bool = False) -> bool:
        """Wait until the tree is known, and with `indexed` until the index has all of it; whether that is so."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._lock:
                if self._table is not None and (not indexed or self._with(self._is_covered)):
                    return True
                self._built = _NEVER
            self.searched()
            time.sleep(0.02)
        return False

    def sight(self, query: Query, scope: Scope, folder: Sequence[str]) -> Sight | None:
        """What there is to search; None if it is not known, and everything has to be looked at."""
        prefix = "".join(f"{name}/" for name in folder)

        def see(table: Table) -> Sight | None:
            return self._seen(table, query, scope, prefix) if self._is_kept(table, scope, prefix) else None

        with self._lock:
            sight = self._with(see)
        if sight is not None:
            sight.glance = glance(query)
        return sight

    def newest(self, scope: Scope, folder: Sequence[str], matcher: Matcher) -> list[tuple[str, Stamp]] | None:
        """The files in scope whose names match, with their states, newest first; None if they are not known."""
        prefix = "".join(f"{name}/" for name in folder)

        def see(table: Table) -> list[tuple[str, Stamp]] | None:
            order, files, cut = self._order(table, scope, prefix, matcher), table.files(), len(prefix)
            return None if order is None else [(path[cut:], files[path]) for _, path in order.aged]

        with self._lock:
            return self._with(see)

    def first(
        self, first: int | None, most: int, scope: Scope, folder: Sequence[str], matcher: Matcher
    ) -> First | None:
        """The first of them, or all; and if there are others, the paths of `most` of all."""
        prefix = "".join(f"{name}/" for name in folder)

        def see(table: Table) -> First | None:
            order = self._order(table, scope, prefix, matcher)
            if order is None:
                return None
            entries, total = order.first(first, table.files()), len(order.aged)
            return First(entries, total, order.lines(0, most) if total > len(entries) else "")

        with self._lock:
            return self._with(see)

    def close(self) -> None:
        """End what works beside us, and let everything go."""
        with self._lock:  # whoever searches just now may have started it, or will start none
            self._stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()
        with self._lock:
            self._builder.close()
            self._drop()

    def _learn(self) -> None:
        table = None
        with suppress(TooMuchError, OSError):
            table = Table(self._root, self._stop)
        with self._lock:
            self._table, self._thread, self._next = table, None, time.monotonic() + _RETRY
            if not self._stop.is_set():
                self._with(self._index)

    def _with(self, work: Callable[[Table], T]) -> T | None:
        """What comes of work on the table; a tree that cannot be kept up is let go, and tried again after a while."""
        import sqlite3

        if self._table is None or self._stop.is_set():
            return None
        try:
            return work(self._table)
        except (TooMuchError, ToolError, OSError, sqlite3.OperationalError, sqlite3.InterfaceError):
            self._drop()
            self._next = time.monotonic() + _RETRY
        except sqlite3.DatabaseError:
            self._discard()
        return None

    def _discard(self) -> None:
        """Remove an index that is broken: it would stay so. The next search makes it anew."""
        self._builder.close()
        self._forget()
        self._tried.clear()
        with suppress(OSError):
            remove(index_path(self._state, self._root.path))

    def _drop(self) -> None:
        table, self._table = self._table, None
        if table is not None:
            table.close()
        self._forget()

    def _forget(self) -> None:
        coverage, self._coverage = self._coverage, None
        if coverage is not None:
            coverage.close()

    def _order(self, table: Table, scope: Scope, prefix: str, matcher: Matcher) -> Order | None:
        """The files in scope whose names match, if they are known."""
        if not self._is_kept(table, scope, prefix):
            return None
        return table.order((prefix, scope, matcher), _wants(scope, prefix, matcher))

    def _is_kept(self, table: Table, scope: Scope, prefix: str) -> bool:
        """Whether the table, now brought up to date, has what is in scope."""
        if scope.hidden or scope.ignored:
            return False
        table.refresh()
        return table.has(prefix)

    def _index(self, table: Table) -> None:
        """Have the index brought up to date, if that is worth it."""
        files, now = table.files(), time.monotonic()
        if len(files) < LEAST or self._builder.running:
            return
        if now - self._built > _RETRY:
            self._tried.clear()
        due = self._due(self._lacking(table), files, now)
        if due and sum(stamp[2] for stamp in files.values() if stamp[2] <= self._most_bytes) <= _MOST_TEXT:
            self._built, self._rest = now, min(max(_QUIET, len(due) * _REST), _SOON)
            self._tried.update((path, files[path]) for path in due)
            self._builder.start(sorted(due))

    def _due(self, lacking: list[str], files: Mapping[str, Stamp], now: float) -> list[str]:
        """Those to be read in now. The others are looked at in every search, so that waiting costs no match."""
        if self._built == _NEVER:
            return lacking
        quiet = (time.time() - _QUIET) * 1e9
        due = [path for path in lacking if max(files[path][3:]) < quiet]
        rest = _SOON if len(due) < MOST_CHANGED // 2 else self._rest
        return due if now - self._built >= rest else []

    def _lacking(self, table: Table) -> list[str]:
        """The files that the index does not have as they are now, and that were not tried in vain."""
        coverage, files = self._opened(), table.files()
        coverage.update(table)
        return [path for path in coverage.missing - table.unsettled() if self._tried.get(path) != files[path]]

    def _is_covered(self, table: Table) -> bool:
        table.refresh()
        return not self._lacking(table) and not self._builder.running

    def _opened(self) -> Coverage:
        if self._coverage is None:
            self._state.folder("index")
            self._coverage = Coverage(self._root, index_path(self._state, self._root.path), self._most_bytes)
        return self._coverage

    def _seen(self, table: Table, query: Query, scope: Scope, prefix: str) -> Sight:
        prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
        asked = trigrams.required(prepared.regex, ignore_case=query.ignore_case)
        inside, files, cut = _inside(scope), table.files(), len(prefix)
        every = prefix == "" and inside is None

        def mine(paths: set[str]) -> set[str]:
            return paths if every else {path for path in paths if _is_mine(path, prefix, inside)}

        coverage = self._opened() if asked and len(files) >= LEAST else None
        matching = coverage.matching(table, asked, ignore_case=query.ignore_case) if coverage is not None else None
        if coverage is None or matching is None:
            return Sight(table.order((prefix, scope), _wants(scope, prefix)).paths(cut), False)
        matching, binaries, big = mine(matching), mine(coverage.binaries()), mine(coverage.big)
        if prepared.multiline and matching & binaries:
            return Sight([], False)  # how far such a search looks for a NUL is the engine's own affair
        total = len(files) if every else len(mine(set(files)))
        plain = sorted(matching - binaries, key=lambda path: (-files[path][3], path))
        return Sight(
            [path[cut:] for path in plain],
            True,
            [path[cut:] for path in matching & binaries],
            total - len(big),
            len(big),
            [(path[cut:], kind) for path, kind in table.left(prefix)],
        )


def _wants(scope: Scope, prefix: str, matcher: Matcher | None = None) -> Wants:
    """Whether a path from the workspace is in scope, and matches."""
    inside = _inside(scope)
    matches = matcher.by_path() if matcher else None
    if not prefix and inside is None:
        return matches or _any

    def wants(path: str) -> bool:
        return _is_mine(path, prefix, inside) and (matches is None or bool(matches(path[len(prefix) :])))

    return wants


def _any(_: str) -> bool:
    return True


def _is_mine(path: str, prefix: str, inside: Callable[[str], bool] | None) -> bool:
    return path.startswith(prefix) and (inside is None or inside(path[len(prefix) :]))


def _inside(scope: Scope) -> Callable[[str], bool] | None:
    """Whether a path is in scope, if that has to be asked."""
    wanted = scope.filter() if scope.include or scope.exclude else None
    skip, depth = frozenset(scope.skip), scope.depth
    if wanted is None and not skip and depth is None:
        return None

    def inside(path: str) -> bool:
        if depth is not None and path.count("/") >= depth:
            return False
        if skip and not skip.isdisjoint(path.split("/")[:-1]):
            return False
        return wanted is None or wanted.wants(path)

    return inside


def is_off() -> bool:
    """Whether the operator wants no index."""
    return os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "no", "false")


def index_path(state: State, workspace: str) -> str:
    """Where the index of a workspace is, whether or not there is one."""
    known_by = hashlib.blake2b(os.fsencode(workspace), digest_size=8).hexdigest()
    return os.path.join(state.path, "index", f"{known_by}.sqlite")
