"""File lists of folders: by the live file table where it knows the tree, else by a search."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.files.versions import Stamp
from toolroll.host.runtime.dir_entries import SETTLED_NS
from toolroll.host.search.query import Scope
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.search.search import Search

_EVERY = globs.compile("**")


@dataclass(slots=True)
class FileList:
    """The files of a folder, sorted by path. `whole` is False if the time was up, or there are too many."""

    files: list[str]
    whole: bool
    stamps: dict[str, Stamp | None] | None = None
    """The stamps of the files of a watched tree; None for a file that changed too recently."""


class FileLists:
    """Lists the files that a search looks at. Not thread-safe."""

    def __init__(self, root: Root, search: Search) -> None:
        self._root = root
        self._search = search
        self._seen: dict[str, tuple[list[tuple[str, Stamp]], FileList]] = {}

    def files(self, path: str, token: CancelToken | None = None) -> FileList:
        """The files beneath a folder that are neither hidden nor ignored."""
        if (watched := self._watched(path)) is not None:
            return watched
        found = self._search.find("**", Scope(path), sort="path", token=token)
        return FileList([entry.path for entry in found.entries], found.complete)

    def stamps(self, paths: Iterable[str]) -> list[Stamp | None]:
        """The stamps of files or folders; None for one that is gone, or that changed too recently.

        They are only compared, so that a folder that was swapped for a link does no harm.
        """
        latest = time.time_ns() - SETTLED_NS
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
        """The list by the live file table, the same object while nothing changes; None if it does not know the tree."""
        live = self._search.files
        if live is None:
            return None
        fd = self._root.folder(path)
        try:
            parts = self._root.real(fd)
        finally:
            os.close(fd)
        found = live.list_newest(Scope(path), parts, _EVERY)
        if found is None:
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
