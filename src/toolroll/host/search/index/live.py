"""Live file table and trigram index: which files exist and can match."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from toolroll.host.search.candidates import Candidates, SkippedFiles
from toolroll.host.search.index.builder import IndexBuilder
from toolroll.host.search.index.coverage import MOST_CHANGED, IndexCoverage
from toolroll.host.search.index.file_table import FileTable, UntrackableTreeError
from toolroll.host.search.index.postings import remove
from toolroll.result import ToolError
from toolroll.text.search import patterns, trigrams

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.files.versions import Stamp
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.runtime.state import State
    from toolroll.host.search.index.by_age import FilesByAge, Wants
    from toolroll.host.search.query import FileEntry, Query, Scope
    from toolroll.text.search.globs import Matcher

T = TypeVar("T")

SWITCH = "TOOLROLL_INDEX"
"""The variable that, set to "off", has every search look at the files themselves."""
MIN_FILES = 100
"""Files from which on an index is worth its making."""

_MOST_TEXT = 500_000_000  # bytes; the index takes less than half of that
_SOON = 30.0  # seconds after which few changed files are taken into the index too
_QUIET = 2.0  # seconds without a change until a file is taken in, and at least between two builds
_REST = 0.01  # seconds between two builds for each file of the last one: ten times what reading it in takes
_NEVER = float("-inf")
_RETRY = 60.0  # seconds until a tree that could not be kept, or a file that could not be read, is tried again


class NewestFiles(NamedTuple):
    """The files of an answer, newest first."""

    entries: Sequence[FileEntry]
    """The first ones."""
    total: int
    """How many there are."""
    whole: str
    """The paths of all, from the workspace, a line each, if there are more; the same object until one changes."""


class LiveIndex:
    """Knows the tree of one workspace, after the first search. Several threads may use it at a time."""

    def __init__(self, root: Root, state: State, most_bytes: int, launcher: Launcher) -> None:
        self._root = root
        self._state = state
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._table: FileTable | None = None
        self._next = 0.0
        self._coverage: IndexCoverage | None = None
        self._builder = IndexBuilder(root, index_path(state, root.path), most_bytes, launcher)
        self._built = _NEVER
        self._rest = 0.0
        self._tried: dict[str, Stamp] = {}

    def update_in_background(self) -> None:
        """Read the tree and update the index in the background. Called with each search."""
        with self._lock:
            if self._stop.is_set():
                return
            if self._table is not None:
                self._with(self._index)
            elif self._thread is None and time.monotonic() >= self._next:
                self._thread = threading.Thread(target=self._learn, name="toolroll tree", daemon=True)
                self._thread.start()

    def wait_until_ready(self, seconds: float, *, indexed: bool = False) -> bool:
        """Wait until the tree is known, and with `indexed` until the index has all of it; whether that is so."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._lock:
                if self._table is not None and (not indexed or self._with(self._is_covered)):
                    return True
                self._built = _NEVER
            self.update_in_background()
            time.sleep(0.02)
        return False

    def candidates(self, query: Query, scope: Scope, folder: Sequence[str]) -> Candidates | None:
        """The files that can match, or all files if the index cannot tell; None if the tree is not known."""
        prefix = "".join(f"{name}/" for name in folder)

        def look_up(table: FileTable) -> Candidates | None:
            return self._look_up(table, query, scope, prefix) if self._is_kept(table, scope, prefix) else None

        with self._lock:
            return self._with(look_up)

    def list_newest(self, scope: Scope, folder: Sequence[str], matcher: Matcher) -> list[tuple[str, Stamp]] | None:
        """The files in scope whose names match, with their states, newest first; None if they are not known."""
        prefix = "".join(f"{name}/" for name in folder)

        def see(table: FileTable) -> list[tuple[str, Stamp]] | None:
            order, files, cut = self._order(table, scope, prefix, matcher), table.files(), len(prefix)
            return None if order is None else [(path[cut:], files[path]) for _, path in order.aged]

        with self._lock:
            return self._with(see)

    def first_files(
        self, first: int | None, most: int, scope: Scope, folder: Sequence[str], matcher: Matcher
    ) -> NewestFiles | None:
        """The first of them, or all; and if there are others, the paths of `most` of all."""
        prefix = "".join(f"{name}/" for name in folder)

        def see(table: FileTable) -> NewestFiles | None:
            order = self._order(table, scope, prefix, matcher)
            if order is None:
                return None
            entries, total = order.first(first, table.files()), len(order.aged)
            return NewestFiles(entries, total, order.lines(0, most) if total > len(entries) else "")

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
        with suppress(UntrackableTreeError, OSError):
            table = FileTable(self._root, self._stop)
        with self._lock:
            self._table, self._thread, self._next = table, None, time.monotonic() + _RETRY
            if not self._stop.is_set():
                self._with(self._index)

    def _with(self, work: Callable[[FileTable], T]) -> T | None:
        """What comes of work on the table; a tree that cannot be kept up is let go, and tried again after a while."""
        import sqlite3

        if self._table is None or self._stop.is_set():
            return None
        try:
            return work(self._table)
        except (UntrackableTreeError, ToolError, OSError, sqlite3.OperationalError, sqlite3.InterfaceError):
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

    def _order(self, table: FileTable, scope: Scope, prefix: str, matcher: Matcher) -> FilesByAge | None:
        """The files in scope whose names match, if they are known."""
        if not self._is_kept(table, scope, prefix):
            return None
        return table.order((prefix, scope, matcher), _wants(scope, prefix, matcher))

    def _is_kept(self, table: FileTable, scope: Scope, prefix: str) -> bool:
        """Whether the table, now brought up to date, has what is in scope."""
        if scope.hidden or scope.ignored:
            return False
        table.refresh()
        return table.has(prefix)

    def _index(self, table: FileTable) -> None:
        """Have the index brought up to date, if that is worth it."""
        files, now = table.files(), time.monotonic()
        if len(files) < MIN_FILES or self._builder.running:
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

    def _lacking(self, table: FileTable) -> list[str]:
        """The files that the index does not have as they are now, and that were not tried in vain."""
        coverage, files = self._open_coverage(), table.files()
        coverage.update(table)
        return [path for path in coverage.missing - table.unsettled() if self._tried.get(path) != files[path]]

    def _is_covered(self, table: FileTable) -> bool:
        table.refresh()
        return not self._lacking(table) and not self._builder.running

    def _open_coverage(self) -> IndexCoverage:
        if self._coverage is None:
            self._state.folder("index")
            self._coverage = IndexCoverage(self._root, index_path(self._state, self._root.path), self._most_bytes)
        return self._coverage

    def _look_up(self, table: FileTable, query: Query, scope: Scope, prefix: str) -> Candidates:
        prepared = patterns.prepare(query.pattern, literal=query.literal, multiline=query.multiline)
        asked = trigrams.required(prepared.regex, ignore_case=query.ignore_case)
        inside, files, cut = _inside(scope), table.files(), len(prefix)
        every = prefix == "" and inside is None

        def in_scope(paths: set[str]) -> set[str]:
            return paths if every else {path for path in paths if _is_in_scope(path, prefix, inside)}

        coverage = self._open_coverage() if asked and len(files) >= MIN_FILES else None
        matching = coverage.matching(table, asked, ignore_case=query.ignore_case) if coverage is not None else None
        if coverage is None or matching is None:
            return Candidates(table.order((prefix, scope), _wants(scope, prefix)).paths(cut), False)
        matching, binaries, big = in_scope(matching), in_scope(coverage.binaries()), in_scope(coverage.big)
        if prepared.multiline and matching & binaries:
            return Candidates([], False)  # how far a multiline search looks for a NUL depends on the engine
        total = len(files) if every else len(in_scope(set(files)))
        plain = sorted(matching - binaries, key=lambda path: (-files[path][3], path))
        skipped = SkippedFiles(
            total - len(big),
            len(big),
            [path[cut:] for path in matching & binaries],
            [(path[cut:], kind) for path, kind in table.left_out(prefix)],
        )
        return Candidates([path[cut:] for path in plain], True, all_text=True, skipped=skipped)


def _wants(scope: Scope, prefix: str, matcher: Matcher | None = None) -> Wants:
    """Whether a path from the workspace is in scope, and matches."""
    inside = _inside(scope)
    matches = matcher.by_path() if matcher else None
    if not prefix and inside is None:
        return matches or _any

    def wants(path: str) -> bool:
        return _is_in_scope(path, prefix, inside) and (matches is None or bool(matches(path[len(prefix) :])))

    return wants


def _any(_: str) -> bool:
    return True


def _is_in_scope(path: str, prefix: str, inside: Callable[[str], bool] | None) -> bool:
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
