"""The log of a journal: one line for each entry, with its checksum. A damaged line costs only its own entry."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import msgspec

from toolroll.host.files.atomic import passing_name, sweep
from toolroll.host.files.journal.contents import Blobs
from toolroll.host.files.journal.entry import UNKNOWN, JournalEntry, PathChange, PathState, expand_new_files, look
from toolroll.host.files.journal.pending import KilledCall, PendingCalls, PendingSteps, restore_names, store_names
from toolroll.host.files.openat import PathHandle
from toolroll.host.runtime.dir_entries import names
from toolroll.host.runtime.state import State

_LOG, _FILE = "journal", "log.jsonl"
_START = "0" * 32
_FRAME = b'{"above":"'  # begins a line, and stands nowhere else in it: quotes in texts are escaped
_SWEEP_EVERY = 200  # entries, after which old contents go
_BACK_BYTES = 1 << 16  # that are read first of the end of the log
_MAX_MISSING = 10_000  # lost entries that are named one by one
_DAMAGED = "its record in the journal is damaged"


class _Line(msgspec.Struct):
    above: str
    hash: str
    entry: msgspec.Raw
    call: str = ""


class _Numbered(msgspec.Struct):
    """Of an entry, what the next one needs; the rest, which may be much, is not decoded."""

    number: int


class _Record(NamedTuple):
    """A line of the log whose checksum is right."""

    number: int
    hash: str
    call: str
    entry: bytes


class JournalLog:
    """Entries in order, each bound to the one before by its hash. Several processes may append."""

    def __init__(self, state: State) -> None:
        self.blobs = Blobs(state)
        self.pending = PendingCalls(state)
        self._state = state
        self._lock = threading.Lock()
        self.unrecorded: JournalEntry | None = None
        """The last command, if there was no room for an entry of it."""

    def append(self, entry: JournalEntry, steps: PendingSteps | None = None) -> JournalEntry:
        """Add an entry; it gets its number here. The `steps` that it was made of are under way no longer."""
        return self.append_made(lambda: entry, steps) or entry

    def append_made(
        self, make: Callable[[], JournalEntry | None], steps: PendingSteps | None = None
    ) -> JournalEntry | None:
        """Add what `make` gives, if anything; no other entry is added meanwhile, by any process."""
        with self._state.explaining(), self._lock, self._opened() as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)
            entry = make()
            if entry is None:
                return None
            last, bad, is_torn = _read_tail(fd)
            number, above = (last.number, last.hash) if last else (0, _START)
            entry = replace(entry, number=number + bad + 1)
            body = self.encode(entry)
            line = {
                "above": above,
                "hash": _hash(above, body),
                "entry": msgspec.Raw(body),
                "call": steps.id if steps else "",
            }
            _write_whole(fd, b"\n" * is_torn + msgspec.json.encode(line) + b"\n")
            self.unrecorded = None
            if steps is not None:
                with contextlib.suppress(OSError):
                    steps.close()
        if entry.number % _SWEEP_EVERY == 0:
            self.blobs.sweep()
        return entry

    @staticmethod
    def encode(entry: JournalEntry) -> bytes:
        """An entry as JSON, with its names as they are on disk."""
        return msgspec.json.encode(replace(entry, changes=tuple(map(store_names, entry.changes))), order="sorted")

    def look(self) -> tuple[int, list[PathChange]]:
        """The size of the log, and the steps under way of which it has no entry yet."""
        with self._lock, self._opened() as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)
            return os.fstat(fd).st_size, self.pending.under_way()

    def size(self) -> int:
        """The bytes of the log: more of them mean more entries."""
        try:
            return os.stat(os.path.join(self._state.path, _LOG, _FILE)).st_size
        except OSError:
            return 0

    def entries(self) -> list[JournalEntry]:
        """Every entry, oldest first."""
        return self.entries_from(0)

    def entries_from(self, size: int) -> list[JournalEntry]:
        """The entries that were added since the log had this size. For those that are damaged stands a note."""
        if not self.size():
            return []
        with self._opened() as fd, os.fdopen(os.dup(fd), "rb") as file:
            file.seek(size)
            return list(_number(_read(line[:-1] for line in file if line.endswith(b"\n")), 1))

    def newest_first(self) -> Iterator[JournalEntry]:
        """The same entries, newest first, read while they are asked for."""
        if not self.size():
            return
        with self._opened() as fd:
            lines = _lines_back(fd)
            next(lines, b"")  # nothing, or what is not written to its end
            yield from _number(_read(lines, reverse=True), -1)

    def unfinished(self) -> Iterator[tuple[KilledCall, str]]:
        """Calls that never became entries, each with its name among the pending ones."""
        for call, name in self.pending.left():
            if call.id and any(one.call == call.id for one in self._records()):
                self.pending.forget(name)  # it was killed when all was done
            else:
                yield call, name

    def cut_torn_line(self) -> None:
        """Remove the beginning of a line, which a killed call left."""
        if self.size():
            with self._lock, self._opened() as fd:
                fcntl.flock(fd, fcntl.LOCK_EX)
                os.ftruncate(fd, os.fstat(fd).st_size - len(next(_lines_back(fd), b"")))

    def damaged(self, *, repair: bool) -> int:
        """How many lines are damaged; with `repair` they are blanked, and others keep their places."""
        if not self.size():
            return 0
        with self._lock, self._opened() as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)
            bad = list(_damaged_lines(fd))
            if repair and bad:
                with open(f"/proc/self/fd/{fd}", "r+b") as file:  # not to append
                    for start, size in bad:
                        file.seek(start)
                        file.write(b" " * size)
        return len(bad)

    def hold(self) -> HeldNames:
        """For what one call replaces or removes."""
        return HeldNames(partial(self._state.folder, "stage"))

    def drop_held(self) -> None:
        """Remove the second names that calls of killed processes have held files by."""
        if os.path.isdir(os.path.join(self._state.path, "stage")):
            with contextlib.suppress(OSError):  # a kit opens whatever becomes of its state
                sweep(self._state.folder("stage"), older=-1)

    @contextlib.contextmanager
    def under_way(self, others: Mapping[str, str], before: Callable[[], object] = tuple) -> Iterator[PendingSteps]:
        """A record of the steps of one call, which outlives a kill; empty when the block ends.

        `others`: the further roots of the workspace, by their names. `before` is called before the first step.
        """
        with self.pending.begin(others, before) as steps:
            yield steps

    def _records(self) -> Iterator[_Record]:
        with self._opened() as fd:
            yield from (one for one in _read(_lines_back(fd), reverse=True) if one is not None)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(_FILE, flags, 0o600, dir_fd=self._state.folder(_LOG))
        try:
            yield fd
        finally:
            os.close(fd)


def _write_whole(fd: int, data: bytes) -> None:
    """Add bytes to the end of a file: all of them, or none if it fails."""
    size, rest = os.fstat(fd).st_size, memoryview(data)
    try:
        while rest:  # a write may be short
            rest = rest[os.write(fd, rest) :]
    except OSError:
        os.ftruncate(fd, size)
        raise


def _lines_back(fd: int) -> Iterator[bytes]:
    """The lines of a file, the last first. The first of all is what follows the last line end, often nothing."""
    end, step, rest = os.fstat(fd).st_size, _BACK_BYTES, b""
    while end:
        start, step = max(0, end - step), step * 2
        lines = (os.pread(fd, end - start, start) + rest).split(b"\n")
        rest = lines.pop(0) if start else b""
        yield from reversed(lines)
        end = start


def _damaged_lines(fd: int) -> Iterator[tuple[int, int]]:
    """Where lines begin in which no record can be read, and their sizes without the end of the line."""
    start = 0
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        for line in file:
            if line.strip() and all(one is None for one in _read([line.rstrip(b"\n")])):
                yield start, len(line.rstrip(b"\n"))
            start += len(line)


def _read(lines: Iterable[bytes], *, reverse: bool = False) -> Iterator[_Record | None]:
    """The records of lines; None for one that is damaged."""
    for line in lines:
        if (record := _parse(line)) is not None:
            yield record
        elif line.strip():
            # The end of a line may be what is damaged: then two records stand in it, with one byte between them.
            first, *more = line.split(_FRAME)
            pieces = [first] * bool(first) + [_FRAME + one for one in more]
            found = [_parse(one) or _parse(one[:-1]) for one in pieces]
            yield from reversed(found) if reverse else found


def _parse(line: bytes) -> _Record | None:
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = msgspec.json.decode(line, type=_Line)
        body = bytes(found.entry)
        if found.hash == _hash(found.above, body):
            return _Record(msgspec.json.decode(body, type=_Numbered).number, found.hash, found.call, body)
    return None


def _number(records: Iterable[_Record | None], step: int) -> Iterator[JournalEntry]:
    """Decode records whose numbers rise (1) or fall (-1); for the numbers that are missing stand notes."""
    last, bad, when = None, 0, 0.0
    for record in records:
        if record is None:
            bad += 1
            continue
        entry = _entry(record)
        missing = bad if last is None else abs(entry.number - last) - 1
        when = entry.time if step > 0 or last is None else when  # that of the next later one
        yield from _missing((entry.number - step * away for away in range(min(missing, _MAX_MISSING), 0, -1)), when)
        yield entry
        last, bad, when = entry.number, 0, entry.time
    last = last or (0 if step > 0 else bad + 1)
    yield from _missing((last + step * away for away in range(1, bad + 1)), when)


def _missing(numbers: Iterable[int], when: float) -> Iterator[JournalEntry]:
    for number in numbers:
        if number > 0:
            yield JournalEntry(number, when, "unknown", "", "", (), note={UNKNOWN: _DAMAGED})


def _entry(record: _Record) -> JournalEntry:
    try:
        entry = msgspec.json.decode(record.entry, type=JournalEntry)
    except msgspec.ValidationError:  # of a later version
        return next(_missing([record.number], 0.0))
    changes = (*map(restore_names, entry.changes), *expand_new_files(entry.new_files))
    return replace(entry, changes=changes, new_files={})


def _read_tail(fd: int) -> tuple[_Record | None, int, bool]:
    """The last record of a log, how many damaged lines follow it, and whether the last one has no end."""
    bad, lines = 0, _lines_back(fd)
    torn = next(lines, b"")
    for record in _read(chain([torn], lines), reverse=True):
        if record is not None:
            return record, bad, bool(torn)
        bad += 1
    return None, bad, bool(torn)


def _hash(above: str, body: bytes) -> str:
    import hashlib

    return hashlib.blake2b(above.encode() + body, digest_size=16).hexdigest()


def undone_numbers(entries: Sequence[JournalEntry]) -> set[int]:
    """The numbers of the entries that are undone now; undoing an undoing brings its entry back."""
    return {one.number for one, is_undone in mark_undone(reversed(entries)) if is_undone}


def mark_undone(newest_first: Iterable[JournalEntry]) -> Iterator[tuple[JournalEntry, bool]]:
    """Each entry, with whether it is undone now: later entries undo earlier ones."""
    gone = set[int]()
    for entry in newest_first:
        is_undone = entry.number in gone
        if not is_undone:
            gone.symmetric_difference_update(entry.undoes)
        yield entry, is_undone


class HeldNames:
    """What one call has replaced or removed, in a folder of the state. What that cannot hold is held by nothing."""

    def __init__(self, folder: Callable[[], int]) -> None:
        self._folder = folder
        self._held: dict[tuple[str, str, str], list[str]] = {}

    def link(self, folder: int, name: str, path: str, state: PathState | None) -> None:
        """Before the file or link that has a name in an open folder is replaced or removed."""
        if state is None or state.kind not in ("file", "link"):
            return
        with contextlib.suppress(OSError):  # another disk, another owner's, no room
            held = passing_name()
            os.link(name, held, src_dir_fd=folder, dst_dir_fd=self._folder(), follow_symlinks=False)
            self._add(path, state.kind, state.content, held)

    def holds(self, path: str, state: PathState) -> bool:
        """Whether what has this path and state has a second name here."""
        return (path, state.kind, state.content) in self._held

    def remove_folder(self, folder: int, name: str, path: str) -> None:
        """Remove an empty folder; OSError if it is not empty."""
        held = passing_name()
        try:
            if names(folder, name, 0) != []:
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
            os.rename(name, held, src_dir_fd=folder, dst_dir_fd=self._folder())
        except OSError:
            return os.rmdir(name, dir_fd=folder)
        if names(self._folder(), held, 0) != []:  # others have put something into it just now
            os.rename(held, name, src_dir_fd=self._folder(), dst_dir_fd=folder)
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        return self._add(path, "directory", "", held)

    def put_back(self, place: PathHandle, state: PathState) -> bool:
        """Give what stood at a place its name again; False if it is not held, or was written to meanwhile."""
        held = self._held.get((place.path, state.kind, state.content))
        if not held:
            return False
        with contextlib.suppress(OSError):
            now, _ = look(self._folder(), held[-1])
            if now is None or now.content != state.content:
                return False
            os.rename(held[-1], place.name, src_dir_fd=self._folder(), dst_dir_fd=place.fd)
            held.pop()
            return True
        return False

    def drop(self) -> None:
        """The call has ended."""
        for (_, kind, _), held in self._held.items():
            for name in held:
                with contextlib.suppress(OSError):
                    (os.rmdir if kind == "directory" else os.unlink)(name, dir_fd=self._folder())
        self._held.clear()

    def _add(self, path: str, kind: str, content: str, held: str) -> None:
        self._held.setdefault((path, kind, content), []).append(held)
