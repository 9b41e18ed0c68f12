"""The steps of calls under way, each written down before it is taken, so that a killed call can be taken back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from toolroll.host.files.journal.entry import PathChange
from toolroll.host.runtime.dir_entries import reopen
from toolroll.host.runtime.state import State

_PENDING = "journal/pending"
_OTHERS, _ID = "others", "id"
_LET_GO_S = 1.0
# Bytes of names that are not UTF-8: lone surrogates in memory, characters of private use on disk.
_STORED = {0xDC80 + byte: 0x10FF80 + byte for byte in range(128)}
_NAMED = {stored: named for named, stored in _STORED.items()}


class KilledCall(NamedTuple):
    """What a call had begun, oldest step first, and the further roots that it had, by their names."""

    steps: list[PathChange]
    others: Mapping[str, str]
    id: str
    damaged: int = 0
    """How many of its steps cannot be read."""


class TouchedPaths:
    """The paths that steps change; of what is moved, with all beneath it."""

    def __init__(self, steps: Iterable[PathChange]) -> None:
        self._paths, moved = set[str](), set[str]()
        for step in steps:
            self._paths.add(step.path)
            if step.source is not None:
                self._paths.add(step.source)
                moved |= {f"{step.path}/", f"{step.source}/"}
        self._moved = tuple(moved)

    def __bool__(self) -> bool:
        return bool(self._paths)

    def __contains__(self, path: object) -> bool:
        return path in self._paths or (isinstance(path, str) and path.startswith(self._moved))


class PendingCalls:
    """The records of the calls of a workspace that are under way, or were killed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._idle: list[str] = []

    @contextlib.contextmanager
    def begin(self, others: Mapping[str, str], before: Callable[[], object]) -> Iterator[PendingSteps]:
        """A record for the steps of one call; it is kept if the call is to be taken back by a later start."""
        steps = PendingSteps(self._state, self._idle, others, before)
        try:
            yield steps
        finally:
            steps.close()

    def left(self) -> Iterator[tuple[KilledCall, str]]:
        """The calls that were killed, each with a name to `forget` or `keep` it by meanwhile."""
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
                yield call, name

    def under_way(self) -> list[PathChange]:
        """The steps of all calls that are no entries yet, also of other processes."""
        found = list[PathChange]()
        if os.path.isdir(os.path.join(self._state.path, _PENDING)):
            folder = self._state.folder(_PENDING)
            with reopen(folder) as listed:
                names = os.listdir(listed)
            for name in names:
                with (
                    contextlib.suppress(FileNotFoundError),
                    open(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder), "rb") as file,
                ):
                    lines = [line for line in file if line.endswith(b"\n")]
                    found += [restore_names(step) for line in lines if (step := _decode(line)) is not None]
        return found

    def find_holder(self) -> str:
        """A call that is changing the workspace now, for a sentence; empty if there is none."""
        if os.path.isdir(os.path.join(self._state.path, _PENDING)):
            folder = self._state.folder(_PENDING)
            with reopen(folder) as listed, os.scandir(listed) as found:
                for one in found:
                    with contextlib.suppress(FileNotFoundError):
                        process = one.name.rpartition("-")[2]
                        if one.stat().st_size and is_running(process):
                            return f"Another call (process {process})"
        return ""

    def forget(self, name: str) -> None:
        """Drop the record of a call that was killed, once it is dealt with."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._state.folder(_PENDING))

    def keep(self, name: str, call: KilledCall) -> None:
        """Keep only these steps in a record."""
        head = {_OTHERS: call.others, _ID: call.id}
        self._state.put(_PENDING, name, _lines([head, *map(store_names, call.steps)]))


class PendingSteps:
    """The steps of a call that is under way.

    The file is locked as long as the call lives, so that it is not taken for one that was killed. Afterwards it is
    empty and idle until another call needs one, unless a search for killed calls removes it.
    """

    def __init__(self, state: State, idle: list[str], others: Mapping[str, str], before: Callable[[], object]) -> None:
        self._state, self._folder = state, state.folder(_PENDING)
        self._idle = idle
        self._others = others
        self._before_first = before
        self._name = ""
        self._fd: int | None = None
        self.id = ""
        """Says in the log which steps an entry was made of; empty if there are none."""
        self.is_kept = False
        """Set if the steps could not be taken back: then a later start does that."""

    def about_to(self, *steps: PathChange) -> None:
        """Write down steps that are going to be taken."""
        with self._state.explaining():
            self._write(steps)

    def _write(self, steps: Iterable[PathChange]) -> None:
        lines: list[object] = [store_names(step) for step in steps]
        if self._fd is None:
            self._before_first()
            self._fd, self.id = self._opened(), os.urandom(8).hex()
            lines.insert(0, {_OTHERS: self._others, _ID: self.id})
        rest = memoryview(_lines(lines))
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
            if not self.is_kept:
                os.ftruncate(self._fd, 0)
                self._idle.append(self._name)
        finally:
            os.close(self._fd)
            self._fd = None

    @staticmethod
    @contextlib.contextmanager
    def left(folder: int, name: str) -> Iterator[KilledCall]:
        """What a killed call had begun, which is ours in the block; BlockingIOError if it lives."""
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            _lock_dead(fd, name)
            lines = [line for line in file if line.endswith(b"\n")]  # a step whose line has no end was not begun
            head: dict[str, Any] = {}
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, IndexError):
                head = msgspec.json.decode(lines[0], type=dict)
            steps = list(map(_decode, lines[1:] if _OTHERS in head else lines))
            known = [restore_names(step) for step in steps if step is not None]
            yield KilledCall(known, head.get(_OTHERS, {}), head.get(_ID, ""), len(steps) - len(known))


def _lines(values: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in values)


def _decode(line: bytes) -> PathChange | None:
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode(line, type=PathChange)
    return None


def _lock_dead(fd: int, name: str) -> None:
    """Lock the record of a call that does not live any more; BlockingIOError if it does.

    A process that was being started when its parent was killed holds the lock until it runs its program.
    """
    end = time.monotonic() + _LET_GO_S
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end or is_running(name.rpartition("-")[2]):
                raise
            time.sleep(0.01)


def is_running(process: str) -> bool:
    """Whether there is a process with this number, as far as can be told."""
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


def store_names(step: PathChange) -> PathChange:
    """A step with its names as they are on disk."""
    return _translate(step, _STORED)


def restore_names(step: PathChange) -> PathChange:
    """A step with its names as they are in memory."""
    return _translate(step, _NAMED)


def _translate(step: PathChange, table: Mapping[int, int]) -> PathChange:
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
