"""Run candidates side by side, each in a fork of its own, judge each by a check, and merge the first that passes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from toolroll.host.forks.fork import ForkChange, summarize
from toolroll.host.forks.forks import Forks, OpenFork
from toolroll.host.shell.command_result import CommandResult, build_result
from toolroll.text.files.changes import describe_changes

_MAX_CHARS = 2_000  # of the output of one command


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate: how it and its check ended, and what it changed."""

    number: int
    command: str
    passed: bool
    seconds: float
    changes: str
    output: str
    """Of the check; of the command where that failed."""
    fork: int | None = None
    """Where it is held."""

    def __str__(self) -> str:
        held = f" Held as fork {self.fork}." if self.fork is not None else ""
        head = f"{self.number}. {'passed' if self.passed else 'failed'} in {self.seconds:.1f} s: {self.command}"
        return f"{head}\n{self.changes or 'It changed no file.'}{held}\n{self.output}".rstrip()


@dataclass(frozen=True, slots=True)
class Attempts:
    """All candidates, and the one that was merged."""

    attempts: list[Attempt]
    merged: int | None = None

    def __str__(self) -> str:
        last = f"Candidate {self.merged} was merged." if self.merged else "Nothing was merged."
        return "\n\n".join([*map(str, self.attempts), last])


def run_attempts(ctx: Any, candidates: Sequence[str], check: str, *, merge: bool, seconds: float) -> Attempts:
    """Try all candidates. Those that pass and are not merged are held, unless one was merged."""
    forks: Forks = ctx.forks
    opened: list[OpenFork] = []
    kept: set[int] = set()
    try:
        for _ in candidates:
            opened.append(forks.open(held=True))
        with ThreadPoolExecutor(len(candidates), "toolroll attempt") as pool:
            tries = list(pool.map(lambda one, text: _try(ctx, one, text, check, seconds), opened, candidates))
        done = [replace(one, number=at) for at, (one, _) in enumerate(tries, 1)]
        passed = [at for at, one in enumerate(done) if one.passed]
        if merge and passed:
            forks.land(opened[passed[0]], tries[passed[0]][1], ctx)
            return Attempts(done, passed[0] + 1)
        kept = {opened[at].number for at in passed}
        return Attempts([replace(one, fork=opened[at].number if one.passed else None) for at, one in enumerate(done)])
    finally:
        for one in opened:
            if one.number not in kept:
                forks.drop(one.number)


def _try(ctx: Any, held: OpenFork, command: str, check: str, seconds: float) -> tuple[Attempt, list[ForkChange]]:
    inner = held.context(ctx.call, ctx.cwd)
    ran = _run(inner, command, seconds)
    rows = held.rows()  # without what the check leaves behind
    judged = ran if ran.failed else _run(inner, check, seconds)
    took = ran.seconds if judged is ran else ran.seconds + judged.seconds
    return Attempt(0, command, not judged.failed, took, describe_changes(summarize(rows)), str(judged)), rows


def _run(ctx: Any, command: str, seconds: float) -> CommandResult:
    return build_result(ctx.shell.run(command, cwd=ctx.cwd, seconds=seconds), _MAX_CHARS, "tail")
