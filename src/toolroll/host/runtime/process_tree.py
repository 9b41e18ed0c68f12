"""The processes of this machine as a tree: from /proc on Linux, from `ps` elsewhere."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from toolroll.host.linux import pidfd_open, send_signal
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import DEVNULL, PIPE, start_process
from toolroll.result import ToolError

_UNSEEN = (FileNotFoundError, ProcessLookupError, PermissionError)  # the last where other users' are hidden
_NO_PROCESS = (errno.ESRCH, errno.EINVAL, errno.ENOENT)  # the last two when its number is that of a thread now
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ASK_PS = ("/bin/ps", "-A", "-o", "pid=,ppid=,pgid=,rss=,state=,lstart=")


class Process(NamedTuple):
    """One process as it was when looked at. Its number alone may be another's a moment later."""

    pid: int
    parent: int
    group: int
    session: int
    started: int  # with `pid`, who it is. On Linux the clock ticks from the start of the machine
    rss: int
    threads: int
    state: str

    @property
    def alive(self) -> bool:
        """Whether it still runs. One whose first thread alone has ended looks dead, and is not."""
        return self.state not in "ZX" or self.threads > 1

    @property
    def weight(self) -> float:
        """Its share of a process limit: a zombie still has a number."""
        return 1 if self.alive else 1 / 8


class ProcessView(ABC):
    """A view of the processes. They may have changed since."""

    @abstractmethod
    def get(self, pid: int) -> Process | None:
        """The process with this number, zombies included; None if there is none."""

    @abstractmethod
    def children(self, pid: int, threads: int = 0) -> list[int]:
        """The numbers of its children, dead ones included. `threads`: how many it has, if that is known."""

    @abstractmethod
    def everybody(self) -> Iterable[Process]:
        """All that can be seen."""

    def tree(
        self, roots: Iterable[Process], each: Callable[[Process], None] | None = None, most: float = float("inf")
    ) -> dict[int, Process]:
        """These processes and everything below them, by number, until they count more than `most`.

        `each` is called with one as soon as it is found, before its children are looked for.
        """
        found: dict[int, Process] = {}
        count = 0.0
        for one in self._down(roots, found):
            found[one.pid] = one
            count += one.weight
            if each is not None:
                each(one)
            if count > most:
                break
        return found

    def _down(self, roots: Iterable[Process], found: Container[int]) -> Iterator[Process]:
        """The processes and those below them, each looked up when it is asked for, without those that are found."""
        for root in roots:
            numbers: list[int] = []
            one: Process | None = root
            while one is not None or numbers:
                if one is not None and one.pid not in found:
                    yield one
                    if one.alive:  # a dead one has no children
                        numbers += self.children(one.pid, one.threads)
                pid = numbers.pop() if numbers else 0
                one = self.get(pid) if pid and pid not in found else None


class LiveProcesses(ProcessView):
    """Looks each process up on demand. Needs a kernel that lists the children of a process.

    It may leave one out while others end, so that who must have all looks more than once.
    """

    def get(self, pid: int) -> Process | None:
        return _from_proc(pid)

    def children(self, pid: int, threads: int = 0) -> list[int]:
        try:
            tasks = [str(pid)] if threads == 1 else os.listdir(f"/proc/{pid}/task")
        except _UNSEEN:
            return []
        found: list[int] = []
        for task in tasks:
            with suppress(*_UNSEEN):
                found += map(int, _content(f"/proc/{pid}/task/{task}/children").split())
        return found

    def everybody(self) -> Iterable[Process]:
        found = (_from_proc(int(name)) for name in os.listdir("/proc") if name.isdigit())
        return (one for one in found if one is not None)


class ProcessSnapshot(ProcessView):
    """All processes as they were at one moment."""

    def __init__(self, processes: Iterable[Process]) -> None:
        self._all = {one.pid: one for one in processes}
        self._below: dict[int, list[int]] = {}
        for one in self._all.values():
            self._below.setdefault(one.parent, []).append(one.pid)

    def get(self, pid: int) -> Process | None:
        return self._all.get(pid)

    def children(self, pid: int, threads: int = 0) -> list[int]:  # noqa: ARG002
        return self._below.get(pid, [])

    def everybody(self) -> Iterable[Process]:
        return self._all.values()


def view_processes() -> ProcessView:
    """The processes that run now, read in the best way of this system."""
    if not has_proc():
        return ProcessSnapshot(_from_ps())
    return LiveProcesses() if _tells_children() else ProcessSnapshot(LiveProcesses().everybody())


@cache
def has_proc() -> bool:
    """Whether /proc shows the same process numbers as ours, so that a look is cheap."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def send(process: Process, number: signal.Signals) -> bool:
    """Signal this very process, never another that has got its number; False if it is gone.

    PermissionError if it belongs to another user.
    """
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(process.pid, number)
            return True
        fd = pidfd_open(process.pid)
    except OSError as error:
        if error.errno in _NO_PROCESS:
            return False
        raise
    try:
        now = _from_proc(process.pid)
        if now is None or now.started != process.started:
            return False
        send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def kill_group(pid: int) -> None:
    """Kill a process and all that are in its group."""
    with suppress(ProcessLookupError, PermissionError):  # macOS denies it for a group of zombies
        if pid:  # else the group would be our own
            os.killpg(pid, signal.SIGKILL)


def wait_a_moment(one: Process) -> None:
    """Wait until it has ended, or for a moment."""
    try:
        fd = pidfd_open(one.pid)
    except ProcessLookupError:
        return
    except OSError:
        time.sleep(0.001)
        return
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.poll(20)
    finally:
        os.close(fd)


def proportional_memory(process: Process) -> int:
    """Its proportional memory (PSS): exact, and slow for a large process."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # gone, or not ours to look into
    return process.rss


def memory_in_files() -> int:
    """Bytes of memory in files on no disk (tmpfs, memfd); 0 where the system does not report it."""
    try:
        lines = _content("/proc/meminfo").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Shmem:")), 0)


def memory_in_nameless_files(process: Process) -> dict[tuple[int, int], int]:
    """The open files without a name of a process, and the bytes of each, which count as memory of no process."""
    found: dict[tuple[int, int], int] = {}
    with suppress(OSError):  # gone, or not ours to look into
        folder = f"/proc/{process.pid}/fd"
        for name in os.listdir(folder):
            with suppress(OSError):
                if os.readlink(f"{folder}/{name}").startswith("/memfd:"):
                    about = os.stat(f"{folder}/{name}")
                    found[about.st_dev, about.st_ino] = about.st_blocks * 512
    return found


def now_in_ticks() -> int:
    """Now, as `Process.started` counts on Linux."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return int(time.time()) if clock is None else int(time.clock_gettime(clock) * os.sysconf("SC_CLK_TCK"))


def own_activity() -> dict[int, list[bytes]] | None:
    """How long the threads of each process below this one have run: the same later if none has run in between.

    None where that cannot be told.
    """
    if not has_proc() or not _tells_children():
        return None
    view = LiveProcesses()
    below = filter(None, map(view.get, view.children(os.getpid())))
    try:
        return {pid: _run_times(pid) for pid, one in view.tree(below).items() if one.alive}
    except OSError:  # one has just ended, or the kernel does not count
        return None


def _run_times(pid: int) -> list[bytes]:
    return [_content(f"/proc/{pid}/task/{task}/schedstat") for task in sorted(os.listdir(f"/proc/{pid}/task"))]


@cache
def _tells_children() -> bool:
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _content(path: str) -> bytes:
    with closing_fd(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as fd:
        data = more = os.read(fd, 65536)
        while len(more) > 2048:  # the kernel gives such a file by the page, and a short part is the last
            more = os.read(fd, 65536)
            data += more
        return data


def _from_proc(pid: int) -> Process | None:
    try:
        data = _content(f"/proc/{pid}/stat")
    except _UNSEEN:
        return None
    part = data[data.rindex(b")") + 2 :].split(None, 22)  # the name before it may hold anything
    return Process(
        pid=pid,
        parent=int(part[1]),
        group=int(part[2]),
        session=int(part[3]),
        started=int(part[19]),
        rss=int(part[21]) * _PAGE,
        threads=int(part[17]),
        state=chr(part[0][0]),
    )


def _from_ps() -> list[Process]:
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    try:
        with start_process(_ASK_PS, "/", environment, (DEVNULL, PIPE, DEVNULL)) as asked:
            said = asked.communicate()[0]
    except ToolError:
        return []  # then only the group of a command can be ended
    found = []
    for line in said.splitlines():
        pid, parent, group, rss, state, *at = line.split()
        started = int(time.mktime(time.strptime(b" ".join(at).decode())))
        # Systems report sessions and threads differently: a group stands for a session.
        found.append(Process(int(pid), int(parent), int(group), int(group), started, int(rss) * 1024, 1, chr(state[0])))
    return found
