"""The index of a lease: that of its frozen base, corrected by the few files that the lease has changed.

A lease watches nothing and indexes nothing, so that a thousand of them cost no more memory than one base.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.files import ignore
from toolroll.host.files.versions import Stamp, stamp_of
from toolroll.host.forks.overlay import list_changed
from toolroll.host.forks.tree_copy import FOLDER
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.search.index.live import LiveIndex, NewestFiles, make_filter
from toolroll.host.search.query import Candidates, FileEntry, Query, Scope, SkippedFiles, writable

if TYPE_CHECKING:
    from toolroll.host.search.index.file_table import FileTable
    from toolroll.text.search.globs import Matcher

_MAX_CHANGED = 500  # paths of the upper folder; with more, ripgrep walks the tree
_MAX_FOUND = 100  # searches of which the candidates are kept
T = TypeVar("T")
FoundCandidates = dict[tuple[Query, Scope, tuple[str, ...]], Candidates]
"""What searches of the leases of one base have found in its index."""


@dataclass(slots=True)
class OwnFiles:
    """What a lease has changed, by path."""

    touched: set[str] = field(default_factory=set)
    """Paths at which the base does not count: written, replaced or deleted."""
    files: dict[str, Stamp] = field(default_factory=dict)
    """Regular files that a search looks at."""
    left_out: list[str] = field(default_factory=list)
    """Hidden and ignored files."""


class LeaseIndex(LiveIndex):
    """Answers as the index of the base does, for the files of the lease. Thread-safe."""

    def __init__(self, shared: LiveIndex, upper: str, since: int, found: FoundCandidates) -> None:
        """`upper` is the folder of the lease's changes; `since` is when the base was frozen, in ns."""
        self._found = found
        self._shared = shared
        self._upper = upper
        self._since = since

    def update_in_background(self) -> None:
        """The base is complete, and the lease is not indexed."""

    def wait_until_ready(self, seconds: float, *, indexed: bool = False) -> bool:
        return self._shared.wait_until_ready(seconds, indexed=indexed)

    def candidates(self, query: Query, scope: Scope, folder: Sequence[str]) -> Candidates | None:
        own = self._own_files()
        found = None if own is None else self._find(query, scope, folder)
        if own is None or found is None or not own.touched:
            return found
        prefix = "".join(f"{name}/" for name in folder)
        wants, cut = make_filter(scope, prefix), len(prefix)
        mine = [path[cut:] for path in _newest(own.files) if wants(path)]
        files = [path for path in found.files if prefix + path not in own.touched]
        skipped = found.skipped
        if skipped is not None:
            known = self._ask(lambda table: own.touched & table.files().keys()) or ()
            left = [(path[cut:], "file") for path in own.left_out if path.startswith(prefix)]
            skipped = SkippedFiles(
                skipped.searched + len(mine) - sum(1 for path in known if wants(path)),
                skipped.too_big,
                [path for path in skipped.binary if prefix + path not in own.touched],
                [*(one for one in skipped.left_out if prefix + one[0] not in own.touched), *left],  # type: ignore[list-item]  # a literal in a tuple
            )
        return Candidates([*mine, *files], found.complete, skipped=skipped)

    def _find(self, query: Query, scope: Scope, folder: Sequence[str]) -> Candidates | None:
        """The candidates of the base, which stay the same."""
        key = query, scope, tuple(folder)
        if (found := self._found.get(key)) is not None:
            return found
        found = self._shared.candidates(query, scope, folder)
        if found is not None and found.complete:
            if len(self._found) >= _MAX_FOUND:
                self._found.clear()
            self._found[key] = found
        return found

    def list_newest(self, scope: Scope, folder: Sequence[str], matcher: Matcher) -> list[tuple[str, Stamp]] | None:
        own = self._own_files()
        found = None if own is None else self._shared.list_newest(scope, folder, matcher)
        if own is None or found is None or not own.touched:
            return found
        prefix = "".join(f"{name}/" for name in folder)
        wants = make_filter(scope, prefix, matcher)
        mine = [(path[len(prefix) :], own.files[path]) for path in _newest(own.files) if wants(path)]
        return mine + [one for one in found if prefix + one[0] not in own.touched]

    def first_files(
        self, first: int | None, most: int, scope: Scope, folder: Sequence[str], matcher: Matcher
    ) -> NewestFiles | None:
        own = self._own_files()
        found = None if own is None else self._shared.first_files(first, most, scope, folder, matcher)
        if own is None or found is None or not own.touched:
            return found
        prefix = "".join(f"{name}/" for name in folder)
        every = self.list_newest(scope, folder, matcher) or []
        entries = [FileEntry(writable(prefix + path), "file", stamp[2], stamp[3]) for path, stamp in every[:first]]
        whole = writable("\n".join(prefix + path for path, _ in every[:most])) if len(every) > len(entries) else ""
        links = [path for path in found.links if prefix + path not in own.touched]
        return NewestFiles(entries, len(every), whole, links)

    def close(self) -> None:
        """The index belongs to the base."""

    def _ask(self, look: Callable[[FileTable], T]) -> T | None:
        return self._shared._with_lock(look)

    def _own_files(self) -> OwnFiles | None:
        """What the lease has changed; None if there is too much of it, or it is not known which files count."""
        own, gone = OwnFiles(), list[str]()
        with closing_fd(os.open(self._upper, FOLDER)) as upper:
            for path, whole, about in list_changed(upper):
                if path == ".git" or path.startswith(".git/"):
                    if path == ".git/info/exclude":
                        return None
                    continue
                is_folder = stat.S_ISDIR(about.st_mode)
                if _is_ignore_file(path) or len(own.touched) > _MAX_CHANGED or (whole and is_folder):
                    return None
                if stat.S_ISREG(about.st_mode):
                    own.files[path] = stamp_of(about)
                elif stat.S_ISCHR(about.st_mode):
                    gone.append(path)
                elif not is_folder:
                    return None  # a link
                own.touched |= set() if is_folder else {path}
        is_folder_gone = bool(gone) and self._ask(lambda table: any(table.has(f"{path}/") for path in gone))
        if is_folder_gone or any(stamp[3] < self._since for stamp in own.files.values()):
            return None  # files with times of their own are not the newest
        own.left_out = self._ask(lambda table: [path for path in own.files if table.leaves_out(path)]) or []
        for path in own.left_out:
            del own.files[path]
        return own


def _is_ignore_file(path: str) -> bool:
    return path.rpartition("/")[2] in ignore.NAMES


def _newest(files: dict[str, Stamp]) -> list[str]:
    return sorted(files, key=lambda path: (-files[path][3], path))
