"""The only place that starts processes.

`start_process` is the one call of `Popen`. Commands and servers reach it through a `Confinement`, which
`host/sandbox` implements. Programs that toolroll needs for itself (ripgrep, git, parsers, the index builder) go through a
`Launcher`, which confines each to what it names and starts it from an absolute path that no command can change.
`start_for_operator` is for the command line alone: no tool can reach it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import subprocess
    from typing import TypeAlias

    Process: TypeAlias = subprocess.Popen[bytes]

PIPE, STDOUT, DEVNULL = -1, -2, -3
"""As subprocess has them: it is imported with the first process, for it takes a while."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What one process may reach."""

    write: tuple[str, ...]
    """Absolute folders that it may change: the workspace, a private temporary folder."""
    read: tuple[str, ...] = ()
    """Absolute files and folders that it may read besides the system's own: toolchains."""
    keep: tuple[str, ...] = ()
    """Absolute paths inside `write` that stay as they are where the tier can hold that; some may be missing."""
    hide: tuple[str, ...] = ()
    """Absolute paths inside `write` or `read` that it may neither read nor change: secrets; some may be missing."""
    network: bool = False
    system: bool = True
    """Whether it may read the system's own programs, libraries and settings."""

    def __post_init__(self) -> None:
        for path in (*self.write, *self.read, *self.keep, *self.hide):
            if not path.startswith("/"):
                raise ValueError(f"a reach holds absolute paths only, not {path!r}")


class Confinement(Protocol):
    """One way to start a process within its reach. Safe to use from many threads."""

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
        disposable: bool = False,
    ) -> Process:
        """The process, running in the folder `cwd`, a descriptor, in a session of its own.

        The thread that calls this must outlive the process: where a tier lets it die with its parent, the
        kernel takes the thread for the parent. `disposable`: it does nothing else before it ends, so that it may be
        changed for good, which can save time. ToolError for a program that is missing or cannot be run.
        """


def start_process(
    argv: Sequence[str],
    folder: str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    pass_fds: Sequence[int] = (),
) -> Process:
    """Start a program in a session of its own, as the calling thread is confined; ToolError if it cannot be."""
    import subprocess

    check_words(argv, env)
    stdin, stdout, stderr = streams
    try:
        return subprocess.Popen(
            list(argv),
            cwd=folder,
            env=dict(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
        )
    except OSError as error:
        if error.filename == folder and argv[0] != folder:
            raise ToolError(ErrorCode.EXECUTION, f"Cannot enter the folder to work in: {error.strerror}.") from error
        raise cannot_run(argv[0], error.errno) from error


def wait_for(process: Process, seconds: float) -> int | None:
    """The exit status of a process, or None if it still runs after so many seconds."""
    import subprocess

    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def check_words(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """ToolError for what no program can be started with: no words at all, a NUL in one, a variable without a name."""
    if not argv or not argv[0]:
        raise ToolError(ErrorCode.VALIDATION, "The command is empty. Give a program to run.")
    for name in env:
        if not name or "=" in name:
            raise ToolError(ErrorCode.VALIDATION, f"{name!r} is no name for a variable. Give one without '='.")
    if any("\0" in text for text in (*argv, *env, *env.values())):
        raise ToolError(ErrorCode.VALIDATION, "The command holds a NUL byte, which no program takes. Remove it.")


def cannot_run(program: str, number: int | None) -> ToolError:
    """The error for a program that did not start, by its errno. Not a FileNotFoundError: that is a file named."""
    why = os.strerror(number or 0)
    what_next = {
        errno.ENOENT: " Check its name, or that it is installed where commands may read.",
        errno.EACCES: " It is not executable, or lies where commands may not read.",
        errno.E2BIG: " Put long text into a file and name the file.",
        errno.ENOEXEC: " It is no program of this machine; name the interpreter that runs it.",
    }
    return ToolError(ErrorCode.EXECUTION, f"Cannot run {program!r}: {why}.{what_next.get(number or 0, '')}")


def folder_path(fd: int) -> str:
    """A path by which a child of this process can enter the folder `fd`, wherever that has been moved to."""
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    return f"/proc/self/fd/{fd}"  # the child has a copy of the descriptor until its exec
