"""Run candidates side by side, each in a fork of its own, judge each by a check, and merge the first that passes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from toolroll.host.forks.fork import ForkChange, summarize
from toolroll.host.forks.forks import Forks, OpenFork
from toolroll.host.shell.command_result import CommandResult, build_result
from toolroll.result import ErrorCode, ToolError
from toolroll.text.files.changes import describe_changes

_MAX_CHARS = 2_000  # of the output of one command


Outcome = Literal["passed", "check failed", "command failed", "refused", "stopped"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate: how it and its check ended, and what it changed."""

    number: int
    command: str
    outcome: Outcome
    """"stopped": one before it had passed, so it was not needed any more."""
    seconds: float
    changes: str
    output: str
    """Of the check; of the command where that failed."""
    fork: int | None = None
    """Where it is held."""
    passed: bool = False

    def __str__(self) -> str:
        held = f" Held as fork {self.fork}." if self.fork is not None else ""
        head = f"{self.number}. {self.outcome} after {self.seconds:.1f} s: {self.command}"
        return f"{head}\n{self.changes or 'It changed no file.'}{held}\n{self.output}".rstrip()


@dataclass(frozen=True, slots=True)
class Attempts:
    """All candidates, and the one that was merged."""

    attempts: list[Attempt]
    merged: int | None = None

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.attempts), self._last()])

    def _last(self) -> str:
        passed = [one.number for one in self.attempts if one.passed]
        if self.merged is None:
            held = "Nothing was merged. Use `commit` with one of the forks."
            return held if passed else "Nothing was merged: no candidate passed."
        others = [str(number) for number in passed if number != self.merged]
        also = (
            f" {', '.join(others)} passed too, and {'was' if len(others) == 1 else 'were'} dropped." if others else ""
        )
        return f"Candidate {self.merged} was merged.{also}"


def run_attempts(ctx: Any, candidates: Sequence[str], check: str, *, merge: bool, seconds: float) -> Attempts:
    """Try all candidates. Those that pass and are not merged are held, unless one was merged.

    When one has passed that is to be merged, those after it are stopped.
    """
    forks: Forks = ctx.forks
    opened: list[OpenFork] = []
    kept: set[int] = set()
    try:
        for _ in candidates:
            opened.append(forks.open(held=True))
        inner = [one.context(ctx.call) for one in opened]
        tries = []
        with ThreadPoolExecutor(len(candidates), "toolroll attempt") as pool:
            tasks = [
                pool.submit(_try, at, candidates[at], opened[at], inner[at], check, seconds) for at in range(len(inner))
            ]
            for at, task in enumerate(tasks):
                tries.append(task.result())
                if merge and tries[-1][0].passed:
                    for later in inner[at + 1 :]:
                        later.commands.close()
        ctx.token.check()
        passed = [at for at, (one, _) in enumerate(tries) if one.passed]
        done = [one for one, _ in tries]
        if merge and passed:
            forks.land(opened[passed[0]], tries[passed[0]][1], ctx)
            return Attempts(done, passed[0] + 1)
        kept = {opened[at].number for at in passed}
        return Attempts([replace(one, fork=opened[at].number if one.passed else None) for at, one in enumerate(done)])
    finally:
        for one in opened:
            if one.number not in kept:
                forks.drop(one.number)


def _try(
    at: int, command: str, held: OpenFork, ctx: Any, check: str, seconds: float
) -> tuple[Attempt, list[ForkChange]]:
    """One candidate, and what it changed without what the check leaves behind."""
    rows: list[ForkChange] = []
    took = 0.0
    try:
        ran = _run(ctx, command, seconds)
        rows, took = held.rows(), ran.seconds
        outcome: Outcome = "command failed"
        if not ran.failed:
            ran = _run(ctx, check, seconds)
            took += ran.seconds
            outcome = "check failed" if ran.failed else "passed"
        said = str(ran)
    except ToolError as error:
        outcome = "stopped" if error.code is ErrorCode.CANCELLED else "refused"
        said = error.message if outcome == "refused" else ""
    line = describe_changes(summarize(rows))
    return Attempt(at + 1, command, outcome, took, line, said, passed=outcome == "passed"), rows


def _run(ctx: Any, command: str, seconds: float) -> CommandResult:
    return build_result(ctx.shell.run(command, cwd=ctx.cwd, seconds=seconds), _MAX_CHARS, "tail")
