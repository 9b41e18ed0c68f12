"""The journal on disk: a chained log of entries, the contents they need, and the steps of calls under way."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from toolroll.host.files.journal.entry import JournalEntry, PathChange, PathState, expand_new_files
from toolroll.host.files.journal.packs import PACK, ContentPacks
from toolroll.host.files.reader import read_all
from toolroll.host.files.versions import digest
from toolroll.host.runtime.dir_entries import reopen
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import common_ends

_LOG = "journal"
_PENDING = "journal/pending"
_OTHERS, _ID = "others", "id"
_START = "0" * 32
_SWEEP_EVERY = 200  # entries, after which old contents go
_BACK_BYTES = 1 << 16  # that are read first of the end of the log
_LET_GO_S = 1.0
_BLOBS = "journal/blobs"
_MOST_BYTES = 1_000_000_000  # the oldest go first
_LARGE = 65_536  # bytes from which on it pays to look for what is alike
_PART = 8  # a difference may be this part of the content
_DELTA = ".delta"
_MANY = 20  # contents that are kept in one file
# Bytes of names that are not UTF-8: lone surrogates in memory, characters of private use in the log.
_STORED = {0xDC80 + byte: 0x10FF80 + byte for byte in range(128)}
_NAMED = {stored: named for named, stored in _STORED.items()}


@dataclass(frozen=True, slots=True)
class _Delta:
    """A content as another one, kept whole, that differs between its first and its last bytes."""

    root: str
    head: int
    tail: int
    middle: bytes = b""


class Blobs:
    """Contents by their digests, in the state folder. Several processes may keep some."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._packs = ContentPacks(self._folder)
        self.needed: Callable[[], Collection[str]] = tuple
        """The names of contents that stay, however old they are."""

    def keep(self, data: bytes, known: bytes | None = None, like: tuple[str, bytes] | None = None) -> str:
        """Keep a content, whose digest may be known; the name it is found by again.

        `like` is another content, kept before, with its name: then the difference may do.
        """
        name = (known or digest(data)).hex()
        large = len(data) >= _LARGE
        if self._touch(name) or (large and self._still(name, large)):  # to look for a small one in packs costs more
            return name
        delta = self._difference(data, *like) if large and like is not None else None
        if delta is None:
            self._put(name, data)
        else:
            self._put(name + _DELTA, msgspec.msgpack.encode(delta))
            self._still(delta.root, large=False)  # later than what hangs on it, so that it is not the first to go
        return name

    def keep_many(self, contents: Mapping[str, bytes]) -> None:
        """Keep contents, given by their digests; many of them in one file."""
        if len(contents) < _MANY:
            for name, data in contents.items():
                self.keep(data, bytes.fromhex(name))
            return
        new = {name: data for name, data in contents.items() if name not in self._packs}
        if new:
            self._packs.add(new)

    def content(self, name: str) -> bytes:
        """A content that was kept, to the byte; ToolError when it is kept no longer."""
        data = self._whole(name)
        if data is None and (delta := self._delta(name)) is not None:
            root = self._whole(delta.root) or b""
            data = root[: delta.head] + delta.middle + root[len(root) - delta.tail :]
        if data is None or digest(data).hex() != name:
            raise ToolError(ErrorCode.NOT_FOUND, "The journal no longer keeps that content; it is too old.")
        return data

    def keeps(self, state: PathState) -> bool:
        """Whether what stood at a path can be put back: of a file, its content is kept."""
        return not state.is_lost and (state.kind != "file" or self._still(state.content, large=True))

    def sweep(self) -> None:
        """Let the oldest contents go when there are too many."""
        folder = self._folder()
        with reopen(folder) as listed, os.scandir(listed) as found:
            kept = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.name) for entry in found)
        total = sum(size for _, size, _ in kept)
        needed = self.needed() if total > _MOST_BYTES else ()
        for _, size, name in kept:
            if total <= _MOST_BYTES:
                return
            if name in needed or (name.endswith(PACK) and self._packs.has_any(name, needed)):
                continue
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            total -= size

    def _still(self, name: str, large: bool) -> bool:
        """Whether a content is kept; it then counts as new."""
        if self._touch(name) or self._packs.touch(name):
            return True
        delta = self._delta(name) if large else None
        return delta is not None and self._touch(name + _DELTA) and self._still(delta.root, large=False)

    def _difference(self, data: bytes, name: str, other: bytes) -> _Delta | None:
        """The content as a difference, if it is a small one, from the other or from what that one differs from."""
        head, tail = common_ends(other, data)
        root = name
        if (above := self._delta(name)) is not None:
            root, head, tail = above.root, min(head, above.head), min(tail, above.tail)
        if len(data) - head - tail > len(data) // _PART:
            return None
        return _Delta(root, head, tail, data[head : len(data) - tail])

    def _whole(self, name: str) -> bytes | None:
        data = self._read(name)
        return data if data is not None else self._packs.read(name)

    def _delta(self, name: str) -> _Delta | None:
        data = self._read(name + _DELTA)
        return None if data is None else msgspec.msgpack.decode(data, type=_Delta)

    def _folder(self) -> int:
        return self._state.folder(_BLOBS)

    def _touch(self, file: str) -> bool:
        with contextlib.suppress(FileNotFoundError):
            os.utime(file, dir_fd=self._folder())
            return True
        return False

    def _read(self, file: str) -> bytes | None:
        try:
            fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._folder())
        except FileNotFoundError:
            return None
        try:
            return read_all(fd, os.fstat(fd).st_size)
        finally:
            os.close(fd)

    def _put(self, file: str, data: bytes) -> None:
        folder = self._folder()
        draft = f"{file}.{os.getpid()}.{threading.get_ident()}"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600, dir_fd=folder)
        with os.fdopen(fd, "wb") as whole:
            whole.write(data)
        os.rename(draft, file, src_dir_fd=folder, dst_dir_fd=folder)


class _Numbered(msgspec.Struct):
    """Of an entry, what the next one needs; the rest, which may be much, is not decoded."""

    number: int


class _Line(msgspec.Struct):
    hash: str
    entry: _Numbered


class JournalLog:
    """Entries in order, each bound to the one before by its hash. Several processes may append."""

    def __init__(self, state: State) -> None:
        self.blobs = Blobs(state)
        self._state = state
        self._lock = threading.Lock()
        self._idle: list[str] = []

    def append(self, entry: JournalEntry, call: str = "") -> JournalEntry:
        """Add an entry; it gets its number here. `call` is the `id` of the steps that it was made of."""
        with self._lock, self._opened() as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)
            last = _last_line(fd)
            number, above = (last.entry.number + 1, last.hash) if last else (1, _START)
            entry = replace(entry, number=number)
            stored = replace(entry, changes=tuple(_translate(one, _STORED) for one in entry.changes))
            body = msgspec.json.encode(stored, order="sorted")
            line = {"above": above, "hash": _hash(above, body), "entry": msgspec.Raw(body), "call": call}
            os.write(fd, msgspec.json.encode(line) + b"\n")
        if number % _SWEEP_EVERY == 0:
            self.blobs.sweep()
        return entry

    def size(self) -> int:
        """The bytes of the log: more of them mean more entries."""
        try:
            return os.stat(os.path.join(self._state.path, _LOG, "log.jsonl")).st_size
        except OSError:
            return 0

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
            found.append(_entry(line))
        return found

    def entries_from(self, size: int) -> list[JournalEntry]:
        """The entries that were added since the log had this size."""
        with self._opened() as fd, os.fdopen(os.dup(fd), "rb") as file:
            file.seek(size)
            lines = [msgspec.json.decode(line) for line in file if line.endswith(b"\n")]
        return [_entry(line) for line in lines]

    def newest_first(self) -> Iterator[JournalEntry]:
        """The entries, newest first, read while they are asked for; whether the chain is whole is not checked."""
        if not self.size():
            return
        with self._opened() as fd:
            end, step, rest = os.fstat(fd).st_size, _BACK_BYTES, None
            while end:
                start, step = max(0, end - step), step * 2
                lines = (os.pread(fd, end - start, start) + (rest or b"")).split(b"\n")
                if rest is None:
                    lines.pop()  # what a killed process left of a line, or nothing
                if start and lines:
                    rest = lines.pop(0)
                for line in reversed(lines):
                    yield _entry(msgspec.json.decode(line))
                end = start

    @contextlib.contextmanager
    def under_way(self, others: Mapping[str, str]) -> Iterator[PendingSteps]:
        """A record of the steps of one call, which outlives a kill; empty when the block ends.

        `others`: the further roots of the workspace, by their names.
        """
        pending = PendingSteps(self._state.folder(_PENDING), self._idle, others)
        try:
            yield pending
        finally:
            pending.close()

    def cut_off(self) -> Iterator[tuple[KilledCall, str]]:
        """The calls that were killed before they were an entry, each with the name to `forget` it by meanwhile."""
        if not os.path.isdir(os.path.join(self._state.path, _PENDING)):
            return
        folder = self._state.folder(_PENDING)
        with reopen(folder) as listed:
            names = sorted(os.listdir(listed))
        for name in names:
            with (
                contextlib.suppress(FileNotFoundError, BlockingIOError),  # swept by another, or still under way
                PendingSteps.left(folder, name) as call,
            ):
                if call.id and any(line.get("call") == call.id for line in self._lines()):
                    self.forget(name)  # it was killed when all was done
                else:
                    yield call, name

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


class KilledCall(NamedTuple):
    """What a call had begun, oldest step first, and the further roots that it had, by their names."""

    steps: list[PathChange]
    others: Mapping[str, str]
    id: str


class PendingSteps:
    """The steps of a call that is under way, written before each is taken.

    The file is locked as long as the call lives, so that it is not taken for one that was killed. Afterwards it is
    empty and idle until another call needs one, unless a search for killed calls removes it.
    """

    def __init__(self, folder: int, idle: list[str], others: Mapping[str, str]) -> None:
        self._folder = folder
        self._idle = idle
        self._others = others
        self._name = ""
        self._fd: int | None = None
        self.id = ""
        """Says in the log which steps an entry was made of; empty if there are none."""

    def about_to(self, *steps: PathChange) -> None:
        """Write down steps that are going to be taken."""
        lines: list[object] = [_translate(step, _STORED) for step in steps]
        if self._fd is None:
            self._fd, self.id = self._opened(), os.urandom(8).hex()
            lines.insert(0, {_OTHERS: self._others, _ID: self.id})
        rest = memoryview(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        while rest:  # a write may be short
            rest = rest[os.write(self._fd, rest) :]

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        while True:
            try:
                self._name = self._idle.pop()
            except IndexError:
                self._name = f"{time.time_ns():020}-{os.urandom(4).hex()}-{os.getpid()}"
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
    def left(folder: int, name: str) -> Iterator[KilledCall]:
        """What a killed call had begun, which is ours in the block; BlockingIOError if it lives."""
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            _lock_dead(fd, name)
            lines = [msgspec.json.decode(line) for line in file if line.endswith(b"\n")]
            head = lines.pop(0) if lines and _OTHERS in lines[0] else {}
            steps = [_translate(step, _NAMED) for step in msgspec.convert(lines, list[PathChange])]
            yield KilledCall(steps, head.get(_OTHERS, {}), head.get(_ID, ""))


def _lock_dead(fd: int, name: str) -> None:
    """Lock the record of a call that does not live any more; BlockingIOError if it does.

    A process that was being started when its parent was killed holds the lock until it runs its program.
    """
    end = time.monotonic() + _LET_GO_S
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end or _runs(name.rpartition("-")[2]):
                raise
            time.sleep(0.01)


def _runs(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):  # another user's; a record of an older version
        pass
    return True


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
    undoes: dict[int, tuple[int, ...]] = {}
    for entry in entries:
        undoes[entry.number] = entry.undoes
        todo = list(entry.undoes)
        while todo:
            number = todo.pop()
            gone ^= {number}
            todo += undoes.get(number, ())
    return gone


def _entry(line: Mapping[str, Any]) -> JournalEntry:
    entry = msgspec.convert(line["entry"], JournalEntry)
    changes = (*(_translate(one, _NAMED) for one in entry.changes), *expand_new_files(entry.new_files))
    return replace(entry, changes=changes, new_files={})


def _translate(step: PathChange, table: Mapping[int, int]) -> PathChange:
    """A step with its names as they are in the log, or as they are in memory."""
    if step.path.isascii() and (step.source or "").isascii() and not _has_odd_link(step):
        return step
    source = None if step.source is None else step.source.translate(table)
    before, after = (
        replace(one, content=one.content.translate(table), names=tuple(name.translate(table) for name in one.names))
        if one is not None
        else None
        for one in (step.before, step.after)
    )
    return PathChange(step.path.translate(table), before, after, source)


def _has_odd_link(step: PathChange) -> bool:
    return not all(one is None or "".join((one.content, *one.names)).isascii() for one in (step.before, step.after))


def _hash(above: str, body: bytes) -> str:
    import hashlib

    return hashlib.blake2b(above.encode() + body, digest_size=16).hexdigest()


def _last_line(fd: int) -> _Line | None:
    """The last whole line; what a killed process left of one is cut off."""
    size = os.fstat(fd).st_size
    step = 4096
    while True:
        start = max(0, size - step)
        *lines, torn = os.pread(fd, size - start, start).split(b"\n")
        if start == 0 or len(lines) > 1:  # the first may be the end of a line
            break
        step *= 4
    if torn:
        os.ftruncate(fd, size - len(torn))
    return msgspec.json.decode(lines[-1], type=_Line) if lines else None
