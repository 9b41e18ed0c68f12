"""The tiers of confinement, and the start of a program without any."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING

from toolroll.host.linux import waitid
from toolroll.host.runtime.launcher import AccessRules, Sandbox, StartOptions, folder_path, lead_terminal, start_process
from toolroll.result import ErrorCode, ToolError, next_step

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import ChildProcess


class Tier(StrEnum):
    """How a command is confined, strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class Unconfined(Sandbox):
    """No confinement at all."""

    tier = label = Tier.NONE
    gaps = ("everything: the command can do whatever the user can",)

    def _spawn(self, access: AccessRules, argv: Sequence[str], how: StartOptions) -> ChildProcess:
        words, folder = lead_terminal(argv, access), folder_path(how.cwd)
        return start_process(words, folder, how.env, how.streams, how.pass_fds, cgroup=how.cgroup)


class OwnThread(Sandbox):
    """Starts each process from a thread that stays as long as the process does.

    Bubblewrap ends a command with the thread that started it, and the thread of a call is over before a server is.
    """

    def __init__(self, inner: Sandbox) -> None:
        self.tier, self.label, self._inner = inner.tier, inner.label, inner

    def _spawn(self, access: AccessRules, argv: Sequence[str], how: StartOptions) -> ChildProcess:
        from concurrent.futures import Future

        started: Future[ChildProcess] = Future()

        def stay() -> None:
            try:
                process = self._inner._spawn(access, argv, how)
            except BaseException as error:
                started.set_exception(error)
                return
            started.set_result(process)
            with suppress(ChildProcessError):  # the caller has already waited for it
                waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        threading.Thread(target=stay, name="toolroll process", daemon=True).start()
        return started.result()


@contextmanager
def confinement_errors() -> Iterator[None]:
    """An error of the kernel in the block is one that the command is not started for."""
    try:
        yield
    except OSError as error:
        why = f"{error.filename}: {error.strerror}.{next_step(error)}"
        said = f"The command was not started, because it could not be confined: {why}"
        raise ToolError(ErrorCode.EXECUTION, said) from error
