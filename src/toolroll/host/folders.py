"""The files of a tree, listed anew only where a folder has changed."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from toolroll.host.ignore import NAMES
from toolroll.host.query import Scope

if TYPE_CHECKING:
    from toolroll.host.root import Root
    from toolroll.host.search import Search
    from toolroll.host.sheets import Stamp
    from toolroll.host.token import Token

SETTLED = 100_000_000
"""Nanoseconds after which a change shows in the times of a file or folder."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TREES = 4


@dataclass(slots=True)
class Listed:
    """The files of a folder by path. `whole` is False if there was no time for all, or there are too many."""

    files: list[str]
    whole: bool


@dataclass(slots=True)
class _Held:
    listed: Listed
    folders: dict[str, tuple[Stamp | None, int]]
    """The state of each folder, None if it may have changed meanwhile, and a digest of the names in it."""
    rules: dict[str, Stamp | None]
    """The same of each ignore file."""


class Folders:
    """Lists the files that a search would look at. Not for several threads at a time."""

    def __init__(self, root: Root, search: Search) -> None:
        self._root = root
        self._search = search
        self._held: OrderedDict[str, _Held] = OrderedDict()

    def files(self, path: str, token: Token | None = None) -> Listed:
        """The files beneath a folder that are neither hidden nor ignored."""
        held = self._held.get(path)
        if held is None or not self._is_same(held):
            held = self._held[path] = self._look(path, token)
        self._held.move_to_end(path)
        if len(self._held) > _TREES or not held.listed.whole:
            self._held.popitem(last=not held.listed.whole)
        return held.listed

    def stamp(self, path: str, since: int | None = None) -> Stamp | None:
        """The state of a file or folder; None if it is gone, or has changed since or so shortly before that its
        times could not tell.

        It is compared and nothing else, so that it does no harm if a folder was swapped for a link meanwhile.
        """
        try:
            about = os.stat(path or ".", dir_fd=self._root.fd, follow_symlinks=False)
        except OSError:
            return None
        if (since or time.time_ns()) - max(about.st_mtime_ns, about.st_ctime_ns) < SETTLED:
            return None
        return (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)

    def _look(self, path: str, token: Token | None) -> _Held:
        began = time.time_ns()
        found = self._search.find("**", Scope(path), kind="both", sort="path", token=token)
        listed = Listed([entry.path for entry in found.entries if entry.kind == "file"], found.complete)
        parts = [part for part in self._root.text(path).split("/") if part not in ("", ".")]
        above = ("/".join(parts[:depth]) for depth in range(len(parts) + 1))  # rules there hold here too
        inner = (entry.path for entry in found.entries if entry.kind == "directory")
        folders = {folder: (self.stamp(folder, began), self._names(folder)) for folder in chain(above, inner)}
        rules = (f"{folder}/{name}" if folder else name for folder in folders for name in NAMES)
        return _Held(listed, folders, {rule: self.stamp(rule, began) for rule in rules if self._is_there(rule)})

    def _is_same(self, held: _Held) -> bool:
        """Whether nothing came, went, or is ignored now that was not."""
        for folder, (before, names) in held.folders.items():
            now = self.stamp(folder)
            if before is None or (now != before and self._names(folder) != names):
                return False
            if now is not None:
                held.folders[folder] = (now, names)
        return all(before is not None and self.stamp(rule) == before for rule, before in held.rules.items())

    def _names(self, folder: str) -> int:
        """A digest of the names in a folder."""
        try:
            fd = os.open(folder or ".", _OPEN, dir_fd=self._root.fd)
        except OSError:
            return 0
        try:
            with os.scandir(fd) as found:
                kinds = [(one.name, one.is_dir(follow_symlinks=False), one.is_symlink()) for one in found]
            return hash(tuple(sorted(kinds)))
        finally:
            os.close(fd)

    def _is_there(self, path: str) -> bool:
        try:
            os.stat(path, dir_fd=self._root.fd, follow_symlinks=False)
        except OSError:
            return False
        return True
