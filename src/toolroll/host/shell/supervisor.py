"""Supervise commands: a thread for each starts it, takes its output, bounds it, and kills all that it started."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.runtime.cancellation import POLL_SECONDS
from toolroll.host.runtime.launcher import wait_for
from toolroll.host.shell.output import CapturedOutput, Pipes
from toolroll.host.shell.process_group import process_registry
from toolroll.host.shell.process_marks import TAG
from toolroll.host.shell.resource_limits import EndReason, LimitMonitor, ResourceLimits

if TYPE_CHECKING:
    from toolroll.host.files.spill import Spill
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import AccessRules, ChildProcess, Sandbox


__all__ = ["CommandEnd", "EndReason", "ResourceLimits", "RunningCommand", "start"]

_GRACE = 0.3  # seconds for those that still hold the pipe when the command itself has ended


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended."""

    outcome: EndReason
    status: int | None
    """The exit code, or the signal as a negative number; None if the status was collected elsewhere."""
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
        self.errors = errors
        """None when both come in one stream, `output`, in the order in which they were written."""
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
            ended = CommandEnd(outcome, status, time.monotonic() - self.started, left)
        finally:
            process_registry().leave(family)
            if order.after is not None:
                order.after()
        self.ended = ended

    def _pass(self, process: ChildProcess, watch: LimitMonitor) -> EndReason:
        """Let it run until it has ended by itself or must be ended; why it is over."""
        bounds, pump = self._order.bounds, self._pump
        deadline = float("inf") if bounds.seconds is None else self.started + bounds.seconds
        over = float("inf")
        while True:
            now = time.monotonic()
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
) -> RunningCommand:
    """Run a program in the folder `cwd`, a descriptor; it has been started when this returns, else ToolError.

    Whatever it leaves running when it ends is killed. `merge`: stdout and stderr are one stream. It reads nothing
    unless `input` says that there will be something. `on_output` gets the newest bytes, some times a second, and
    `after` is called when everything has ended, before `wait` returns; both in the command's own thread.
    """
    output, errors = CapturedOutput(spill), None if merge else CapturedOutput(spill)
    pump = Pipes([output] if errors is None else [output, errors], takes_input=input, on_output=on_output)
    order = _Order(argv, sandbox, access, cwd, env, bounds, pass_fds, after)
    running = RunningCommand(order, output, errors, pump)
    try:
        running._begin()
    except BaseException:  # it may run already when an interrupt comes
        running.ask()
        raise
    return running


def _has_ended(process: ChildProcess) -> bool:
    """Whether it has ended; it stays a zombie, so that its number is not reused while we look for its children."""
    if sys.platform == "darwin":
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _wait(process: ChildProcess) -> int | None:
    """Its status, now that it is dead; None if it cannot be known."""
    if sys.platform != "darwin":
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # the program waits for all children, or ignores them
            process.returncode = 0
            return None
    return wait_for(process, 1)
