"""The file list of a lease: that of its frozen base, corrected by the few files that the lease has changed.

A lease watches nothing and lists nothing, so that a thousand of them cost no more memory than one base.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolroll.host.files import ignore
from toolroll.host.files.versions import Stamp, stamp_of
from toolroll.host.forks.overlay import list_changed
from toolroll.host.forks.tree_copy import FOLDER
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.search.live_files import LiveFiles, NewestFiles, make_filter
from toolroll.host.search.query import Candidates, FileEntry, Scope, writable

if TYPE_CHECKING:
    from toolroll.text.search.globs import Matcher

_MAX_CHANGED = 500  # paths of the upper folder; with more, ripgrep walks the tree


@dataclass(slots=True)
class OwnFiles:
    """What a lease has changed, by path."""

    touched: set[str] = field(default_factory=set)
    """Paths at which the base does not count: written, replaced or deleted."""
    files: dict[str, Stamp] = field(default_factory=dict)
    """Regular files that a search looks at."""
    left_out: list[str] = field(default_factory=list)
    """Hidden and ignored files."""


class LeaseFiles(LiveFiles):
    """Answers as the file table of the base does, for the files of the lease. Thread-safe."""

    def __init__(self, shared: LiveFiles, upper: str, since: int) -> None:
        """`upper` is the folder of the lease's changes; `since` is when the base was frozen, in ns."""
        self._shared = shared
        self._upper = upper
        self._since = since

    def read_in_background(self) -> None:
        """The base is complete, and the lease is not watched."""

    def wait_until_ready(self, seconds: float) -> bool:
        return self._shared.wait_until_ready(seconds)

    def candidates(self, scope: Scope, folder: Sequence[str]) -> Candidates | None:
        own = self._own_files()
        found = None if own is None else self._shared.candidates(scope, folder)
        if own is None or found is None or not own.touched:
            return found
        prefix = "".join(f"{name}/" for name in folder)
        wants, cut = make_filter(scope, prefix), len(prefix)
        mine = [path[cut:] for path in _newest(own.files) if wants(path)]
        return Candidates([*mine, *(path for path in found.files if prefix + path not in own.touched)])

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
        """The table belongs to the base."""

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
        is_folder_gone = bool(gone) and self._shared.ask(lambda table: any(table.has(f"{path}/") for path in gone))
        if is_folder_gone or any(stamp[3] < self._since for stamp in own.files.values()):
            return None  # files with times of their own are not the newest
        own.left_out = self._shared.ask(lambda table: [path for path in own.files if table.leaves_out(path)]) or []
        for path in own.left_out:
            del own.files[path]
        return own


def _is_ignore_file(path: str) -> bool:
    return path.rpartition("/")[2] in ignore.NAMES


def _newest(files: dict[str, Stamp]) -> list[str]:
    return sorted(files, key=lambda path: (-files[path][3], path))
