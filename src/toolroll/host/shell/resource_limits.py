"""Limits on what a command and its processes may use, and the monitor that enforces them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from toolroll.host.runtime import process_tree

if TYPE_CHECKING:
    from toolroll.host.runtime.process_tree import Process
    from toolroll.host.shell.process_group import CommandProcesses

_FIRST, _OFTEN, _SELDOM = 0.01, 0.02, 0.1  # seconds between two looks
_SLOW = 1.0  # where a look means to start a program
_BURST = 8  # so many new processes since the last look, and the next one comes soon
_AGAIN = 1.0  # seconds until an exact count of the memory is made again


class EndReason(StrEnum):
    """How a command came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    KILLED = "killed"
    MEMORY = "memory"
    PROCESSES = "processes"


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """What one command and all that it starts may take together; None is no bound."""

    seconds: float | None = None
    """None: until it is killed."""
    memory: int | None = 4 << 30
    """Bytes of memory of all its processes."""
    processes: int | None = 512
    cpu_seconds: int | None = None
    """Of work, for each process."""
    file_bytes: int | None = 8 << 30
    """The largest file that it may write."""


class LimitMonitor:
    """Checks a command's processes from time to time and reports when they use too much."""

    def __init__(self, bounds: ResourceLimits, family: CommandProcesses) -> None:
        self._bounds = bounds
        self._family = family
        self._limits = _limits(bounds)
        self._count = 1
        self._counted: tuple[float, float] = (0.0, 0.0)
        self._before = float("inf")  # bytes of memory in files, of all processes
        self.due = 0.0
        """When to look next, on the monotonic clock."""

    def begin(self, pid: int) -> None:
        """The first process runs: give it its limits, which all that it starts inherit."""
        # The limits before the mark: a marked process has them too, whichever process started it.
        self._limit(pid)
        self._family.begin(pid)
        self.due = time.monotonic() + _FIRST

    def look(self) -> EndReason | None:
        """What the command must be ended for, if anything."""
        most = self._bounds.processes
        alive = self._family.look(new=self._new, most=float("inf") if most is None else most)
        grown = len(alive) - self._count
        self._count = len(alive)
        pause = _OFTEN if grown > _BURST else _SELDOM
        self.due = time.monotonic() + (pause if process_tree.has_proc() else _SLOW)
        if self._family.many:
            return EndReason.PROCESSES
        if self._bounds.memory is not None and self._takes_more(list(alive.values()), self._bounds.memory):
            return EndReason.MEMORY
        return None

    def _new(self, process: Process) -> None:
        # A process started before the first one had its limits has inherited none.
        marks = self._family.marks
        if process.alive and process.pid != self._family.first and not marks.is_attached(process.pid):
            self._limit(process.pid)
            marks.attach(process.pid)

    def _takes_more(self, alive: list[Process], most: int) -> bool:
        """Whether they hold more memory: a quick sum first, which counts what they share for each of them."""
        if self._hoard(alive, most):
            return True
        quick = sum(one.rss for one in alive)
        at, then = self._counted
        if quick <= most or (quick < 1.05 * then and time.monotonic() < at + _AGAIN):
            return False
        self._counted = (time.monotonic(), quick)
        return sum(map(process_tree.proportional_memory, alive)) > most

    def _hoard(self, alive: list[Process], most: int) -> bool:
        """Whether they have put more into files that are nothing but memory."""
        now = process_tree.memory_in_files()
        self._before = min(self._before, now)
        if now - self._before <= most:
            return False
        files = {name: size for one in alive for name, size in process_tree.memory_in_nameless_files(one).items()}
        return sum(files.values()) > most

    def _limit(self, pid: int) -> None:
        try:
            from resource import RLIMIT_CPU, prlimit
        except ImportError:
            return  # no way to do it from outside on this system; the watch is all there is
        for which, most in self._limits:
            # One that is gone or not ours needs none; one with smaller limits of its own keeps them.
            with suppress(OSError, ValueError):
                hard = prlimit(pid, which)[1]
                soft = most if hard < 0 else min(most, hard)
                # A second more of work than the limit: the signal before the kill names the limit.
                prlimit(pid, which, (soft, soft + 1 if which == RLIMIT_CPU and soft != hard else soft))


def _limits(bounds: ResourceLimits) -> list[tuple[int, int]]:
    import resource

    # The last one is for a flood of processes that would be over before we look; the kernel knows none for a tree.
    wanted = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, bounds.cpu_seconds),
        (resource.RLIMIT_FSIZE, bounds.file_bytes),
        (resource.RLIMIT_NPROC, None if bounds.processes is None else _tasks() + 8 * bounds.processes),
    ]
    return [(which, most) for which, most in wanted if most is not None]


def _tasks() -> int:
    """Threads on this machine now: the kernel's limit counts all of a user's, wherever they run."""
    try:
        fd = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 1 << 20
    try:
        return int(os.read(fd, 256).split()[3].partition(b"/")[2])
    finally:
        os.close(fd)
