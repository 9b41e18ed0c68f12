"""Track every process a command starts, and kill them all.

A process that leaves its parent, its group and its session becomes a child of the nearest subreaper above it. While
commands run, this process is that subreaper. The flag belongs to the whole process, and so does `ProcessRegistry`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import cast

from toolroll.host.linux import IS_LINUX, run_before_others
from toolroll.host.runtime import process_marks, process_tree
from toolroll.host.runtime.process_marks import FoundMarks, ProcessMarks
from toolroll.host.runtime.process_tree import Process, ProcessView
from toolroll.host.shell.watchdog import Watchdog

_SUBREAPER, _IS_SUBREAPER = 36, 37  # of prctl
_FRESH = 0.1  # seconds for which a look at our own children serves every command
_PASSES = 10  # looks in a row that may each find a dead process
_LONGEST = 15.0  # seconds for the end of a command; only one that has started hundreds of processes takes so long
_AT_EXIT = 5.0  # and for that of all of them when the program ends


class CommandProcesses:
    """The processes of one command."""

    def __init__(self, registry: ProcessRegistry) -> None:
        self.marks = ProcessMarks(registry.name)
        self.born = process_tree.now_in_ticks() - 1
        self.first = 0
        self.known: dict[int, int] = {}  # the processes that were seen, by number: when each was started
        self.sessions: frozenset[int] = frozenset()
        """Sessions and groups of those alive; while one is in use, no other process can join it."""
        self.many = False  # the last look has found more than it was to
        self._registry = registry
        self._passed_on = False

    def begin(self, pid: int) -> None:
        """The first process runs. It must not be waited for before `end`: until then its number is not reused."""
        self.first = pid
        self.marks.attach(pid)
        self.sessions = frozenset((pid,))
        self.marks.unblock()

    def look(
        self,
        *,
        fresh: bool = False,
        new: Callable[[Process], None] | None = None,
        most: float = float("inf"),
    ) -> dict[int, Process]:
        """Those of the command that are alive, by number. Dead ones that became our children are waited for.

        `fresh`: also those of the last 0.1 s; `new` is called with each that was not seen before, as soon as it is.
        When they are more than `most`, no more are looked for: others could be started faster than that.
        """
        view = process_tree.view_processes()
        seen = [one for pid in (self.first, *self.known) if (one := view.get(pid)) is not None]
        roots = [one for one in seen if one.pid == self.first or one.started == self.known.get(one.pid)]
        known = self.known

        def each(one: Process) -> None:
            if new is not None and known.get(one.pid) != one.started:
                new(one)

        found = view.tree(chain(roots, self._registry.orphans(self, view, fresh=fresh)), each, most)
        self.many = sum(one.weight for one in found.values()) > most
        alive = {pid: one for pid, one in found.items() if one.alive}
        self.known = {pid: one.started for pid, one in alive.items()}
        self.sessions = frozenset(
            (self.first, *(number for one in alive.values() for number in (one.session, one.group)))
        )
        dead = [one for pid, one in found.items() if not one.alive and pid != self.first]
        for one in dead:
            if one.parent == os.getpid():
                _wait_for(one.pid)
        self._passed_on = bool(dead)
        return alive

    def end(self, *, over: bool = False, whole: bool = False) -> tuple[int, ...]:
        """Kill whatever is left of the command; when this returns, nothing of it runs.

        The numbers of those that could not be killed, because they are not ours to kill or the kernel holds them.
        `over`: the first one has ended. `whole`: all end with it, so that none can start another meanwhile.
        """
        try:
            return () if over and self._is_over(whole) else self._end(whole)
        except OSError:
            process_tree.kill_group(self.first)  # no descriptor is left to look around with, but this much can be done
            raise

    def _is_over(self, whole: bool) -> bool:
        """Whether no process is left of a command whose first process has ended."""
        left = self._relatives()
        if left and whole:  # they die with the first one, and need no signal
            ended = [_has_ended(one) for one in left]
            left = [] if all(ended) else self._relatives()
        return not left

    def _relatives(self) -> list[Process]:
        """Those that were seen and are still there, and the strays: whatever a dead one had is one of these."""
        view = process_tree.view_processes()
        others = [(pid, started) for pid, started in self.known.items() if pid != self.first]
        seen = [one for pid, started in others if (one := view.get(pid)) is not None and one.started == started]
        return [*seen, *self._registry.orphans(self, view, fresh=True)]

    def _end(self, whole: bool) -> tuple[int, ...]:
        denied: dict[int, int] = {}
        until = time.monotonic() + _LONGEST
        if self.many:
            _go_first()
        if whole:
            process_tree.kill_group(self.first)  # before the first look, which takes long where there are many
        left = self._find_left(denied, whole)
        if left and not whole:
            process_tree.kill_group(self.first)
        while left and time.monotonic() < until:
            if not whole:
                self._freeze(left, denied, until)
            for one in left.values():
                _send(one, signal.SIGKILL, denied)
            process_tree.wait_a_moment(next(iter(left.values())))
            left = self._find_left(denied, whole)
        return (*denied, *left)

    def _find_left(self, denied: dict[int, int], whole: bool) -> dict[int, Process]:
        """Those that are alive and that we may kill. None means none, not even one that changed hands meanwhile.

        A process not seen before is stopped when it is found, unless `whole`: else it might start more meanwhile.
        """

        def stop(one: Process) -> None:
            if one.alive and not whole:
                _send(one, signal.SIGSTOP, denied)

        for _ in range(_PASSES):
            alive = self.look(fresh=True, new=stop)
            if alive or not self._passed_on:
                break
            # What a dead one had was given to us, perhaps after we had looked at what we have.
        return {pid: one for pid, one in alive.items() if denied.get(pid) != one.started}

    def _freeze(self, left: dict[int, Process], denied: dict[int, int], until: float) -> None:
        """Stop all of them before the first is killed: one that runs could see that, and start another."""
        stopped: dict[int, int] = {}
        while (
            new := [one for pid, one in left.items() if stopped.get(pid) != one.started]
        ) and time.monotonic() < until:
            for one in new:
                stopped[one.pid] = one.started
                _send(one, signal.SIGSTOP, denied)
            left |= self._find_left(denied, whole=False)


class ProcessRegistry:
    """The commands that run now. There is one for the process: see `process_registry`."""

    def __init__(self) -> None:
        self.name = os.urandom(8).hex()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._lifeline: Watchdog | None = None
        self._rests = False
        self._families: dict[CommandProcesses, Callable[[], None]] = {}
        self._seen: tuple[float, list[int]] = (0.0, [])
        self._adopts = False
        self._raised = False
        self._registered = False

    def enter(self, stop: Callable[[], None]) -> CommandProcesses:
        """A new command is about to start in the calling thread, which is for it alone.

        `stop` asks for its end when the program itself comes to its own.
        """
        with self._lock:
            if not self._registered:
                import atexit

                atexit.register(self._at_exit)
                self._registered = True
            self._rests = False
            if self._lifeline is None:
                self._lifeline = Watchdog(self.name)
            if not self._families:
                self._adopts, self._raised = _become_subreaper()
            family = CommandProcesses(self)
            family.marks.block(one.marks for one in self._families)
            self._families[family] = stop
            return family

    def leave(self, family: CommandProcesses) -> None:
        with self._lock:
            del self._families[family]
            if not self._families and self._raised:
                _prctl()(_SUBREAPER, 0, 0, 0, 0)
            self._let_go()

    def rest(self) -> None:
        """No more commands are expected for now: let go what is kept for them, when the last has ended."""
        with self._lock:
            self._rests = True
            self._let_go()

    def _let_go(self) -> None:
        if self._rests and not self._families and self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None

    def orphans(self, family: CommandProcesses, view: ProcessView, *, fresh: bool) -> Iterator[Process]:
        """Children of ours that are of this command: their parents are gone. The program's own are none of them."""
        with self._lock:
            families = list(self._families)
            lifeline = 0 if self._lifeline is None else self._lifeline.pid
        oldest = min((one.born for one in families), default=0)
        none = {lifeline, *(one.first for one in families), *family.known}
        session = os.getsid(0)
        for pid in self._candidates(view, fresh):
            if pid in none or (one := view.get(pid)) is None:
                continue
            # None of our commands is in our session, and none is older than itself.
            if one.session != session and one.started >= oldest and _owner(one, families, view) is family:
                yield one

    def _candidates(self, view: ProcessView, fresh: bool) -> list[int]:
        """Our children; all processes where orphans do not become our children."""
        if not fresh:
            at, seen = self._seen
            if time.monotonic() - at < _FRESH:
                return seen
        if self._adopts:
            # Orphans are given to the first thread of ours that lives, and that is the main one unless it has ended.
            main = threading.main_thread()
            first = int(main.is_alive() and main.native_id == self._pid)
            # Twice, because the kernel may leave one out while another ends.
            seen = list({*view.children(self._pid, first), *view.children(self._pid, first)})
        else:
            seen = [one.pid for one in view.everybody()]
        self._seen = (time.monotonic(), seen)
        return seen

    def _at_exit(self) -> None:
        if os.getpid() == self._pid:  # not in a copy of the program that was forked
            for stop in list(self._families.values()):
                stop()
            until = time.monotonic() + _AT_EXIT
            while self._families and time.monotonic() < until:
                time.sleep(0.002)
            self.rest()


_registries: dict[int, ProcessRegistry] = {}


def process_registry() -> ProcessRegistry:
    """The registry of this process; a forked copy has its own."""
    return _registries.get(os.getpid()) or _registries.setdefault(os.getpid(), ProcessRegistry())


def _owner(one: Process, families: list[CommandProcesses], view: ProcessView) -> CommandProcesses | None:
    """The command that an orphaned process belongs to; the cheap signs first."""
    limit = process_marks.limit_of(one.pid)
    for family in families:
        known = family.known.get(one.pid) == one.started
        if known or (limit or 0) == family.marks.limit != 0 or family.sessions & {one.session, one.group}:
            return family
    seen = process_marks.look(one.pid)
    for family in families:
        if family.marks.on(seen):
            return family
    if one.parent != os.getpid():
        return None  # where orphans do not come to us, others have theirs too
    might = [family for family in families if family.born <= one.started]
    # It belongs to some command: the last of those that ran when it was started.
    ours = process_marks.is_likely_command(limit) or (_confined(seen) and (limit is not None or _is_daemon(one, view)))
    return might[0] if len(might) == 1 and ours else None


def _confined(seen: FoundMarks) -> bool:
    return not seen.privileged and seen.filters > process_marks.look(os.getpid()).filters


def _is_daemon(one: Process, view: ProcessView) -> bool:
    """Whether it has lost its session. One that has it may be a language server, which is ours, but no command."""
    leader = view.get(one.session)
    return leader is None or not leader.alive


def _become_subreaper() -> tuple[bool, bool]:
    """Whether we are one now, and whether we were none before."""
    import ctypes

    before = ctypes.c_int(0)
    if _prctl()(_IS_SUBREAPER, ctypes.byref(before), 0, 0, 0) == 0 and before.value:
        return True, False
    raised = _prctl()(_SUBREAPER, 1, 0, 0, 0) == 0
    return raised, raised


@cache
def _prctl() -> Callable[..., int]:
    """The system call; one that fails where there is none."""
    if not IS_LINUX:
        return lambda *_: -1
    import ctypes

    return cast("Callable[..., int]", ctypes.PyDLL(None).prctl)


def _send(one: Process, number: signal.Signals, denied: dict[int, int]) -> None:
    try:
        process_tree.send(one, number)
    except PermissionError:
        denied[one.pid] = one.started


def _wait_for(pid: int) -> None:
    with suppress(ChildProcessError):  # a program that ignores SIGCHLD has no dead children
        os.waitpid(pid, os.WNOHANG)


def _has_ended(one: Process) -> bool:
    """Whether a child of ours has ended within a moment; it has been waited for then."""
    if one.parent != os.getpid():
        return False
    process_tree.wait_a_moment(one)
    try:
        return os.waitpid(one.pid, os.WNOHANG)[0] == one.pid
    except ChildProcessError:  # a program that ignores SIGCHLD has no dead children
        return True


def _go_first() -> None:
    """Let the calling thread run before others: a flood of processes leaves no time to the one that stops them."""
    with suppress(OSError):  # not ours to do, and then the kernel bounds how many there are
        run_before_others()
