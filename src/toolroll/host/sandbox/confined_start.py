"""Landlock, seccomp and no capabilities, put upon a thread from which the command is started and that then ends.

All of it holds for one thread and what that starts, so the rest of the process stays free, and nothing of ours runs
between fork and exec. Each command has a thread of its own: what one thread has put upon itself is one Landlock domain,
and the commands in it could signal each other and look into each other's memory.

The thread is in the command's domain until it has ended, so the kernel would let the command read the memory and the
environment of our process through it: meanwhile our process is not dumpable, which denies that to other processes.
"""

from __future__ import annotations

import copy
import errno
import os
import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.host.files.system import DEVICES, ETC, LIBRARIES, PROC, carve_out, real, system
from toolroll.host.runtime.launcher import (
    AccessRules,
    ChildProcess,
    Sandbox,
    StartOptions,
    folder_path,
    is_beneath,
    lead_terminal,
    prepare_to_start,
    start_process,
)
from toolroll.host.sandbox import landlock, seccomp
from toolroll.host.sandbox.syscalls import Kernel, Machine, run_apart
from toolroll.host.sandbox.tiers import Tier, confinement_errors
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import socket

    from toolroll.host.sandbox.keeper import SocketKeeper

_MOST_RULESETS = 16
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4
_NOT_DUMPABLE, _DUMPABLE = 0, 1  # 2 protects like 0, and the kernel alone can set it
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT = 47
_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x20080522
# Root has no special rights, changes of user give nothing, no capability is kept or raised; and all that for good.
_SECUREBITS = 0b11101111
_MAX_CAPABILITIES = 64

# CAP_DAC_READ_SEARCH: to read what the modes of files deny. Landlock confines a process that has it all the same.
_READ_SEARCH = 2
_Key = tuple[object, ...]
_MEMORY = ("/dev/shm",)


class _DumpableGuard:
    """Keeps this process from being dumpable while confined threads are in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._changed: Kernel | None = None  # what changed the value, which then must be changed back
        os.register_at_fork(after_in_child=self._start_over)

    @contextmanager
    def held(self, kernel: Kernel) -> Iterator[None]:
        """A confined thread begins and ends in the block; the last one to end brings the former value back."""
        with self._lock:
            if kernel.prctl(_PR_GET_DUMPABLE) == _DUMPABLE:
                self._changed = kernel
                kernel.prctl(_PR_SET_DUMPABLE, _NOT_DUMPABLE)
            self._threads += 1
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                if not self._threads:
                    self._restore()

    def _restore(self) -> None:
        if self._changed is not None and self._changed.prctl(_PR_GET_DUMPABLE) == _NOT_DUMPABLE:
            self._changed.prctl(_PR_SET_DUMPABLE, _DUMPABLE)
        self._changed = None

    def _start_over(self) -> None:
        """A forked child has a copy of the value, and none of the threads."""
        self._lock = threading.Lock()
        self._threads = 0
        self._restore()


_dumpable = _DumpableGuard()


class LandlockSandbox(Sandbox):
    """Files by Landlock, the rest by seccomp and the loss of all capabilities. Needs no program but this one.

    It has no world of its own to give, so some things that are harmless there cannot be had here, such as
    datagrams. The commands of a `group` have streams to serve each other, if the kernel announces such calls,
    and shared memory with a name, which the locks of Python's multiprocessing need, if nobody else has some.
    """

    tier = label = Tier.LANDLOCK

    def __init__(self, machine: Machine, kernel: Kernel, abi: int, *, helpers: bool = False) -> None:
        """`helpers` are programs of ours: they read whatever we may, and stay in our session, where no command is."""
        self._keep = _READ_SEARCH if helpers else None
        self._session = not helpers
        self._machine = machine
        self._kernel = kernel
        self._abi = abi
        self.gaps = gaps(abi)
        old = seccomp.SeccompFilter(network=False, alone=False, truncation=abi < landlock.TRUNCATE_ABI)
        self._filters = {
            how: one.program(machine)
            for how, one in (
                ("none", old),
                ("all", replace(old, network=True)),
                ("announced", replace(old, announced=True)),
            )
        }
        self._keeper: SocketKeeper | None = None
        self._shares_memory = False
        self._shared: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._rulesets: OrderedDict[_Key, int] = OrderedDict()
        weakref.finalize(self._lock, _close, self._rulesets)  # of the last one of a group

    def group(self) -> LandlockSandbox:
        """With streams by which its commands reach each other, and shared memory, where both can be had."""
        from toolroll.host.sandbox.keeper import SocketKeeper, why_no_sockets

        other = copy.copy(self)
        other._shares_memory = True
        other._keeper = None if why_no_sockets() else SocketKeeper(self._kernel, self._machine.numbers)
        return other

    def make_socket(self, family: int, *, datagrams: bool = False) -> socket.socket | None:
        return None if self._keeper is None or datagrams else self._keeper.loopback.make_socket(family)

    def find_command(self, connection: socket.socket) -> int:
        return 0 if self._keeper is None else self._keeper.find_command(connection)

    def dial(self, host: str, port: int) -> socket.socket | None:
        return None if self._keeper is None else self._keeper.loopback.dial(host, port)

    def close(self) -> None:
        if self._keeper is not None:
            self._keeper.close()

    def open_port(self, port: int) -> bool:
        if self._keeper is not None:
            self._keeper.loopback.open_ports |= {port}
        return True

    def _spawn(self, access: AccessRules, argv: Sequence[str], how: StartOptions) -> ChildProcess:
        """The command, held by the kernel; `keep` and `hold` are not: see `gitguard`."""
        prepare_to_start()
        _check(access)
        words, folder = lead_terminal(argv, access), folder_path(how.cwd)
        own = how.env, how.streams, how.pass_fds

        def start() -> ChildProcess:
            return start_process(words, folder, *own, session=self._session, cgroup=how.cgroup)

        return self._start(access, start)

    def _start(self, access: AccessRules, start: Callable[[], ChildProcess]) -> ChildProcess:
        rules = self._ruleset(access)
        keeper = None if access.network else self._keeper
        way = "all" if access.network else "none" if keeper is None else "announced"
        listeners: list[int] = []

        def confine() -> None:
            self._kernel.no_new_privileges()
            _drop_capabilities(self._kernel, keep=self._keep)
            landlock.restrict(self._kernel, rules)

        def start_confined() -> ChildProcess:
            with confinement_errors():
                self._kernel.no_new_privileges()
                listener = seccomp.install(self._kernel, self._filters[way], announced=keeper is not None)
                if keeper is not None:
                    listeners.append(listener)
                confine()
            return start()

        try:
            with _dumpable.held(self._kernel):
                process = run_apart(start_confined, _end)
        except BaseException:
            for fd in (rules, *listeners):
                os.close(fd)
            raise
        if keeper is None:
            os.close(rules)
        else:
            keeper.add(listeners[0], process.pid, confine, lambda: os.close(rules))
        return process

    def _ruleset(self, access: AccessRules) -> int:
        """A descriptor, for the caller to close, of the rules for this access; those used last are kept."""
        if self._shares_memory and not self._shared and _is_unused(_MEMORY):
            self._shared = _MEMORY  # from now on, for commands of the group may have some there themselves
        if access.terminal:  # the next one of this name is another
            return landlock.ruleset(self._kernel, self._abi, _rules(access, self._shared), network=access.network)
        own = system()
        identities = map(_identity, (*access.write, "", *access.read, "", *access.hide))
        key = (own, access.network, access.system, access.programs, self._shared, *identities)
        with self._lock:
            if (found := self._rulesets.get(key)) is None:
                found = landlock.ruleset(self._kernel, self._abi, _rules(access, self._shared), network=access.network)
                self._rulesets[key] = found
                while len(self._rulesets) > _MOST_RULESETS:
                    os.close(self._rulesets.popitem(last=False)[1])
            self._rulesets.move_to_end(key)
            return os.dup(found)


def gaps(abi: int) -> tuple[str, ...]:
    """What this tier leaves open with this version of Landlock."""
    found = [
        "files outside: whether they are there, their size and times (stat), and to their owner chmod, chown, utime",
        "the repository: its hooks and settings can be changed for a moment, until the change is seen and undone",
        "other processes: their names and arguments (ps), and to their user their priority",
        "shared memory: what a program of the user puts into /dev/shm while commands run, if it was empty before",
    ]
    if abi < 6:
        found.append("other processes of the user: signals can be sent to them")
    return tuple(found)


def _rules(access: AccessRules, shared: tuple[str, ...]) -> list[tuple[str, int]]:
    own = system()
    hidden = [path for path in access.hide if os.path.lexists(path)]
    theirs = (*own.folders, *own.files, *own.settings, PROC) if access.system else ()
    read: tuple[str, ...] = (*theirs, *access.read)
    if hidden:
        read = tuple(part for path in read for part in carve_out(real(path) or path, hidden))
    taken = landlock.EXECUTE if access.programs else 0
    programs = (*access.programs, *LIBRARIES) if access.programs else ()  # what loads a program is a program
    return [
        *((path, landlock.READ) for path in programs),
        *((path, landlock.READ & ~taken) for path in read),
        *(((ETC, landlock.LIST),) if own.hidden and access.system else ()),
        *((path, landlock.DEVICE) for path in (*DEVICES, *filter(None, [access.terminal]))),
        *((path, landlock.WRITE & ~taken) for path in (*access.write, *shared)),
    ]


def _is_unused(folders: tuple[str, ...]) -> bool:
    """Whether no program has anything in these folders that a command could open: Landlock grants a folder whole.

    A folder in them with nothing in it counts for nothing.
    """
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
            used = [one.stat(follow_symlinks=False) for one in found if not _is_empty_folder(one)]
        except OSError:
            return False
        if any(one.st_uid == os.geteuid() or one.st_mode & 0o077 for one in used):
            return False
    return True


def _is_empty_folder(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return False
    try:
        with os.scandir(entry.path) as entries:
            return next(entries, None) is None
    except PermissionError:  # somebody else's: its mode says who may open what is in it
        return False


def _check(access: AccessRules) -> None:
    """ToolError for what Landlock cannot do: what a folder is granted for, all beneath it is granted for."""
    write = [real(path) or path for path in access.write]
    for path in (*access.lock, *access.hide):
        if os.path.lexists(path) and any(is_beneath(path, folder) and path != folder for folder in write):
            raise ToolError(
                ErrorCode.SECURITY,
                f"The command was not started: {path!r} is toolroll's own or secret, and the sandbox (landlock) cannot "
                "keep commands from it inside a folder that they may change. Install bubblewrap, or install toolroll "
                "outside the workspace (uv tool install toolroll) and name a folder without secrets.",
            )


def _identity(path: str) -> object:
    """The identity of a folder: a ruleset holds as long as it stays the same.

    The numbers alone do not tell: an overlay that is mounted later may have those of one that was unmounted.
    """
    try:
        found = os.stat(path)
        where = os.readlink(path) if path.startswith("/proc/self/fd/") else path
    except OSError:
        return path
    return where, found.st_dev, found.st_ino


def _end(process: ChildProcess) -> None:
    process.kill()
    process.wait()


def _close(rulesets: OrderedDict[_Key, int]) -> None:
    while rulesets:
        os.close(rulesets.popitem()[1])


def _drop_capabilities(kernel: Kernel, *, keep: int | None = None) -> None:
    """Take every capability but `keep` from the calling thread and from what it will start.

    A thread that has not got that one keeps none. Without the right to narrow the bounding set there is nothing to
    narrow: then no_new_privileges, which must be set, keeps a new program from gaining what the thread has not.
    """
    with _denied(errno.EINVAL, errno.EPERM):  # beyond the last one; not ours to narrow
        for capability in range(_MAX_CAPABILITIES):
            if capability != keep:
                kernel.prctl(_PR_CAPBSET_DROP, capability)
    if keep is None:
        with _denied(errno.EPERM):
            kernel.prctl(_PR_SET_SECUREBITS, _SECUREBITS)
    kernel.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    if keep is not None:
        with _denied(errno.EPERM):  # not ours to keep
            _set_capabilities(kernel, 1 << keep)
            return
    _set_capabilities(kernel, 0)


@contextmanager
def _denied(*numbers: int) -> Iterator[None]:
    """These errors of the kernel end the block and no more."""
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise


def _set_capabilities(kernel: Kernel, mask: int) -> None:
    kernel.call("capset", struct.pack("=Ii", _VERSION_3, 0), struct.pack("=6I", mask, mask, 0, 0, 0, 0))
