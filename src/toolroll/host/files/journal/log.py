"""The journal on disk: a chained log of entries, the contents they need, and what is under way."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from toolroll.host.files.journal.blobs import Blobs
from toolroll.host.files.journal.entry import JournalEntry, PathChange
from toolroll.host.files.versions import digest
from toolroll.host.runtime.state import State as Folder
from toolroll.result import ErrorCode, ToolError

_LOG = "journal"
_PENDING = "journal/pending"
_START = "0" * 32
_SWEEP_EVERY = 200  # entries, after which old contents go


class _Numbered(msgspec.Struct):
    """Of an entry, what the next one needs; the rest, which may be much, is not decoded."""

    number: int


class _Line(msgspec.Struct):
    hash: str
    entry: _Numbered


class JournalLog:
    """Entries in order, each bound to the one before by its hash. Several processes may append."""

    def __init__(self, state: Folder) -> None:
        self.blobs = Blobs(state)
        self._state = state
        self._lock = threading.Lock()
        self._idle: list[str] = []

    def append(self, entry: JournalEntry) -> JournalEntry:
        """Add an entry; it gets its number here."""
        with self._lock, self._opened() as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)
            last = _last_line(fd)
            number, above = (last.entry.number + 1, last.hash) if last else (1, _START)
            entry = replace(entry, number=number)
            body = msgspec.json.encode(entry, order="sorted")
            line = {"above": above, "hash": _hash(above, body), "entry": msgspec.Raw(body)}
            os.write(fd, msgspec.json.encode(line) + b"\n")
        if number % _SWEEP_EVERY == 0:
            self.blobs.sweep()
        return entry

    def entries(self) -> list[JournalEntry]:
        """Every entry, oldest first; ToolError when the chain is broken."""
        found, above = [], _START
        for line in self._lines():
            body = msgspec.json.encode(line["entry"], order="sorted")
            if line["above"] != above or line["hash"] != _hash(above, body):
                number = line["entry"]["number"]
                raise ToolError(
                    ErrorCode.IO,
                    f"The journal was changed by others at entry {number}: it is not to be trusted.",
                )
            above = line["hash"]
            found.append(msgspec.convert(line["entry"], JournalEntry))
        return found

    @contextlib.contextmanager
    def under_way(self) -> Iterator[PendingSteps]:
        """A record of the steps of one call, which outlives a kill; empty when the block ends."""
        pending = PendingSteps(self._state.folder(_PENDING), self._idle)
        try:
            yield pending
        finally:
            pending.close()

    def cut_off(self) -> Iterator[tuple[list[PathChange], str]]:
        """The steps of calls that were killed, oldest step first, each with the name to `forget` it by meanwhile."""
        if not os.path.isdir(os.path.join(self._state.path, _PENDING)):
            return
        folder = self._state.folder(_PENDING)
        for name in sorted(os.listdir(folder)):
            with (
                contextlib.suppress(FileNotFoundError, BlockingIOError),  # swept by another, or still under way
                PendingSteps.left(folder, name) as steps,
            ):
                yield steps, name

    def forget(self, name: str) -> None:
        """Drop the record of a call that was killed, once it is dealt with."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._state.folder(_PENDING))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open("log.jsonl", flags, 0o600, dir_fd=self._state.folder(_LOG))
        try:
            yield fd
        finally:
            os.close(fd)

    def _lines(self) -> list[dict[str, Any]]:
        if not os.path.isdir(os.path.join(self._state.path, _LOG)):
            return []
        with self._opened() as fd, os.fdopen(os.dup(fd), "rb") as file:
            return [msgspec.json.decode(line) for line in file if line.endswith(b"\n")]


class PendingSteps:
    """The steps of a call that is under way, written before each is taken.

    The file is locked as long as the call lives, so that nobody takes it for one that was killed. Afterwards it is
    empty and idle until another call needs one, unless somebody who looks for killed calls sweeps it away.
    """

    def __init__(self, folder: int, idle: list[str]) -> None:
        self._folder = folder
        self._idle = idle
        self._name = ""
        self._fd: int | None = None

    def about_to(self, *steps: PathChange) -> None:
        """Write down steps that are going to be taken."""
        if self._fd is None:
            self._fd = self._opened()
        rest = memoryview(b"".join(msgspec.json.encode(step) + b"\n" for step in steps))
        while rest:  # a write may be short
            rest = rest[os.write(self._fd, rest) :]

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        while True:
            try:
                self._name = self._idle.pop()
            except IndexError:
                self._name = f"{time.time_ns():020}-{os.urandom(4).hex()}"
            fd = os.open(self._name, flags, 0o600, dir_fd=self._folder)
            if _is_free(fd):
                return fd
            os.close(fd)

    def close(self) -> None:
        """The call has ended one way or the other."""
        if self._fd is None:
            return
        try:
            os.ftruncate(self._fd, 0)
        finally:
            os.close(self._fd)
            self._fd = None
        self._idle.append(self._name)

    @staticmethod
    @contextlib.contextmanager
    def left(folder: int, name: str) -> Iterator[list[PathChange]]:
        """The steps that a killed call had begun, which are ours in the block; BlockingIOError if it lives."""
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield [msgspec.json.decode(line, type=PathChange) for line in file if line.endswith(b"\n")]


def _is_free(fd: int) -> bool:
    """Lock a record; False if another has it, has swept it away, or was killed and left its steps in it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    status = os.fstat(fd)
    return status.st_nlink > 0 and status.st_size == 0


def undone_numbers(entries: Sequence[JournalEntry]) -> set[int]:
    """The numbers of the entries that are undone now; undoing an undoing brings its entry back."""
    gone: set[int] = set()
    for entry in entries:
        gone ^= set(entry.undoes)
    return gone


def _hash(above: str, body: bytes) -> str:
    return digest(above.encode() + body).hex()


def _last_line(fd: int) -> _Line | None:
    """The last whole line; what a killed process left of one is cut off."""
    size = os.fstat(fd).st_size
    step = 1 << 12
    while size:
        start = max(0, size - step)
        tail = os.pread(fd, size - start, start)
        end = tail.rfind(b"\n")
        begin = tail.rfind(b"\n", 0, end) if end > 0 else -1
        if begin >= 0 or (start == 0 and end >= 0):
            if end + 1 < len(tail):
                os.ftruncate(fd, start + end + 1)
            return msgspec.json.decode(tail[begin + 1 : end], type=_Line)
        if start == 0:
            os.ftruncate(fd, 0)
            return None
        step *= 4
    return None
