"""Cached file lists of folders, read again only where a folder has changed."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from toolroll.host.files.ignore import NAMES
from toolroll.host.files.versions import SETTLED_NS, Stamp
from toolroll.host.search.query import Scope
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.search.search import Search

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_TREES = 4
_EVERY = globs.compile("**")


@dataclass(slots=True)
class FileList:
    """The files of a folder, sorted by path. `whole` is False if the time was up, or there are too many."""

    files: list[str]
    whole: bool
    stamps: dict[str, Stamp | None] | None = None
    """The stamps of the files of a watched tree; None for a file that changed too recently."""


@dataclass(slots=True)
class _Held:
    listed: FileList
    folders: dict[str, tuple[Stamp | None, int]]
    """Stamp of each folder, None if it changed too recently, and a digest of the names in it."""
    rules: dict[str, Stamp | None]
    """Stamp of each ignore file."""


class FileLists:
    """Lists the files that a search looks at. Not thread-safe."""

    def __init__(self, root: Root, search: Search) -> None:
        self._root = root
        self._search = search
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._seen: dict[str, tuple[list[tuple[str, Stamp]], FileList]] = {}

    def files(self, path: str, token: CancelToken | None = None) -> FileList:
        """The files beneath a folder that are neither hidden nor ignored."""
        held = self._held.get(path)
        watched = self._watched(path) if held is not None else None
        if watched is not None:
            return watched
        if held is None or not self._is_same(held):
            held = self._held[path] = self._look(path, token)
        self._held.move_to_end(path)
        if len(self._held) > _MAX_TREES or not held.listed.whole:
            self._held.popitem(last=not held.listed.whole)
        return held.listed

    def stamps(self, paths: Iterable[str], since: int | None = None) -> list[Stamp | None]:
        """The stamps of files or folders; None for one that is gone, or that changed too recently before `since`.

        They are only compared, so that a folder that was swapped for a link does no harm.
        """
        latest = (since or time.time_ns()) - SETTLED_NS
        made: list[Stamp | None] = []
        look, fd = os.stat, self._root.fd
        for path in paths:
            try:
                about = look(path or ".", dir_fd=fd, follow_symlinks=False)
            except OSError:
                made.append(None)
                continue
            modified, changed = about.st_mtime_ns, about.st_ctime_ns
            old = modified <= latest and changed <= latest
            made.append((about.st_dev, about.st_ino, about.st_size, modified, changed) if old else None)
        return made

    def _watched(self, path: str) -> FileList | None:
        """The list by the live index, the same object while nothing changes; None if it does not know the tree."""
        index = self._search.index
        if index is None:
            return None
        fd = self._root.folder(path)
        try:
            parts = self._root.real(fd)
        finally:
            os.close(fd)
        found = index.list_newest(Scope(path), parts, _EVERY)
        if found is None:
            index.update_in_background()  # a second request, so there will be more
            return None
        before = self._seen.get(path)
        if before is not None and before[0] == found:
            return before[1]
        latest = time.time_ns() - SETTLED_NS
        prefix = "".join(f"{part}/" for part in parts)
        stamps = {
            f"{prefix}{one}": stamp if stamp[3] <= latest and stamp[4] <= latest else None for one, stamp in found
        }
        listed = FileList(sorted(stamps), True, stamps)
        if None not in stamps.values():
            self._seen = {path: (found, listed)}
        return listed

    def _look(self, path: str, token: CancelToken | None) -> _Held:
        began = time.time_ns()
        found = self._search.find("**", Scope(path), kind="both", sort="path", token=token)
        listed = FileList([entry.path for entry in found.entries if entry.kind == "file"], found.complete)
        parts = [part for part in self._root.text(path).split("/") if part not in ("", ".")]
        above = ("/".join(parts[:depth]) for depth in range(len(parts) + 1))  # rules there hold here too
        inner = (entry.path for entry in found.entries if entry.kind == "directory")
        every = list(chain(above, inner))
        inside = [self._inside(folder) for folder in every]
        states = zip(self.stamps(every, began), (names for names, _ in inside), strict=True)
        rules = [
            f"{folder}/{name}" if folder else name
            for folder, (_, some) in zip(every, inside, strict=True)
            for name in some
        ]
        return _Held(
            listed, dict(zip(every, states, strict=True)), dict(zip(rules, self.stamps(rules, began), strict=True))
        )

    def _is_same(self, held: _Held) -> bool:
        """Whether the same files exist and the same rules hold."""
        now = self.stamps(held.folders)
        for (folder, (before, names)), stamp in zip(list(held.folders.items()), now, strict=True):
            if before is None or (stamp != before and self._inside(folder)[0] != names):
                return False
            if stamp is not None:
                held.folders[folder] = (stamp, names)
        return None not in held.rules.values() and self.stamps(held.rules) == list(held.rules.values())

    def _inside(self, folder: str) -> tuple[int, list[str]]:
        """A digest of the names in a folder, and the names of its ignore files."""
        try:
            fd = os.open(folder or ".", _OPEN, dir_fd=self._root.fd)
        except OSError:
            return 0, []
        try:
            with os.scandir(fd) as found:
                kinds = [(one.name, one.is_dir(follow_symlinks=False), one.is_symlink()) for one in found]
            names = {kind[0] for kind in kinds}
            return hash(tuple(sorted(kinds))), [rule for rule in NAMES if rule in names]
        finally:
            os.close(fd)
