"""The tiers of confinement, what one command may reach, and the start of a program without any."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import subprocess


class Tier(StrEnum):
    """How a command is confined, strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Reach:
    """What one command may reach."""

    write: tuple[str, ...]
    """Absolute folders that it may change: the workspace, a private temporary folder."""
    read: tuple[str, ...] = ()
    """Absolute files and folders that it may read besides the system's own: toolchains."""
    keep: tuple[str, ...] = ()
    """Absolute paths inside `write` that stay as they are where the tier can hold that; some may be missing."""
    network: bool = False

    def __post_init__(self) -> None:
        for path in (*self.write, *self.read, *self.keep):
            if not path.startswith("/"):
                raise ValueError(f"a reach holds absolute paths only, not {path!r}")


class Sandbox(ABC):
    """One way to start a command. Safe to use from many threads."""

    tier: Tier
    gaps: tuple[str, ...] = ()
    """What this tier does not hold on this machine, in words."""
    whole: bool = False
    """Killing the first process ends all that it started."""

    def group(self) -> Sandbox:
        """The same for commands that may know of each other: they share what takes time to make, until `close`."""
        return self

    def close(self) -> None:  # noqa: B027 - most have nothing to let go
        """No more commands of the group will come; those that run go on."""

    @abstractmethod
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
    ) -> subprocess.Popen[bytes]:
        """The command, running in the folder `cwd`, a descriptor, in a session of its own.

        The thread that calls this must outlive the command: where a tier lets it die with its parent, the
        kernel takes the thread for the parent. `disposable`: it does nothing else before it ends, so that it may be
        changed for good, which can save time. ToolError for a program that is missing or cannot be run.
        """


class Unconfined(Sandbox):
    """No confinement at all."""

    tier = Tier.NONE
    gaps = ("everything: the command can do whatever the user can",)

    def spawn(
        self,
        reach: Reach,  # noqa: ARG002
        argv: Sequence[str],
        *,
        cwd: int,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        pass_fds: Sequence[int] = (),
        disposable: bool = False,  # noqa: ARG002
    ) -> subprocess.Popen[bytes]:
        """The command with all the rights of the user."""
        from toolroll.host.processes import folder_path

        return launch(argv, folder_path(cwd), env, (stdin, stdout, stderr), pass_fds)


def launch(
    argv: Sequence[str],
    folder: str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    pass_fds: Sequence[int],
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, as the calling thread is confined; ToolError if it cannot be."""
    import subprocess

    check(argv, env)
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


@contextmanager
def told() -> Iterator[None]:
    """An error of the kernel in the block is one that the command is not started for."""
    try:
        yield
    except OSError as error:
        raise ToolError(
            ErrorCode.EXECUTION,
            f"The command was not started, because it could not be confined: {error.filename}: {error.strerror}.",
        ) from error


def check(argv: Sequence[str], env: Mapping[str, str]) -> None:
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
