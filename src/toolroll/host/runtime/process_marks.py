"""Inherited marks that tie a process to its command.

All are inherited by what a process starts. The tag is in the environment, which a command may empty. A limit of the
real-time scheduler, so large that it limits nothing, cannot be taken off, only be made smaller; but it can be set only
when the first process runs, which may have started others by then. Unused signals are blocked in the thread
that starts the command, and so in all of its processes from the beginning, until one of them unblocks them.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the C module behind `signal` has no stubs
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple, cast

from toolroll.host.linux import fail

TAG = "TOOLROLL_RUN"
_LIMIT = 15  # RLIMIT_RTTIME
_MOST, _LEAST = 1 << 60, 1 << 40  # of marks
_SIGNALS = range(46, 62)  # of the real-time ones; programs that use any take the first or the last
ALL_SIGNALS = (1 << len(_SIGNALS)) - 1
"""What a thread blocks for a moment while it starts another, so that no mark is seen in it."""


class FoundMarks(NamedTuple):
    """The marks of a process, and what holds it."""

    tags: tuple[bytes, ...] = ()
    signals: int = 0
    privileged: bool = True  # whether it may get more rights than it has
    filters: int = 0  # how many filters of system calls it is under


class ProcessMarks:
    """The marks of one command. They are put upon a thread by `block`, which then starts the command."""

    def __init__(self, name: str = "") -> None:
        """`name` identifies the process that runs the command, and is a part of the tag."""
        self.tag = f"{name}.{os.urandom(8).hex()}"
        self.limit = _new_limit()
        self.signals = 0

    def block(self, others: Iterable[ProcessMarks]) -> None:
        """Let what the calling thread starts carry signals that no other command's processes carry."""
        if not hasattr(signal, "SIGRTMIN"):
            return
        before = _mask(signal.SIG_UNBLOCK, _SIGNALS)
        taken = {0, ALL_SIGNALS, _bits(before), *(other.signals for other in others)}
        while self.signals in taken:
            self.signals = _random(2)
        _mask(signal.SIG_BLOCK, [one for at, one in enumerate(_SIGNALS) if self.signals >> at & 1])

    def unblock(self) -> None:
        """Whatever the calling thread starts from now on is not of the command."""
        if self.signals:
            _mask(signal.SIG_UNBLOCK, _SIGNALS)

    def attach(self, pid: int) -> None:
        """Put the limit on a process for all that it will start, where that can be done: there are other marks."""
        with suppress(OSError, ValueError):
            if self.limit:
                _limit(pid, (self.limit, self.limit))

    def is_attached(self, pid: int) -> bool:
        """Whether a process has the limit, from `attach` or from the one that started it."""
        try:
            return _limit(pid)[1] == self.limit != 0
        except OSError:
            return False  # no such call here, or the process is gone or not ours

    def on(self, seen: FoundMarks) -> bool:
        return seen.signals == self.signals != 0 or self.tag.encode() in seen.tags


def _limit(pid: int, *limits: tuple[int, int]) -> tuple[int, int]:
    """The limit of a process that marks it, set if one is given."""
    import resource

    call: Callable[..., tuple[int, int]] = getattr(resource, "prlimit", fail)
    return call(pid, _LIMIT, *limits)


def limit_of(pid: int) -> int | None:
    """The limit of a command of ours, or a smaller one that it may have set in its place; None if there is none."""
    try:
        hard, most = _limit(pid)[1], _most()
    except OSError:
        return None
    return hard if 0 <= hard < most else None


def is_likely_command(limit: int | None) -> bool:
    """Whether only a command of ours would have such a limit."""
    return limit is not None and limit >= _LEAST


def look(pid: int) -> FoundMarks:
    """The marks of a process; nothing where there is no /proc, or it is gone."""
    try:
        status = dict(line.split(b":", 1) for line in _content(pid, "status").splitlines() if b":" in line)
    except OSError:
        return FoundMarks()
    try:
        variables = _content(pid, "environ").split(b"\0")
    except OSError:
        variables = []  # another user's
    name = TAG.encode() + b"="
    return FoundMarks(
        tuple(one.removeprefix(name) for one in variables if one.startswith(name)),
        (int(status.get(b"SigBlk", b"0"), 16) >> (_SIGNALS.start - 1)) & ALL_SIGNALS,
        int(status.get(b"NoNewPrivs", 0)) == 0,
        int(status.get(b"Seccomp_filters", 0)),
    )


def _content(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()


def _new_limit() -> int:
    """A number below our own limit that no other command has; 0 if we cannot set any."""
    try:
        limit = _most() - 1 - _random(4)
    except (ImportError, OSError, ValueError):
        return 0
    return limit if limit >= _LEAST else 0


def _most() -> int:
    """Our own limit: marks are below it, also those of commands that run us."""
    import resource

    ours = resource.getrlimit(_LIMIT)[1]
    return _MOST if ours < 0 else min(ours, _MOST)


def _mask(how: int, signals: Iterable[int]) -> set[int]:
    """Change which signals the calling thread blocks; return those that it blocked before, as plain numbers.

    `signal.pthread_sigmask` looks up the name of each of them, which takes longer than to start a thread.
    """
    return cast("set[int]", _signal.pthread_sigmask(how, signals))


def _bits(signals: Iterable[int]) -> int:
    return sum(1 << (one - _SIGNALS.start) for one in signals if one in _SIGNALS)


def _random(size: int) -> int:
    return int.from_bytes(os.urandom(size), "big")
