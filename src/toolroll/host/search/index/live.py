"""Live file table and trigram index: which files exist, are indexed, and can match."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from toolroll.host.files.root import Root
from toolroll.host.runtime.database import remove_cache
from toolroll.host.runtime.state import State
from toolroll.host.search.in_process import is_binary
from toolroll.host.search.index.builder import IndexBuilder
from toolroll.host.search.index.file_table import FilesByAge, FileTable, UntrackableTreeError, Wants
from toolroll.host.search.index.postings import BINARY, Postings, TooCommonError
from toolroll.host.search.query import Candidates, FileEntry, Query, Scope, SkippedFiles
from toolroll.result import ToolError
from toolroll.text.search import patterns, trigrams

if TYPE_CHECKING:
    from toolroll.host.files.versions import Stamp
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.text.search.globs import Matcher


MAX_CHANGED = 128
"""Files that are not indexed as they are now; with more, the index is not used."""


class IndexCoverage:
    """The index, compared with a file table. Not thread-safe."""

    def __init__(self, root: Root, path: str, most_bytes: int) -> None:
        self._root = root
        self._most_bytes = most_bytes
        self._postings = Postings(path)
        self._fresh = True
        self._looked: dict[str, bool] = {}
        self.missing: set[str] = set()
        """Files that are not indexed as they are now."""
        self.big: set[str] = set()
        """Files that are too large to search."""
        self._binary: set[str] = set()

    def update(self, table: FileTable) -> None:
        """Apply the changes of the table and of the index."""
        changed, news = table.changed(), self._postings.news()
        if self._fresh or changed is None or news is None:
            self.missing, self.big, self._binary = set(), set(), set()
            self._fresh = False
            paths = set(table.files())
        else:
            paths = changed | news
        files, known = table.files(), self._postings.known
        for path in paths:
            stamp, kept = files.get(path), known.get(path)
            is_big = stamp is not None and stamp[2] > self._most_bytes
            lacks = stamp is not None and not is_big and (kept is None or kept.stamp != stamp)
            (self.missing.add if lacks else self.missing.discard)(path)
            (self.big.add if is_big else self.big.discard)(path)
            is_binary = stamp is not None and not is_big and kept is not None and kept.kind & BINARY
            (self._binary.add if is_binary else self._binary.discard)(path)
        self._looked.clear()

    def matching(self, table: FileTable, query: str, *, ignore_case: bool) -> set[str] | None:
        """The files that can match a query; None if too many have changed or match."""
        for _ in range(3):  # another process may write at the same time
            self.update(table)
            changed = self.missing | (table.unsettled() - self.big)
            if len(changed) > MAX_CHANGED:
                return None
            try:
                found = self._postings.matching(query)
            except TooCommonError:
                return None
            if found is not None:
                self._looked = {path: self._looks_binary(path) for path in changed}
                found |= changed | self._postings.always
                found |= self._postings.folded if ignore_case else set()
                return (found & table.files().keys()) - self.big
        return None

    def binaries(self) -> set[str]:
        """All binary files, right after `matching`."""
        if not self._looked:
            return self._binary
        return (self._binary - self._looked.keys()) | {path for path, yes in self._looked.items() if yes}

    def close(self) -> None:
        self._postings.close()

    def _looks_binary(self, path: str) -> bool:
        try:
            fd = self._root.file(path)
        except (OSError, ToolError):
            return False  # the search reports it
        try:
            return is_binary(fd)
        except OSError:
            return False
        finally:
            os.close(fd)


T = TypeVar("T")

SWITCH = "TOOLROLL_INDEX"
"""Environment variable: "off" switches the index off."""
MIN_FILES = 100
"""A tree of fewer files gets no index."""

_MAX_TEXT_BYTES = 500_000_000  # of a tree; the index takes less than half of that
_MAX_DELAY_S = 30.0  # until a few changed files are indexed too
_QUIET_S = 2.0  # without a change until a file is indexed, and at least between two builds
_PAUSE_PER_FILE_S = 0.01  # between two builds, for each file of the last: ten times what indexing it takes
_NEVER = float("-inf")
_START_DELAY_S = 0.05  # until the tree is read, so that the answer of the first search goes out before
_COMPLETE_POLL_S = 0.2
_RETRY_S = 60.0  # until a tree that could not be tracked, or a file that could not be read, is tried again


class NewestFiles(NamedTuple):
    """The files of a `find`, newest first."""

    entries: Sequence[FileEntry]
    """The first files."""
    total: int
    """Number of all files."""
    whole: str
    """All paths relative to the workspace, one per line, if there are more; the same object until a file changes."""
    links: list[str]
    """Links whose paths match, relative to the folder."""


class LiveIndex:
    """File table and trigram index of one workspace, made after the first search. Thread-safe."""

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
        self._pause = 0.0
        self._tried: dict[str, Stamp] = {}

    def update_in_background(self) -> None:
        """Read the tree and update the index in the background. Called with each search."""
        with self._lock:
            if self._stop.is_set():
                return
            if self._table is not None:
                self._with(self._index)
            elif self._thread is None and time.monotonic() >= self._next:
                self._thread = threading.Thread(target=self._read_tree, name="toolroll tree", daemon=True)
                self._thread.start()

    def wait_until_ready(self, seconds: float, *, indexed: bool = False) -> bool:
        """Wait until the file table is there, and with `indexed` until all files are indexed; False after `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._lock:
                if self._table is not None and (not indexed or self._with(self._is_covered)):
                    return True
                self._built = _NEVER
            self.update_in_background()
            time.sleep(0.02)
        return False

    def wait_until_complete(self, seconds: float) -> bool:
        """Wait until the tree is known, and indexed if it is large enough for that; False after `seconds`."""
        deadline = time.monotonic() + seconds
        ready = self.wait_until_ready(seconds)
        while ready and not self._with_lock(self._is_complete):
            time.sleep(_COMPLETE_POLL_S)
            ready = time.monotonic() < deadline
        return ready

    def _is_complete(self, table: FileTable) -> bool:
        """Whether all is indexed, or nothing has to be; else a build is started, unless one runs."""
        if self._builder.running:
            return False
        table.refresh()
        self._built = _NEVER
        self._index(table)
        return len(table.files()) < MIN_FILES or not (self._builder.running or self._missing(table))

    def candidates(self, query: Query, scope: Scope, folder: Sequence[str]) -> Candidates | None:
        """The files that can match, or all files if the index cannot narrow them; None if the tree is not known."""
        prefix = "".join(f"{name}/" for name in folder)

        def look_up(table: FileTable) -> Candidates | None:
            return self._look_up(table, query, scope, prefix) if self._is_kept(table, scope, prefix) else None

        return self._with_lock(look_up)

    def list_newest(self, scope: Scope, folder: Sequence[str], matcher: Matcher) -> list[tuple[str, Stamp]] | None:
        """The files in scope whose names match, with their stamps, newest first; None if the tree is not known."""
        prefix = "".join(f"{name}/" for name in folder)

        def look_up(table: FileTable) -> list[tuple[str, Stamp]] | None:
            order, files, cut = self._order(table, scope, prefix, matcher), table.files(), len(prefix)
            return None if order is None else [(path[cut:], files[path]) for _, path in order.aged]

        return self._with_lock(look_up)

    def first_files(
        self, first: int | None, most: int, scope: Scope, folder: Sequence[str], matcher: Matcher
    ) -> NewestFiles | None:
        """The `first` newest files in scope whose names match, or all; and up to `most` paths if there are more."""
        prefix = "".join(f"{name}/" for name in folder)

        def look_up(table: FileTable) -> NewestFiles | None:
            order = self._order(table, scope, prefix, matcher)
            if order is None:
                return None
            entries, total = order.first(first, table.files()), len(order.aged)
            links = [path[len(prefix) :] for path in filter(make_filter(scope, prefix, matcher), table.links())]
            return NewestFiles(entries, total, order.lines(0, most) if total > len(entries) else "", links)

        return self._with_lock(look_up)

    def close(self) -> None:
        """End the background work and close the index."""
        with self._lock:  # a search that runs now may have started a thread
            self._stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()
        with self._lock:
            self._builder.close()
            self._drop()

    def _read_tree(self) -> None:
        table = None
        if not self._stop.wait(_START_DELAY_S):
            with suppress(UntrackableTreeError, OSError):
                table = FileTable(self._root, self._stop)
        with self._lock:
            self._table, self._thread, self._next = table, None, time.monotonic() + _RETRY_S
            if not self._stop.is_set():
                self._with(self._index)

    def _with_lock(self, work: Callable[[FileTable], T]) -> T | None:
        with self._lock:
            return self._with(work)

    def _with(self, work: Callable[[FileTable], T]) -> T | None:
        """Run `work` on the table. A tree that cannot be tracked is dropped, and tried again later."""
        import sqlite3

        if self._table is None or self._stop.is_set():
            return None
        try:
            return work(self._table)
        except (UntrackableTreeError, ToolError, OSError, sqlite3.OperationalError, sqlite3.InterfaceError):
            self._drop()
            self._next = time.monotonic() + _RETRY_S
        except sqlite3.DatabaseError:
            self._discard()
        return None

    def _discard(self) -> None:
        """Delete a damaged index. The next search starts another."""
        self._builder.close()
        self._forget()
        self._tried.clear()
        with suppress(OSError):
            remove_cache(index_path(self._state, self._root.path))

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
        """The files in scope whose names match, if the table knows them."""
        if not self._is_kept(table, scope, prefix):
            return None
        return table.order((prefix, scope, matcher), make_filter(scope, prefix, matcher))

    def _is_kept(self, table: FileTable, scope: Scope, prefix: str) -> bool:
        """Update the table; whether it knows all files in scope."""
        if scope.hidden or scope.ignored:
            return False
        table.refresh()
        return table.has(prefix)

    def _index(self, table: FileTable) -> None:
        """Start an update of the index, if one is due."""
        files, now = table.files(), time.monotonic()
        if len(files) < MIN_FILES or self._builder.running:
            return
        if now - self._built > _RETRY_S:
            self._tried.clear()
        due = self._due(self._missing(table), files, now)
        if due and sum(stamp[2] for stamp in files.values() if stamp[2] <= self._most_bytes) <= _MAX_TEXT_BYTES:
            self._built, self._pause = now, min(max(_QUIET_S, len(due) * _PAUSE_PER_FILE_S), _MAX_DELAY_S)
            self._tried.update((path, files[path]) for path in due)
            self._builder.start(sorted(due))

    def _due(self, missing: list[str], files: Mapping[str, Stamp], now: float) -> list[str]:
        """The files to index now. Searches look into the others, so that no match is missed."""
        if self._built == _NEVER:
            return missing
        quiet = (time.time() - _QUIET_S) * 1e9
        due = [path for path in missing if max(files[path][3:]) < quiet]
        rest = _MAX_DELAY_S if len(due) < MAX_CHANGED // 2 else self._pause
        return due if now - self._built >= rest else []

    def _missing(self, table: FileTable) -> list[str]:
        """The files that are not indexed as they are now, and whose last try did not fail."""
        coverage, files = self._open_coverage(), table.files()
        coverage.update(table)
        return [path for path in coverage.missing - table.unsettled() if self._tried.get(path) != files[path]]

    def _is_covered(self, table: FileTable) -> bool:
        table.refresh()
        return not self._missing(table) and not self._builder.running

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
            return Candidates(table.order((prefix, scope), make_filter(scope, prefix)).paths(cut), False)
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


def make_filter(scope: Scope, prefix: str, matcher: Matcher | None = None) -> Wants:
    """Whether a path relative to the workspace is in scope, and matches."""
    inside = _inside(scope)
    matches = matcher.by_path() if matcher else None
    if not prefix and inside is None:
        return matches or (lambda _: True)

    def wants(path: str) -> bool:
        return _is_in_scope(path, prefix, inside) and (matches is None or bool(matches(path[len(prefix) :])))

    return wants


def _is_in_scope(path: str, prefix: str, inside: Callable[[str], bool] | None) -> bool:
    return path.startswith(prefix) and (inside is None or inside(path[len(prefix) :]))


def _inside(scope: Scope) -> Callable[[str], bool] | None:
    """A test whether a path is in scope; None if all are."""
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
    """Whether the operator switched the index off."""
    return os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "no", "false")


def index_path(state: State, workspace: str) -> str:
    """The path of the index of a workspace."""
    digest = hashlib.blake2b(os.fsencode(workspace), digest_size=8).hexdigest()
    return os.path.join(state.path, "index", f"{digest}.sqlite")


def describe_index(workspace: str) -> tuple[bool, str]:
    """Whether a workspace has an index in its usual state folder, and a description. Creates nothing."""
    import sqlite3

    if is_off():
        return False, f"off, by {SWITCH}: every search reads the files"
    try:
        with Root(workspace) as root:
            path = index_path(State.of(root.path), root.path)
    except OSError:
        return False, "there is no workspace"
    if not os.path.exists(path):
        return False, f"none yet: the first search of a tree of {MIN_FILES} files or more creates it"
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1.0)) as base:
            (files,) = base.execute("select count(*) from files").fetchone()
    except sqlite3.Error as error:
        return False, f"{path} cannot be read ({error}); the next search replaces it"
    return True, f"{files} files, {os.path.getsize(path) / 1e6:.1f} MB at {path}"
