"""Supervise commands: a thread for each starts it, takes its output, limits it, and kills all that it started."""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from toolroll.host.runtime import process_tree
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken, PersonClock
from toolroll.host.runtime.launcher import AccessRules, ChildProcess, Sandbox, wait_for
from toolroll.host.runtime.process_marks import TAG
from toolroll.host.runtime.processes import exit_status, set_limit
from toolroll.host.shell.output import CapturedOutput, Pipes, open_terminal
from toolroll.host.shell.process_group import CommandProcesses, process_registry

if TYPE_CHECKING:
    from toolroll.host.files.spill import Spill
    from toolroll.host.runtime.process_tree import Process

_FIRST, _OFTEN, _SELDOM = 0.01, 0.02, 0.1  # seconds between two looks
_SLOW = 1.0  # where a look means to start a program
_BURST = 8  # so many new processes since the last look, and the next one comes soon
_AGAIN = 1.0  # seconds until an exact count of the memory is made again
_GRACE = 0.3  # seconds for those that still hold the pipe when the command itself has ended


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

    seconds: float | None = None  # None: until it is killed; without those of `clock`
    memory: int | None = 4 << 30  # bytes of memory of all its processes
    processes: int | None = 512
    cpu_seconds: int | None = None  # of work, for each process
    file_bytes: int | None = 8 << 30  # the largest file that it may write
    clock: PersonClock | None = None


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended."""

    outcome: EndReason
    status: int | None  # the exit code, or the signal as a negative number; None if the status was collected elsewhere
    seconds: float
    left: tuple[int, ...] = ()
    """Processes of it that could not be killed: they are another user's, or the kernel holds them."""


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be run, and how."""

    argv: Sequence[str]
    sandbox: Sandbox
    access: AccessRules
    cwd: int
    env: Mapping[str, str]
    bounds: ResourceLimits
    pass_fds: Sequence[int]
    after: Callable[[], None] | None


class RunningCommand:
    """A command that was started. As a context manager it is over when the block is."""

    def __init__(self, order: _Order, output: CapturedOutput, errors: CapturedOutput | None, pump: Pipes) -> None:
        self.output = output
        self.errors = errors  # None when both come in one stream, `output`, in the order in which they were written
        self.ended: CommandEnd | None = None
        self.pid = 0
        self.started = time.monotonic()
        self._order = order
        self._pump = pump
        self._wanted: EndReason | None = None
        self._failure: BaseException | None = None
        self._done = threading.Event()
        self._begun = threading.Event()

    def __enter__(self) -> RunningCommand:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def over(self) -> bool:
        """Whether nothing of it runs any more; without `ended` then, something has failed."""
        return self._done.is_set()

    def wait(
        self, seconds: float | None = None, token: CancelToken | None = None, *, kill: bool = True
    ) -> CommandEnd | None:
        """How it ended, or None if it still runs after so many seconds.

        A cancelled token kills it, or with `kill=False` only ends the wait.
        """
        until = float("inf") if seconds is None else time.monotonic() + seconds
        while not self._done.is_set():
            left = until - time.monotonic()
            if left <= 0:
                return None
            if token is not None and (token.cancelled or token.remaining() <= 0):
                if not kill:
                    return None
                return self.kill(EndReason.CANCELLED if token.cancelled else EndReason.TIMED_OUT)
            self._done.wait(min(left, threading.TIMEOUT_MAX if token is None else POLL_SECONDS))
        if self._failure is not None:
            raise self._failure
        return self.ended

    def write(self, data: bytes) -> None:
        """Give it something to read on stdin; ToolError if it has no input or does not read it."""
        self._pump.feed(data)

    def close_input(self) -> None:
        self._pump.close_input()

    @property
    def terminal(self) -> bool:
        """Whether it runs in a terminal."""
        return bool(self._order.access.terminal)

    def resize(self, columns: int, rows: int) -> None:
        """Give its terminal another size."""
        self._pump.resize(columns, rows)

    def kill(self, outcome: EndReason = EndReason.KILLED) -> CommandEnd:
        """End it and all that it started; how it ended, which may be by itself just before."""
        self.ask(outcome)
        self.settle()
        if self._failure is not None:
            raise self._failure
        assert self.ended is not None
        return self.ended

    def settle(self) -> None:
        self._done.wait()

    def ask(self, outcome: EndReason = EndReason.KILLED) -> None:
        if self._wanted is None:
            self._wanted = outcome
        self._pump.ring()

    def _begin(self) -> None:
        """Start it; the error if it cannot be started."""
        try:
            # A Thread would wait for its own start before it lets us wait for that of the command.
            _thread.start_new_thread(self._supervise, ())
        except RuntimeError:
            self._pump.close()
            raise
        self._begun.wait()
        if self.pid == 0 and self._failure is not None:
            raise self._failure

    def _supervise(self) -> None:
        try:
            self._live()
        except BaseException as error:  # raised again in the thread that waits
            self._failure = error
        finally:
            try:
                self._pump.close()
                self.output.finish()
                if self.errors is not None:
                    self.errors.finish()
            finally:  # or a waiting thread would never return
                self._begun.set()
                self._done.set()

    def _live(self) -> None:
        """The whole life of the command, in its thread, which the sandbox binds its life to."""
        order = self._order
        family = process_registry().enter(self.ask)
        watch, outcome, ended = LimitMonitor(order.bounds, family), EndReason.KILLED, None
        kills = _count_memory_kills(order.access.cgroup)
        try:
            stdin, stdout, stderr = self._pump.child
            process = order.sandbox.spawn(
                order.access,
                order.argv,
                cwd=order.cwd,
                env={**order.env, TAG: family.marks.tag},
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=order.pass_fds,
            )
            try:
                watch.begin(process.pid)
                self.started = time.monotonic()
                self.pid = process.pid
                self._pump.watch(process.pid)
                self._begun.set()
                outcome = self._pass(process, watch)
            finally:
                try:
                    left = family.end(over=outcome is EndReason.EXITED, whole=order.sandbox.whole)
                finally:
                    status = _wait(process)
                    self._pump.drain()
            if outcome is EndReason.EXITED and status and _count_memory_kills(order.access.cgroup) > kills:
                outcome = EndReason.MEMORY
            ended = CommandEnd(outcome, status, time.monotonic() - self.started, left)
        finally:
            process_registry().leave(family)
            if order.after is not None:
                order.after()
        self.ended = ended

    def _pass(self, process: ChildProcess, watch: LimitMonitor) -> EndReason:
        """Let it run until it has ended by itself or must be ended; why it is over."""
        bounds, pump = self._order.bounds, self._pump
        first = float("inf") if bounds.seconds is None else self.started + bounds.seconds
        over = float("inf")
        while True:
            now = time.monotonic()
            deadline = first + bounds.clock.seconds() if bounds.clock is not None else first
            must = self._wanted or (EndReason.TIMED_OUT if now >= deadline else None)
            if over < float("inf") and (must or pump.drained or now >= over):
                return EndReason.EXITED
            if must:
                return must
            if now >= watch.due and (found := watch.look()) is not None:
                return found
            if pump.turn(min(deadline, watch.due, over) - now) and _has_ended(process):
                pump.forget_process()
                over = time.monotonic() + _GRACE


def start(
    argv: Sequence[str],
    *,
    sandbox: Sandbox,
    access: AccessRules,
    cwd: int,
    env: Mapping[str, str],
    bounds: ResourceLimits,
    spill: Spill,
    merge: bool = True,
    input: bool = False,
    on_output: Callable[[bytes], None] | None = None,
    pass_fds: Sequence[int] = (),
    after: Callable[[], None] | None = None,
    stdin: int | None = None,
    kept_bytes: int | None = None,
    terminal: bool = False,
) -> RunningCommand:
    """Run a program in the folder `cwd`, a descriptor; it has been started when this returns, else ToolError.

    Whatever it leaves running when it ends is killed. `merge`: stdout and stderr are one stream. It reads nothing
    unless `input` says that there will be something, or `stdin` is a file to read. The first `kept_bytes` of each
    stream are kept, in memory; without a number both ends are, and the rest in a file. `terminal`: it gets one in
    place of pipes. `on_output` gets the newest
    bytes, some times a second, and `after` is called when everything has ended, before `wait` returns; both in the
    command's own thread.
    """
    output, errors = _capture(spill, kept_bytes), None if merge or terminal else _capture(spill, kept_bytes)
    outputs = [output] if errors is None else [output, errors]
    ends = open_terminal() if terminal else None
    if ends is not None:
        access = replace(access, terminal=os.ttyname(ends[1]))
    pump = Pipes(outputs, takes_input=input, on_output=on_output, stdin=stdin, terminal=ends)
    order = _Order(argv, sandbox, access, cwd, env, bounds, pass_fds, after)
    running = RunningCommand(order, output, errors, pump)
    try:
        running._begin()
    except BaseException:  # it may run already when an interrupt comes
        running.ask()
        raise
    return running


def _capture(spill: Spill, kept_bytes: int | None) -> CapturedOutput:
    return CapturedOutput(spill) if kept_bytes is None else CapturedOutput(None, head=kept_bytes, tail=0)


def _has_ended(process: ChildProcess) -> bool:
    """Whether it has ended; it stays a zombie, so that its number is not reused while we look for its children."""
    try:
        return exit_status(process) is not None
    except ChildProcessError:
        return True


def _wait(process: ChildProcess) -> int | None:
    """Its status, now that it is dead; None if it cannot be known."""
    try:
        exit_status(process)
    except ChildProcessError:  # the program waits for all children, or ignores them
        process.returncode = 0
        return None
    return wait_for(process, 1)


def _count_memory_kills(cgroup: str) -> int:
    """How many processes of a control group the kernel has killed for their memory."""
    if not cgroup:
        return 0
    with suppress(OSError), open(f"{cgroup}/memory.events", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
    return 0


class LimitMonitor:
    """Checks a command's processes from time to time and reports when they use too much."""

    def __init__(self, bounds: ResourceLimits, family: CommandProcesses) -> None:
        self._bounds = bounds
        self._family = family
        self._limits = _limits(bounds)
        self._count = 1
        self._counted: tuple[float, float] = (0.0, 0.0)
        self._before = float("inf")  # bytes of memory in files, of all processes
        self.due = 0.0  # when to look next, on the monotonic clock

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
        from resource import RLIMIT_CPU

        for which, most in self._limits:
            # One that is gone or not ours needs none; one with smaller limits of its own keeps them. Where a system
            # has no way to do it from outside, the watch is all there is.
            with suppress(OSError, ValueError):
                hard = set_limit(pid, which)[1]
                soft = most if hard < 0 else min(most, hard)
                # A second more of work than the limit: the signal before the kill names the limit.
                set_limit(pid, which, (soft, soft + 1 if which == RLIMIT_CPU and soft != hard else soft))


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
