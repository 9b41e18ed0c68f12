"""Where the lines of large files are, as far as they were read: remembered while the file stays the same."""

from __future__ import annotations

import os
import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass, field

from toolroll.host.files.versions import stamp_of
from toolroll.host.runtime.cancellation import Token
from toolroll.text.lines import as_many, nth_feed

BLOCK = 1 << 18  # bytes from one milestone to the next
_SETTLED = 100_000_000  # nanoseconds: a file that is younger may change again without its times telling
_MOST_FILES = 32
_MOST_BLOCKS = 1 << 18  # of all files together; a milestone takes 8 bytes


def _from_the_start() -> array[int]:
    return array("Q", (0,))


@dataclass(slots=True)
class LineIndex:
    """How many line feeds stand before each block of a file."""

    before: array[int] = field(default_factory=_from_the_start)
    total: int | None = None
    """The lines of the whole file, once its end was seen."""
    settled: bool = False
    """The file's times tell of any later change."""

    def after(self, fd: int, count: int, token: Token) -> int | None:
        """The place behind the first `count` line feeds; None if there are not so many."""
        at = max(0, bisect_left(self.before, count) - 1)
        before = self.before[at]
        while data := _block(fd, at, token):
            found = before + self._feeds(at, data)
            if found >= count:
                return at * BLOCK + nth_feed(data, count - before) + 1
            self._pass(fd, at, data, found)
            before, at = found, _next(fd, at, data)
        return None

    def count(self, fd: int, token: Token) -> int:
        """The lines of the whole file."""
        at = len(self.before) - 1
        found = self.before[at]
        while self.total is None:
            data = _block(fd, at, token)
            found += self._feeds(at, data)
            self._pass(fd, at, data, found)
            at = _next(fd, at, data)
        return self.total

    def _feeds(self, at: int, data: bytes) -> int:
        """The line feeds of a block: most have about as many as the one before it."""
        return as_many(data, self.before[at] - self.before[at - 1] if 0 < at < len(self.before) else 0)

    def _pass(self, fd: int, at: int, data: bytes, found: int) -> None:
        """Remember a block that was counted; the one at the end is shorter, and may be empty."""
        if len(data) < BLOCK:
            last = data[-1:] or os.pread(fd, 1, max(0, at * BLOCK - 1))
            self.total = found + (last not in (b"", b"\n"))
        elif at == len(self.before) - 1:
            self.before.append(found)


class LineIndexCache:
    """The milestones of the files that were read last. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[tuple[int, ...], LineIndex] = OrderedDict()
        self._blocks = 0

    def of(self, status: os.stat_result) -> LineIndex:
        """What is known of a file that is in this state now, to be added to."""
        settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED
        with self._lock:
            found = self._files.get(stamp_of(status), LineIndex())
            return LineIndex(found.before[:], found.total, settled)

    def keep(self, fd: int, status: os.stat_result, learned: LineIndex) -> None:
        """Remember what was learned of a file, if it is still in this state and its times tell when it leaves it."""
        stamp = stamp_of(status)
        if not learned.settled or stamp_of(os.fstat(fd)) != stamp:
            return
        with self._lock:
            self._drop(stamp)
            self._files[stamp] = learned
            self._blocks += len(learned.before)
            while len(self._files) > _MOST_FILES or self._blocks > _MOST_BLOCKS:
                self._drop(next(iter(self._files)))

    def _drop(self, stamp: tuple[int, ...]) -> None:
        if (old := self._files.pop(stamp, None)) is not None:
            self._blocks -= len(old.before)


def next_data(fd: int, at: int) -> int:
    """Where the next bytes of a file are that are kept on the disk: what is before them is a hole, all zeros."""
    try:
        return max(at, os.lseek(fd, at, os.SEEK_DATA))
    except OSError:  # only a hole is left; or this file system cannot tell
        size = os.fstat(fd).st_size
        return size if at < size and not os.pread(fd, BLOCK, at).strip(b"\0") else at


def _next(fd: int, at: int, data: bytes) -> int:
    """The block behind this one; behind one that is empty, the first that is not in the same hole."""
    if len(data) < BLOCK or data.strip(b"\0"):
        return at + 1
    return max(at + 1, next_data(fd, (at + 1) * BLOCK) // BLOCK)


def _block(fd: int, number: int, token: Token) -> bytes:
    token.check()
    at = number * BLOCK
    data = os.pread(fd, BLOCK, at)
    while 0 < len(data) < BLOCK and (more := os.pread(fd, BLOCK - len(data), at + len(data))):
        data += more
    return data
