"""Which versions of files a session has seen, so that no change by others is overwritten."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal, NamedTuple

from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.text.encoding import Encoding

Stamp = tuple[int, int, int, int, int]
"""The state of a file: device, inode number, size, times of the last modification and change."""


class Version(NamedTuple):
    """One state of a file. An equal stamp means no change; with another stamp the digest decides."""

    stamp: Stamp
    digest: bytes | None = None


def stamp_of(status: os.stat_result) -> Stamp:
    """Device, inode, size and times: equal stamps mean that the file was not changed."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class FileRecord(NamedTuple):
    """The version of a file that this session has read or written last; None for a file it has not seen."""

    version: Version | None = None
    encoding: Encoding | None = None
    read: float | None = None
    """When it was read or written last, in seconds since 1970: what was written is known."""
    written: float | None = None
    held: bytes | None = None
    """A new content that is not written, because a file of this version would not parse any more."""


_UNSEEN = FileRecord()


class SeenVersions:
    """The files that a session has seen, the least recently used first. Safe for threads."""

    knows_commands = True
    """Whether what a command of the session changes counts as seen, where the file had been seen before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[str, FileRecord] = OrderedDict()
        self._by_commands: set[str] = set()

    def note_command(self, path: str, version: Version, encoding: Encoding | None) -> None:
        """Remember what a command of the session has made of a seen file: it may be edited, not replaced."""
        self.note(path, version, encoding, written=True)
        with self._lock:
            self._by_commands.add(path)

    def is_by_command(self, path: str) -> bool:
        """Whether a command has made of the file what nobody has seen since."""
        with self._lock:
            return path in self._by_commands

    def get(self, path: str) -> FileRecord:
        """The record of a path; an empty one if it was never seen."""
        with self._lock:
            return self._files.get(path, _UNSEEN)

    def note(self, path: str, version: Version, encoding: Encoding | None = None, *, written: bool = False) -> None:
        """Remember that this version was shown, or was written: what we wrote we have seen."""
        now = time.time()
        with self._lock:
            before = self._files.get(path, _UNSEEN)
            held = None if written or before.version is None or before.version.stamp != version.stamp else before.held
            self._files[path] = FileRecord(version, encoding, now, now if written else before.written, held)
            self._files.move_to_end(path)
            self._by_commands.discard(path)

    def hold(self, path: str, version: Version, encoding: Encoding, content: bytes | None) -> None:
        """Let this session see another content of a version; None ends that."""
        self.note(path, version, encoding)
        with self._lock:
            self._files[path] = self._files[path]._replace(held=content)

    def forget(self, path: str) -> None:
        """Drop a path and everything below it."""
        with self._lock:
            for known in [one for one in self._files if one == path or one.startswith(path + "/")]:
                del self._files[known]

    def all(self) -> dict[str, FileRecord]:
        """Every file, the least recently used first."""
        with self._lock:
            return dict(self._files)

    def clear(self) -> None:
        with self._lock:
            self._files.clear()

    def restore(self, files: Mapping[str, FileRecord]) -> None:
        """Remember what another process has seen in this session, besides what we have."""
        with self._lock:
            self._files = OrderedDict({**files, **self._files})


_MOST_BYTES = 16_000_000


def digest(data: bytes) -> bytes:
    """What a content is known by."""
    import hashlib  # here because it loads a library of megabytes

    return hashlib.sha256(data).digest()[:16]  # half of it: twice as quick as blake2b where processors help


class DigestCache:
    """The digests of the last contents of files, by path. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()
        self._bytes = 0

    def digest(self, path: str, data: bytes) -> bytes:
        """The digest of what a file holds."""
        with self._lock:
            known = self._held.get(path)
        if known is not None and known[0] == data:
            return known[1]
        found = digest(data)
        if len(data) <= _MOST_BYTES:
            self._hold(path, data, found)
        return found

    def last(self, path: str) -> bytes | None:
        """What a file held when its digest was asked for last, if that is still known."""
        with self._lock:
            return self._held.get(path, (None, b""))[0]

    def _hold(self, path: str, data: bytes, found: bytes) -> None:
        with self._lock:
            gone, _ = self._held.pop(path, (b"", b""))
            self._held[path] = (data, found)
            self._bytes += len(data) - len(gone)
            while self._bytes > _MOST_BYTES:
                _, (gone, _) = self._held.popitem(last=False)
                self._bytes -= len(gone)


EditGuard = Literal["none", "fresh", "seen"]
"""Before a change: nothing is asked, it must be unchanged since it was read, or it must also have been read."""


class Freshness:
    """Judges versions of files against what a session has seen of them."""

    def __init__(self, records: SeenVersions, guard: EditGuard) -> None:
        self._records = records
        self._guard = guard
        self.needs_read = guard == "seen"
        records.knows_commands = not self.needs_read  # else it must be read again

    def check_seen(self, path: str, now: Version) -> None:
        """Raise ToolError if a file may not be edited before it is read (again)."""
        if self._guard == "seen" and self._records.get(path).version is None:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"{path!r} must be read first. Call `read`, then change what you saw.",
                suggest=(Suggestion("read", {"path": path}),),
            )
        self.check(path, now)

    def check(self, path: str, now: Version) -> None:
        """Raise ToolError if a file that was read is another one by now."""
        if self.is_stale(path, now):
            raise modified_error(path)

    def check_whole(self, path: str) -> None:
        """Raise ToolError if all of a file may not be replaced: a command has changed it since it was seen."""
        if self._guard == "fresh" and self._records.is_by_command(path):
            raise modified_error(path)

    def is_stale(self, path: str, now: Version) -> bool:
        """Whether a file that was read is another one by now, and the guard minds."""
        known = self._records.get(path).version
        if self._guard == "none" or known is None or known.stamp == now.stamp:
            return False
        return known.digest is None or known.digest != now.digest

    @property
    def allows_quotes(self) -> bool:
        """Whether a stale file may be changed where it is quoted to the letter."""
        return self._guard == "fresh"


def modified_error(path: str) -> ToolError:
    """The error for a file that others have changed."""
    return ToolError(
        ErrorCode.CONFLICT,
        f"{path!r} was modified since it was last read. Call `read` again and redo the change.",
        suggest=(Suggestion("read", {"path": path}),),
    )
