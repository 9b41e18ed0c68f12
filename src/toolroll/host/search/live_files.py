"""Live file table of a workspace: which files a search looks at, newest first, without walking the tree again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from toolroll.host.search.file_table import FilesByAge, FileTable, UntrackableTreeError, Wants
from toolroll.host.search.query import Candidates, FileEntry, Scope
from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.files.versions import Stamp
    from toolroll.text.search.globs import Matcher

T = TypeVar("T")

_START_DELAY_S = 0.05  # until the tree is read, so that the answer of the first search goes out before
_POLL_S = 0.02
_RETRY_S = 60.0  # until a tree that could not be tracked is tried again


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


class LiveFiles:
    """The file table of one workspace, made after the first search. Thread-safe."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._table: FileTable | None = None
        self._next = 0.0

    def read_in_background(self) -> None:
        """Read the tree in the background, unless it is known. Called with each search."""
        with self._lock:
            idle = self._table is None and self._thread is None and time.monotonic() >= self._next
            if idle and not self._stop.is_set():
                self._thread = threading.Thread(target=self._read_tree, name="toolroll tree", daemon=True)
                self._thread.start()

    def wait_until_ready(self, seconds: float) -> bool:
        """Wait until the tree is known; False after `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._lock:
                if self._table is not None:
                    return True
            self.read_in_background()
            time.sleep(_POLL_S)
        return False

    def candidates(self, scope: Scope, folder: Sequence[str]) -> Candidates | None:
        """The files in scope, newest first; None if the tree is not known."""
        prefix = "".join(f"{name}/" for name in folder)

        def look_up(table: FileTable) -> Candidates | None:
            if not self._is_kept(table, scope, prefix):
                return None
            return Candidates(table.order((prefix, scope), make_filter(scope, prefix)).paths(len(prefix)))

        return self.ask(look_up)

    def list_newest(self, scope: Scope, folder: Sequence[str], matcher: Matcher) -> list[tuple[str, Stamp]] | None:
        """The files in scope whose names match, with their stamps, newest first; None if the tree is not known."""
        prefix = "".join(f"{name}/" for name in folder)

        def look_up(table: FileTable) -> list[tuple[str, Stamp]] | None:
            order, files, cut = self._order(table, scope, prefix, matcher), table.files(), len(prefix)
            return None if order is None else [(path[cut:], files[path]) for _, path in order.aged]

        return self.ask(look_up)

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

        return self.ask(look_up)

    def ask(self, look: Callable[[FileTable], T]) -> T | None:
        """What `look` finds in the table; None if the tree is not known. One that cannot be tracked is tried later."""
        with self._lock:
            if self._table is None or self._stop.is_set():
                return None
            try:
                return look(self._table)
            except (UntrackableTreeError, ToolError, OSError):
                self._drop()
                self._next = time.monotonic() + _RETRY_S
            return None

    def close(self) -> None:
        """End the background work."""
        with self._lock:  # a search that runs now may have started a thread
            self._stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()
        with self._lock:
            self._drop()

    def _read_tree(self) -> None:
        table = None
        if not self._stop.wait(_START_DELAY_S):
            with suppress(UntrackableTreeError, OSError):
                table = FileTable(self._root, self._stop)
        with self._lock:
            self._table, self._thread, self._next = table, None, time.monotonic() + _RETRY_S

    def _drop(self) -> None:
        table, self._table = self._table, None
        if table is not None:
            table.close()

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


def make_filter(scope: Scope, prefix: str, matcher: Matcher | None = None) -> Wants:
    """Whether a path relative to the workspace is in scope, and matches."""
    inside = _inside(scope)
    matches = matcher.by_path() if matcher else None
    if not prefix and inside is None:
        return matches or (lambda _: True)

    def wants(path: str) -> bool:
        if not path.startswith(prefix) or (inside is not None and not inside(path[len(prefix) :])):
            return False
        return matches is None or bool(matches(path[len(prefix) :]))

    return wants


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
