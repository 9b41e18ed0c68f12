"""The tags that were made of sources: kept by content, and by path for as long as a file stays the same."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from toolroll.host.search.file_list import SETTLED

if TYPE_CHECKING:
    from toolroll.host.code.fact_store import Stamp
    from toolroll.host.files.root import Root
    from toolroll.text.code.syntax.model import Tags

Key = tuple[str, bytes]
"""A language, and the digest of a source."""

_REMEMBERED = 96 << 20  # bytes of tags
_PATHS = 200_000


class _Held(NamedTuple):
    where: str
    stamp: Stamp
    key: Key


class Tagged:
    """Tags of the files of one workspace. Several threads may use it at a time."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._paths: OrderedDict[str, _Held] = OrderedDict()
        self._tags: OrderedDict[Key, Tags] = OrderedDict()
        self._weight = 0
        self.hard: dict[Key, str] = {}
        """What the parser did not come to an end with, and why."""

    def of_file(self, path: str, *, whole: bool) -> Tags | None:
        """The tags of a file that has not changed since they were made; None if there are none, or too few."""
        with self._lock:
            held = self._paths.get(path)
        if held is None or held.stamp != self.stamp(held.where):
            return None
        return self.get(held.key, whole=whole)

    def of_files(self, paths: Iterable[str], stamps: Mapping[str, Stamp | None], *, whole: bool) -> dict[str, Tags]:
        """The same of all files whose states are known."""
        found = {}
        with self._lock:
            for path in paths:
                held = self._paths.get(path)
                if held is not None and held.stamp == stamps.get(path):
                    tags = self._tags.get(held.key)
                    if tags is not None and (tags.whole or not whole):
                        found[path] = tags
        return found

    def get(self, key: Key, *, whole: bool) -> Tags | None:
        """The tags of a content."""
        with self._lock:
            tags = self._tags.get(key)
            if tags is None or (whole and not tags.whole):
                return None
            self._tags.move_to_end(key)
            return tags

    def keep(self, path: str, where: str, stamp: Stamp | None, key: Key, tags: Tags) -> None:
        """Remember the tags of a content, and that a file has it as long as it is in this state."""
        with self._lock:
            if stamp is not None:
                self._paths[path] = _Held(where, stamp, key)
                if len(self._paths) > _PATHS:
                    self._paths.popitem(last=False)
            before = self._tags.get(key)
            if before is None or (tags.whole and not before.whole):
                self._tags[key] = tags
                self._weight += tags.weight - (before.weight if before is not None else 0)
            while self._weight > _REMEMBERED and len(self._tags) > 1:
                self._weight -= self._tags.popitem(last=False)[1].weight

    def names(self) -> list[str]:
        """All that is known to be defined somewhere."""
        with self._lock:
            return [tag.name for tags in self._tags.values() for tag in tags.definitions]

    def stamp(self, where: str) -> Stamp | None:
        """The state of a file by its times; None if they cannot tell whether it changes.

        It is compared and nothing else, so that it does no harm if a folder was swapped for a link meanwhile:
        a file outside has another number than the one that was read.
        """
        if ".." in where.split("/"):
            return None
        try:
            status = os.stat(where, dir_fd=self._root.fd, follow_symlinks=False)
        except OSError:
            return None
        modified, changed = status.st_mtime_ns, status.st_ctime_ns
        recent = time.time_ns() - max(modified, changed) < SETTLED
        if recent or not stat.S_ISREG(status.st_mode):
            return None
        return status.st_dev, status.st_ino, status.st_size, modified, changed
