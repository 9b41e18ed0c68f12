"""Bubblewrap: a command in namespaces of its own, where what it may not reach is not there at all."""

from __future__ import annotations

import copy
import errno
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import TYPE_CHECKING

from toolroll.host.beneath import PATH, STEP
from toolroll.host.sandbox.filter import Filter
from toolroll.host.sandbox.kernel import Kernel, Machine
from toolroll.host.sandbox.network import Network, entered
from toolroll.host.sandbox.system import DEV, ETC, PROC, System, beneath, real, system
from toolroll.host.sandbox.tiers import Reach, Sandbox, Tier, cannot_run, check, launch, told
from toolroll.host.sandbox.toolchains import outermost
from toolroll.host.state import nameless
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import subprocess

_PROGRAM = "bwrap"
_FIRST = ("/usr/bin", "/bin", "/usr/local/bin")
_TEMP = "/tmp"
_TEMP_BYTES = 512 << 20
_SIZED = (0, 7)  # from this version on a temporary folder can be given a size
_ALWAYS = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)


def find(path: str) -> str | None:
    """The program: the system's own, or one in the folders of this PATH that nobody else could have put there."""
    for folder in (*_FIRST, *path.split(os.pathsep)):
        program = f"{folder}/{_PROGRAM}"
        if folder.startswith("/") and os.access(program, os.X_OK):
            found = os.stat(program)
            if found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o022:
                return program
    return None


class Bubblewrap(Sandbox):
    """Namespaces of users, processes, mounts, network and the rest, with a seccomp filter inside them.

    The process that `spawn` gives is bubblewrap's outer one: it exits with the status of the command, and with
    128 + n when signal n ended that. When it is killed, or the thread that spawned it ends, the command and all
    that it started are killed too.

    The commands of a `group` have one network without an outside together where we may make it, which takes root:
    that saves the time to make one for each, and lets one command use a server that another has started.
    """

    tier = Tier.BUBBLEWRAP
    whole = True

    def __init__(self, program: str, version: str, machine: Machine, *, by_descriptor: bool) -> None:
        """`by_descriptor`: this bubblewrap takes descriptors of files, which a job of the user's cannot swap."""
        self._program = program
        self._sized = tuple(int(one) for one in re.findall(r"\d+", version)[:2]) >= _SIZED
        self._by_descriptor = by_descriptor
        self._filters = {network: Filter(network, alone=True).program(machine) for network in (False, True)}
        self._kernel = Kernel(machine.numbers)
        self._lock = threading.Lock()
        self._shares = False
        self._network: Network | None = None

    def group(self) -> Bubblewrap:
        """With one network without an outside for all its commands, where we may make it; else each has its own."""
        other = copy.copy(self)
        other._lock, other._shares = threading.Lock(), True
        return other

    def close(self) -> None:
        """Let go of the network that the commands of the group share."""
        with self._lock:
            self._shares = False
            if self._network is not None:
                self._network.close()

    def spawn(
        self,
        reach: Reach,
        argv: Sequence[str],
        *,
        cwd: int,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """The command in a world of its own; what is in `keep` is read-only there."""
        check(argv, env)
        if any(beneath(self._program, one) for one in _resolved(reach.write)):
            raise ToolError(
                ErrorCode.SECURITY,
                f"The sandbox itself, {self._program!r}, is where commands could change it. Take a smaller workspace.",
            )
        folder = _folder(reach, cwd)
        _find_program(argv[0], folder, env, reach)
        with ExitStack() as stack:
            kept = {path: _own(stack, fd) for path, fd in _kept(reach)}
            filtering = _own(stack, nameless(self._filters[reach.network]))
            words = [
                *_ALWAYS,
                *self._network_words(reach, stack),
                *self._mounts(reach, kept),
                *("--chdir", folder, "--seccomp", str(filtering)),
                *(word for name, value in env.items() for word in ("--setenv", name, value)),
            ]
            # By descriptor, for the command line of a process is for everybody to read. And nothing of the
            # command's environment may reach bubblewrap itself, which is not confined yet.
            arguments = _own(stack, nameless(os.fsencode("\0".join(words)) + b"\0"))
            return launch(
                [self._program, "--args", str(arguments), "--", *argv],
                "/",
                {},
                (stdin, stdout, stderr),
                (*pass_fds, filtering, arguments, *(kept.values() if self._by_descriptor else ())),
            )

    def _network_words(self, reach: Reach, stack: ExitStack) -> tuple[str, ...]:
        """What gives the command its network; the one of the group is entered here, until the stack is closed."""
        if reach.network:
            return ()
        with self._lock:
            if self._shares and self._network is None:
                try:
                    self._network = Network(self._kernel)
                except OSError:
                    self._shares = False  # not ours to make: then every command has its own
            shared = self._network.open() if self._shares and self._network is not None else None
        if shared is None:
            return ("--unshare-net",)
        stack.callback(os.close, shared)
        with told():
            stack.enter_context(entered(self._kernel, shared))
        return ()

    def _mounts(self, reach: Reach, kept: Mapping[str, int]) -> list[str]:
        """The arguments that build the command's view of the files, outer ones first."""
        for path in reach.write:
            if not os.path.isdir(path):
                raise ToolError(ErrorCode.EXECUTION, f"The folder {path!r} of the command is gone. Make it again.")
        found = list(_view(reach.write, reach.read, system(), self._sized))
        for path in sorted(kept):
            found += ("--ro-bind-fd", str(kept[path]), path) if self._by_descriptor else ("--ro-bind", path, path)
        # The kernel's settings in /proc/sys are files of root, which bubblewrap covers only where it thinks that
        # they can be written. And without the last one a write outside would seem to have worked.
        return [*found, "--remount-ro", PROC, "--remount-ro", "/"]


def _own(stack: ExitStack, fd: int) -> int:
    """The descriptor, which is closed with the stack."""
    stack.callback(os.close, fd)
    return fd


def _folder(reach: Reach, cwd: int) -> str:
    """The path of the folder to work in, which must be one that the command has."""
    path = os.readlink(f"/proc/self/fd/{cwd}")
    try:
        there = os.path.samestat(os.stat(path), os.fstat(cwd))
    except OSError:
        there = False
    if not there:
        raise ToolError(ErrorCode.EXECUTION, "The folder to work in was removed or moved. Name one that is there.")
    if not _visible(path, reach):
        raise ToolError(ErrorCode.EXECUTION, f"The folder {path!r} is none that commands may reach.")
    return path


@lru_cache(maxsize=32)
def _view(write: tuple[str, ...], read: tuple[str, ...], own: System, sized: bool) -> tuple[str, ...]:
    """The mounts and links of a view, as arguments."""
    size = ("--perms", "1777", "--size", str(_TEMP_BYTES)) if sized else ()
    parts: dict[str, tuple[str, ...]] = {
        PROC: ("--proc", PROC),
        DEV: ("--dev", DEV),
        _TEMP: (*size, "--tmpfs", _TEMP),
        "/var/tmp": ("--symlink", "../tmp", "/var/tmp"),
    }
    changed = _resolved(write)
    shown = _resolved((*own.folders, *own.files, ETC, *read))
    for path in outermost(path for path in shown if not any(beneath(path, one) for one in (*changed, PROC, DEV))):
        parts[path] = ("--ro-bind-try", path, path)
    for path in outermost(changed):
        parts = {known: how for known, how in parts.items() if not beneath(known, path)}
        parts[path] = ("--bind", path, path)
    for path in own.covered:
        if path not in read and not any(beneath(path, one) for one in changed):
            parts[path] = ("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind-try", "/dev/null", path)
    bound = [path for path, how in parts.items() if how[0] in ("--bind", "--ro-bind-try")]
    for path in (*own.folders, *read, *write):
        if os.path.islink(path) and not any(beneath(path, one) for one in bound):  # else it is there already
            parts[path] = ("--symlink", os.readlink(path), path)
    return tuple(word for path in sorted(parts, key=lambda one: one.split("/")) for word in parts[path])


def _kept(reach: Reach) -> Iterator[tuple[str, int]]:
    """What is there of what is to be kept, by its path, with a descriptor for the caller to close.

    A link cannot be covered, and where it leads is not ours to guess: a command may have made it.
    """
    changed = _resolved(reach.write)
    for path in reach.keep:
        try:
            above = os.open(os.path.dirname(path), STEP)
        except OSError:
            continue
        try:
            fd = os.open(os.path.basename(path), PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
            where = os.readlink(f"/proc/self/fd/{above}")
        except OSError:
            continue
        finally:
            os.close(above)
        if stat.S_ISLNK(os.fstat(fd).st_mode) or not any(beneath(where, one) for one in changed):
            os.close(fd)
        else:
            yield f"{where}/{os.path.basename(path)}", fd


def _resolved(paths: Iterable[str]) -> list[str]:
    """Where the paths lead; those that lead nowhere are left out."""
    return [there for path in paths if (there := real(path)) is not None]


def _visible(path: str, reach: Reach) -> bool:
    return any(beneath(path, one) for one in _shown(reach.write, reach.read, system()))


@lru_cache(maxsize=32)
def _shown(write: tuple[str, ...], read: tuple[str, ...], own: System) -> tuple[str, ...]:
    """Under what paths there is anything in a view, as they are named and as they are."""
    roots = (*own.folders, ETC, PROC, *write, *read)
    return tuple(dict.fromkeys((*roots, *_resolved(roots))))


def _find_program(program: str, folder: str, env: Mapping[str, str], reach: Reach) -> None:
    """ToolError for a program that is not there, which bubblewrap would tell of too late."""
    if "/" in program:
        places = [os.path.normpath(os.path.join(folder, program))]
    else:
        places = [f"{one}/{program}" for one in env.get("PATH", os.defpath).split(os.pathsep) if one.startswith("/")]
    if any(os.access(one, os.X_OK) and os.path.isfile(one) and _visible(one, reach) for one in places):
        return
    there = any(os.path.exists(one) and _visible(one, reach) for one in places)
    raise cannot_run(program, errno.EACCES if there else errno.ENOENT)
