"""What was read and written, and in which version, so that nobody's change is overwritten unseen."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from typing import NamedTuple

from toolroll.text.encoding import Encoding

Stamp = tuple[int, int, int, int, int]


class Version(NamedTuple):
    """One state of a file. The times tell that nothing happened; the digest tells whether it mattered."""

    stamp: Stamp
    digest: bytes | None = None

    @classmethod
    def of(cls, status: os.stat_result, data: bytes | None = None) -> Version:
        return cls(stamp_of(status), None if data is None else digest(data))


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells that nothing happened to a file."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest(data: bytes) -> bytes:
    """What a version of a file is known by."""
    import hashlib  # here because it loads a library of megabytes

    return hashlib.blake2b(data, digest_size=16).digest()


class FileRecord(NamedTuple):
    """When this session last read and wrote a file (0 for never), and the version it knows."""

    read_at: float = 0.0
    written_at: float = 0.0
    version: Version | None = None
    encoding: Encoding | None = None


_UNSEEN = FileRecord()


class SeenVersions:
    """The files that a session has seen, the least recently used forgotten first. Safe for threads."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._files: OrderedDict[str, FileRecord] = OrderedDict()

    def get(self, path: str) -> FileRecord:
        """The record of a path; an empty one if it was never seen."""
        with self._lock:
            return self._files.get(path, _UNSEEN)

    def read(self, path: str, version: Version, encoding: Encoding | None = None) -> None:
        """Remember that this version was shown."""
        with self._lock:
            known = self._files.get(path, _UNSEEN)
            self._put(path, FileRecord(time.time(), known.written_at, version, encoding))

    def wrote(self, path: str, version: Version, encoding: Encoding | None = None) -> None:
        """Remember that we wrote this version; what we wrote we have seen."""
        now = time.time()
        with self._lock:
            self._put(path, FileRecord(now, now, version, encoding))

    def forget(self, path: str) -> None:
        """Drop a path and everything below it."""
        with self._lock:
            for known in [one for one in self._files if one == path or one.startswith(path + "/")]:
                del self._files[known]

    def clear(self) -> None:
        with self._lock:
            self._files.clear()

    def _put(self, path: str, record: FileRecord) -> None:
        self._files[path] = record
        self._files.move_to_end(path)
        if len(self._files) > self._most:
            self._files.popitem(last=False)
