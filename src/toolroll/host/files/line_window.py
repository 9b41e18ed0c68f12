"""Read some lines of a file of any size, holding no more than a block and those lines in memory.

A line index remembers where the lines of large files are while the file stays the same.
"""

from __future__ import annotations

import os
import re
import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from toolroll.host.files.versions import stamp_of
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.dir_entries import SETTLED_NS
from toolroll.result import ErrorCode, ToolError
from toolroll.text.encoding import Encoding
from toolroll.text.lines import as_many, nth_feed

BLOCK = 262_144  # bytes from one milestone to the next
_MOST_FILES = 32
_MOST_BLOCKS = 262_144  # of all files together; a milestone takes 8 bytes


@dataclass(slots=True)
class LineIndex:
    """How many line feeds stand before each block of a file."""

    before: array[int] = field(default_factory=lambda: array("Q", (0,)))
    total: int | None = None
    """The lines of the whole file, once its end was seen."""
    settled: bool = False
    """The file's times tell of any later change."""

    def after(self, fd: int, count: int, token: CancelToken) -> int | None:
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

    def count(self, fd: int, token: CancelToken) -> int:
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
        settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > SETTLED_NS
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


def _block(fd: int, number: int, token: CancelToken) -> bytes:
    token.check()
    at = number * BLOCK
    data = os.pread(fd, BLOCK, at)
    while 0 < len(data) < BLOCK and (more := os.pread(fd, BLOCK - len(data), at + len(data))):
        data += more
    return data


_SHOWN = 65_536  # bytes taken apart into lines at a time
_COUNTED = 32_000_000  # bytes of a file up to which the lines behind the window are counted as well
_LINE = 64_000  # bytes of one line that are kept
_CUT = re.compile(rb"[\xc0-\xff][\x80-\xbf]*\Z")  # what may be a piece of a UTF-8 character


class Window(NamedTuple):
    """Lines without their endings. `total` is None when counting all of them would take too long."""

    lines: tuple[str, ...]
    start: int
    total: int | None
    encoding: Encoding
    ended: bool = False
    """The file was read to its end, and a line feed ends it."""


def window_of_file(fd: int, start: int, count: int, encoding: Encoding, token: CancelToken, known: LineIndex) -> Window:
    """The window of a large file, read in blocks; `known` helps to find it, and learns."""
    if encoding.codec.startswith(("utf-16", "utf-32")):
        raise ToolError(ErrorCode.TOO_LARGE, f"A {encoding.codec} file of this size cannot be read in part.")
    at = known.after(fd, start - 1, token) if start > 1 else len(encoding.bom)
    raw = _taken(fd, at, count, token) if at is not None else []
    if len(raw) < count or os.fstat(fd).st_size <= _COUNTED:
        known.count(fd, token)
    plain = Encoding(encoding.codec)
    shown = tuple(plain.decode(line.removesuffix(b"\r")) for line in raw)
    return Window(shown, start, known.total, encoding)


def _taken(fd: int, at: int, count: int, token: CancelToken) -> list[bytes]:
    """The lines from a place on, each cut to what can be shown of it at all."""
    lines: list[bytes] = []
    current = bytearray()
    while len(lines) < count and (chunk := os.pread(fd, _SHOWN, at)):
        token.check()
        at += len(chunk)
        *ended, last = chunk.split(b"\n", count - len(lines))
        for piece in ended:
            current += piece[: _LINE - len(current)]
            lines.append(bytes(current))
            current.clear()
        current += last[: _LINE - len(current)]
        if len(current) == _LINE:
            at = next_data(fd, at)
    if current and len(lines) < count:
        lines.append(bytes(current))
    return [line if len(line) < _LINE else _CUT.sub(b"", line) for line in lines]
