"""Cache of tags by content, and by path while a file stays the same."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from toolroll.host.files.versions import Stamp, stamp_of
from toolroll.host.runtime.dir_entries import SETTLED_NS

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.text.code.syntax.model import Tags

Key = tuple[str, bytes]  # a language, and the digest of a source

_MAX_TAG_BYTES = 96 << 20
_MAX_PATHS = 200_000


class _Held(NamedTuple):
    where: str
    stamp: Stamp
    key: Key


class TagCache:
    """Tags of the files of one workspace. Thread-safe."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._paths: OrderedDict[str, _Held] = OrderedDict()
        self._tags: OrderedDict[Key, Tags] = OrderedDict()
        self._weight = 0
        self.hard: dict[Key, str] = {}
        """Sources that the parser cannot handle, and why."""

    def of_files(
        self, paths: Iterable[str], stamps: Mapping[str, Stamp | None] | None = None, *, whole: bool
    ) -> dict[str, Tags]:
        """The cached tags of unchanged files, with `whole` only those with uses; by `stamps` if these are known."""
        found = {}
        with self._lock:
            for path in paths:
                held = self._paths.get(path)
                if held is None or held.stamp != (self.stamp(held.where) if stamps is None else stamps.get(path)):
                    continue
                if (tags := self._get(held.key, whole)) is not None:
                    found[path] = tags
        return found

    def get(self, key: Key, *, whole: bool) -> Tags | None:
        with self._lock:
            return self._get(key, whole)

    def _get(self, key: Key, whole: bool) -> Tags | None:
        tags = self._tags.get(key)
        if tags is None or (whole and not tags.whole):
            return None
        self._tags.move_to_end(key)
        return tags

    def keep(self, path: str, where: str, stamp: Stamp | None, key: Key, tags: Tags) -> None:
        """Cache the tags of a source, and that a file holds it while it has this stamp."""
        with self._lock:
            if stamp is not None:
                self._paths[path] = _Held(where, stamp, key)
                if len(self._paths) > _MAX_PATHS:
                    self._paths.popitem(last=False)
            before = self._tags.get(key)
            if before is None or (tags.whole and not before.whole):
                self._tags[key] = tags
                self._weight += tags.weight - (before.weight if before is not None else 0)
            while self._weight > _MAX_TAG_BYTES and len(self._tags) > 1:
                self._weight -= self._tags.popitem(last=False)[1].weight

    def names(self) -> list[str]:
        with self._lock:
            return [tag.name for tags in self._tags.values() for tag in tags.definitions]

    def stamp(self, where: str) -> Stamp | None:
        """The stamp of a file; None if it is too recent to show the next change.

        A folder that was swapped for a link does no harm: the file behind it has another inode number.
        """
        if ".." in where.split("/"):
            return None
        try:
            status = os.stat(where, dir_fd=self._root.fd, follow_symlinks=False)
        except OSError:
            return None
        recent = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < SETTLED_NS
        return None if recent or not stat.S_ISREG(status.st_mode) else stamp_of(status)
