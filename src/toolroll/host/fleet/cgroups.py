"""Control groups of leases (version 2), beneath a group that was delegated to this process.

The delegated group gets two groups: one for this process, because a group that limits others may hold no process, and
one for leases. In that each process has a group that it holds by a lock, and there one group for each of its leases.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from toolroll.host.fleet.lease_limits import LeaseLimits
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.file_lock import take_lock
from toolroll.host.runtime.process_tree import view_processes

CONTROLLERS = {"memory": "memory_bytes", "pids": "processes", "cpu": "cpus"}
"""Those that are used, each with the limit that it enforces."""
_OWN, _LEASES = "toolroll-own", "toolroll-leases"
_JOINER = "/bin/bash"  # puts a command into its group
_PERIOD_US = 100_000
_TASKS = 8  # for each process, because threads count: the same as RLIMIT_NPROC of a command has
_END_SECONDS = 10.0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOUNT = re.compile(r"^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 ", re.MULTILINE)


def find_own_group() -> str:
    """The folder of the group that this process is in; OSError if it cannot be seen."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        name = next((line[3:].rstrip("\n") for line in file if line.startswith("0::")), "")
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts = [(root.rstrip("/"), folder) for root, folder in _MOUNT.findall(file.read())]
    for root, folder in mounts:
        if name and f"{name}/".startswith(f"{root}/"):
            return os.path.normpath(f"{folder}/{name[len(root) :]}")
    raise OSError(errno.ENOTSUP, "no control groups of version 2 are mounted here")


def prepare_groups(controllers: Iterable[str] = CONTROLLERS) -> str:
    """Make our group one that can hold those of leases; their folder. OSError, and nothing is changed, if it cannot.

    This process and those below it move into a group of their own. Processes that are started later are there too.
    """
    group = find_own_group()
    if os.path.basename(group) == _OWN:
        return os.path.join(os.path.dirname(group), _LEASES)
    there = _find_controllers(group, controllers)
    own, leases, view = os.path.join(group, _OWN), os.path.join(group, _LEASES), view_processes()
    ours = view.tree(one for one in [view.get(os.getpid())] if one is not None)
    moved = [pid for pid in _read(group, "cgroup.procs").split() if int(pid) in ours]
    try:
        for path in (own, leases):
            os.makedirs(path, exist_ok=True)
        _move(moved, own)
        _enable(group, there)
        _enable(leases, there)
    except OSError as error:
        _move(moved, group)
        for path in (own, leases):
            with suppress(OSError):
                os.rmdir(path)
        why = "its control group has other processes too" if error.errno == errno.EBUSY else error.strerror
        raise OSError(error.errno, why) from error
    return leases


class LeaseGroups:
    """The groups of the leases of one base. `close` removes them."""

    def __init__(self, controllers: Iterable[str] = CONTROLLERS) -> None:
        """OSError where no group was delegated to this process."""
        if not os.access(_JOINER, os.X_OK):
            raise OSError(errno.ENOTSUP, f"there is no {_JOINER}")
        above, self._numbers = prepare_groups(controllers), itertools.count(1)
        self.controllers = _find_controllers(above, controllers)
        with closing_fd(os.open(above, _FOLDER)) as place:
            fcntl.flock(place, fcntl.LOCK_EX)  # so that no other process removes ours before it is held
            sweep(above)
            self._path = os.path.join(above, os.urandom(8).hex())
            os.mkdir(self._path)
            self._held = os.open(self._path, _FOLDER)
            take_lock(self._held)
        _enable(self._path, self.controllers)

    def open(self, limits: LeaseLimits) -> str:
        """The folder of a new group with these limits."""
        path = os.path.join(self._path, str(next(self._numbers)))
        os.mkdir(path)
        for name, value in plan_settings(limits).items():
            if name.partition(".")[0] in self.controllers:
                with suppress(FileNotFoundError):  # a kernel without swap
                    _write(path, name, value)
        return path

    def close(self) -> None:
        remove_group(self._path)
        os.close(self._held)


def plan_settings(limits: LeaseLimits) -> Mapping[str, str]:
    """The values of a group, by the name of the file."""
    return {
        "memory.max": str(limits.memory_bytes),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": str(_TASKS * limits.processes),
        "cpu.max": f"{'max' if limits.cpus is None else round(limits.cpus * _PERIOD_US)} {_PERIOD_US}",
    }


def sweep(above: str) -> None:
    """Remove the groups of processes that were killed."""
    for name in os.listdir(above):
        path = os.path.join(above, name)
        with suppress(NotADirectoryError, FileNotFoundError), closing_fd(os.open(path, _FOLDER)) as fd:
            if take_lock(fd):
                remove_group(path)


def remove_group(path: str) -> None:
    """Kill what runs in a group and in those beneath it, and remove them."""
    with suppress(OSError):  # an old kernel, where what runs stays, and so does its group
        _write(path, "cgroup.kill", "1")
    until = time.monotonic() + _END_SECONDS
    for folder, _, _ in os.walk(path, topdown=False):
        while not _remove(folder) and time.monotonic() < until:
            time.sleep(0.002)  # who was killed has not ended yet


def _find_controllers(group: str, wanted: Iterable[str]) -> list[str]:
    """Those of a group that are wanted; OSError if there are none."""
    there = _read(group, "cgroup.controllers").split()
    if found := [one for one in wanted if one in there]:
        return found
    raise OSError(errno.ENOTSUP, f"its control group has no controller for {', '.join(wanted)}")


def _remove(group: str) -> bool:
    try:
        os.rmdir(group)
    except OSError as error:
        return error.errno != errno.EBUSY
    return True


def _move(pids: Iterable[str], group: str) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # it has ended
            _write(group, "cgroup.procs", pid)


def _enable(group: str, controllers: Iterable[str]) -> None:
    _write(group, "cgroup.subtree_control", " ".join(f"+{one}" for one in controllers))


def _read(group: str, name: str) -> str:
    with open(os.path.join(group, name), encoding="ascii") as file:
        return file.read()


def _write(group: str, name: str, value: str) -> None:
    with open(os.path.join(group, name), "r+b", buffering=0) as file:
        file.write(value.encode())
