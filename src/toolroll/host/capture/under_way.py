"""Records of commands under way, which outlive a kill: the next start finds who was writing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from toolroll.host.runtime.state import State
from toolroll.text.files.changes import Change, describe_changes

if TYPE_CHECKING:
    from toolroll.host.capture.capture import Capture
    from toolroll.host.runtime.call import Call

FOLDER = "capture"
_OPEN = "open-"  # begins the names of the records


class WriterRecord(msgspec.Struct):
    """Who is writing to the workspace."""

    tool: str
    session: str
    message: str
    title: str
    baseline: str = "baseline"
    """The file of the baseline that its kit has saved last."""


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """A record on disk, locked as long as its process lives."""

    name: str
    fd: int


def hold_record(state: State, record: WriterRecord) -> HeldRecord:
    """Write a record down before the command starts."""
    import fcntl

    name = f"{_OPEN}{time.time_ns():020}-{os.urandom(4).hex()}"
    with state.explaining():
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=state.folder(FOLDER))
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(fd, msgspec.json.encode(record))
        except BaseException:
            os.unlink(name, dir_fd=state.folder(FOLDER))
            os.close(fd)
            raise
    return HeldRecord(name, fd)


def drop_record(state: State, held: HeldRecord) -> None:
    """Remove a record: what its command did has been written to the journal."""
    with suppress(OSError):
        os.unlink(held.name, dir_fd=state.folder(FOLDER))
    os.close(held.fd)


def left_records(state: State) -> Iterator[WriterRecord | None]:
    """The records of processes that were killed, None for a damaged one; each is removed before the next one."""
    import fcntl

    for path in _record_paths(state):
        with suppress(OSError), open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                record = msgspec.json.decode(file.read(), type=WriterRecord)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                record = None
            yield record
            os.unlink(path)


def has_records(state: State) -> bool:
    """Whether there are any records, also of processes that live."""
    return bool(_record_paths(state))


def _record_paths(state: State) -> list[str]:
    folder = os.path.join(state.path, FOLDER)
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(_OPEN))
    except OSError:
        return []


@dataclass(slots=True, eq=False)
class Writer:
    """A command, or another process, that may write to the workspace."""

    tool: str
    session: str
    message: str
    title: str
    changes: list[Change] = field(default_factory=list)
    """What it has changed so far."""
    note: str = ""
    """What could not be captured."""
    unknown: str = ""
    """Why its changes are not known."""
    record: HeldRecord | None = None
    is_job: bool = False

    def lines(self) -> list[str]:
        """What is to be said about it."""
        return [one for one in (describe_changes(self.changes), self.note) if one]

    def report(self, call: Call) -> None:
        """Give the call what its command has changed."""
        call.changes += self.changes
        call.notes += [self.note] if self.note else []


class CaptureWatch:
    """The capture of one command: begun before it starts, ended when nothing of it runs any more."""

    def __init__(self, capture: Capture, call: Call, title: str) -> None:
        self._capture, self._call, self._title = capture, call, title
        self._writer: Writer | None = None

    def begin(self) -> Writer:
        self._writer = self._capture.begin(self._call, self._title)
        return self._writer

    def end(self) -> None:
        if self._writer is not None:
            self._capture.end(self._writer)
