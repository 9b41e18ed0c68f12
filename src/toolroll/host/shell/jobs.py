"""Background jobs: numbered commands that run until they end or the kit is closed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolroll.host.shell.terminal import TerminalScreen, encode_keys
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.shell.supervisor import RunningCommand


@dataclass(slots=True, eq=False)
class Job:
    """A command under a number."""

    id: int
    title: str
    running: RunningCommand
    started: float  # when the command was, in seconds since 1970
    notes: Callable[[], Sequence[str]] = tuple  # what is to be said about it when it has ended
    seen: int = 0
    """So many bytes of its output were shown."""
    screen: TerminalScreen | None = None
    """Of its terminal, if it has one."""

    def type(self, text: str, keys: Sequence[str]) -> str:
        """What is written to it for a text and keys; a terminal sends other characters than a file holds."""
        return text if self.screen is None else encode_keys(text, keys, application=self.screen.application_keys)

    def resize(self, columns: int, rows: int) -> None:
        """Give its terminal another size."""
        self.running.resize(columns, rows)
        if self.screen is not None:
            self.screen.resize(columns, rows)

    @property
    def state(self) -> str:
        """How it stands, in words: "running", "exited with 0", "killed"."""
        over, ended = self.running.over, self.running.ended  # in this order: it may end meanwhile
        if ended is None:
            return "failed" if over else "running"
        return f"exited with {ended.status}" if ended.outcome == "exited" else ended.outcome.replace("_", " ")

    @property
    def seconds(self) -> float:
        ended = self.running.ended
        return time.monotonic() - self.running.started if ended is None else ended.seconds


NO_JOBS = {"jobs": 0}
"""Details of the error where no job can be started."""


class Jobs:
    """The jobs of one kit. Those that have ended are kept, the newest of them, until there are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._jobs: dict[int, Job] = {}
        self._last = 0
        self._closed = False

    def add(self, running: RunningCommand, *, title: str, notes: Callable[[], Sequence[str]] = tuple) -> Job:
        """Make a running command a job. ToolError if there is no room for one; the command then runs on as it was."""
        with self._lock:
            self._check()
            if len(self._jobs) >= self._most:
                del self._jobs[next(job.id for job in self._jobs.values() if job.running.over)]
            self._last += 1
            job = Job(self._last, title, running, time.time() - (time.monotonic() - running.started), notes)
            job.screen = TerminalScreen(running.output) if running.terminal else None
            self._jobs[job.id] = job
            return job

    def check(self) -> None:
        """Raise ToolError if there is no room for one more: better known before a command is started."""
        with self._lock:
            self._check()

    def get(self, id: int) -> Job:
        """The job of this number; ToolError that names the others if there is none."""
        with self._lock:
            if (job := self._jobs.get(id)) is not None:
                return job
            there = f"There are: {', '.join(map(str, self._jobs))}." if self._jobs else "There are none."
            raise ToolError(ErrorCode.NOT_FOUND, f"There is no job {id}. {there}")

    def all(self) -> list[Job]:
        """All jobs, oldest first, those that have ended included."""
        with self._lock:
            return list(self._jobs.values())

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self.end(self.all())

    def end(self, jobs: Sequence[Job]) -> None:
        """End these jobs, and forget them."""
        with self._lock:
            for job in jobs:
                self._jobs.pop(job.id, None)
        with ExitStack() as ends:  # all of them, also when the end of one raises
            for job in jobs:
                if not job.running.over:
                    job.running.ask()
                    ends.callback(job.running.kill)

    def _check(self) -> None:
        if self._closed:
            raise ToolError(ErrorCode.CANCELLED, "This kit is closed: no more jobs can be started.")
        if not self._most:
            message = (
                "No command goes on in the background here: it would end with this call. Run it in the foreground."
            )
            raise ToolError(ErrorCode.UNSUPPORTED, message, details=NO_JOBS)
        if len(self._jobs) >= self._most and not any(job.running.over for job in self._jobs.values()):
            raise ToolError(
                ErrorCode.CONFLICT,
                f"{len(self._jobs)} jobs run already, which is the most. Kill one with `job` first.",
            )


class SharedJobs(Jobs):
    """The jobs of another kit, which ends them, with those that are started from here."""

    def __init__(self, owner: Jobs) -> None:
        super().__init__(owner._most)
        self._owner = owner
        self._started: list[Job] = []

    def add(self, running: RunningCommand, *, title: str, notes: Callable[[], Sequence[str]] = tuple) -> Job:
        job = self._owner.add(running, title=title, notes=notes)
        self._started.append(job)
        return job

    def check(self) -> None:
        self._owner.check()

    def get(self, id: int) -> Job:
        return self._owner.get(id)

    def all(self) -> list[Job]:
        return self._owner.all()

    def close(self) -> None:
        """Nothing: they outlive this kit."""

    def has_started(self) -> bool:
        """Whether a job that was started from here is still known."""
        return any(job in self._started for job in self._owner.all())
