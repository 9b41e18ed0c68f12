"""Measures contestants side by side: rounds taken in turns, medians, CPU time beside wall time."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Literal

Role = Literal["ours", "peer", "floor"]

_LEAST = 0.03  # seconds that one sample should take, so that the clock's own steps do not show


@dataclass(frozen=True, slots=True)
class Sample:
    """What one operation took: seconds, and bytes if memory is measured too."""

    cpu: float
    wall: float
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to do the work. "floor" is the least that anybody must do; `run` does it and measures."""

    name: str
    role: Role
    run: Callable[[], Sample]
    right: float | None = None
    """The share of its answers that are right, if that was looked at."""


@dataclass(frozen=True, slots=True)
class Race:
    """The same work done in several ways. Exactly one contestant is ours, the last floor is the nearest."""

    name: str
    contestants: Sequence[Contestant]
    most_rounds: int = 100
    row: str = ""
    """Races of one row are the same work at several sizes."""
    size: int = 0
    """How many files or pieces there are."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The medians of one contestant. `spread` is the width of the middle half of its CPU times."""

    name: str
    role: Role
    cpu: float
    wall: float
    spread: float = 0.0
    memory: int = 0
    right: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a race gave."""

    name: str
    measured: tuple[Measured, ...]
    row: str = ""
    size: int = 0

    @property
    def ours(self) -> Measured:
        return self.by_role("ours")[0]

    @property
    def floor(self) -> Measured:
        return self.by_role("floor")[-1]

    def by_role(self, role: Role) -> list[Measured]:
        return [one for one in self.measured if one.role == role]


def run(race: Race, rounds: int) -> Outcome:
    """Let every contestant warm up once, then take turns."""
    for one in race.contestants:
        one.run()
    gc.collect()
    gc.freeze()  # else each collection would also walk all that the peers have imported
    samples: list[list[Sample]] = [[] for _ in race.contestants]
    for at in turns(len(race.contestants), min(rounds, race.most_rounds)):
        samples[at].append(race.contestants[at].run())
    gc.unfreeze()
    found = zip(race.contestants, samples, strict=True)
    return Outcome(race.name, tuple(summary(one, taken) for one, taken in found), race.row, race.size)


def turns(contestants: int, rounds: int) -> Iterator[int]:
    """Whose turn it is: everybody once a round, each round begun by another, so that order favours nobody."""
    for first in range(rounds):
        yield from ((first + at) % contestants for at in range(contestants))


def summary(contestant: Contestant, samples: Sequence[Sample]) -> Measured:
    """The medians of all samples of a contestant."""
    cpu = [one.cpu for one in samples]
    low, _, high = quantiles(cpu, method="inclusive") if len(cpu) > 1 else (0.0, 0.0, 0.0)
    return Measured(
        contestant.name,
        contestant.role,
        cpu=(middle := median(cpu)),
        wall=median(one.wall for one in samples),
        spread=(high - low) / middle if middle else 0.0,
        memory=round(median(one.memory for one in samples)),
        right=contestant.right,
    )


def ratio(ours: float, other: float) -> float:
    """How much of the other's cost is ours: below 1 is less than it."""
    return ours / other if other else float("inf")


def timed(function: Callable[[], object]) -> Callable[[], Sample]:
    """Measures a function, repeated as often as makes a sample long enough."""
    times = 0

    def sample() -> Sample:
        nonlocal times
        if not times:
            function()
            times = _enough(lambda count: _repeat(function, count))
        return _repeat(function, times)

    return sample


def timed_once(function: Callable[[], object], after: Callable[[], object]) -> Callable[[], Sample]:
    """Measures one run of a function, behind which `after` makes everything as it was."""

    def sample() -> Sample:
        taken = _repeat(function, 1)
        after()
        return taken

    return sample


def awaited(function: Callable[[], Awaitable[object]]) -> Callable[[], Sample]:
    """The same for a coroutine function, inside a running loop: starting the loop is not counted."""
    import asyncio

    runner, times = asyncio.Runner(), 0

    async def repeat(count: int) -> Sample:
        start = _now()
        for _ in range(count):
            await function()
        return _since(start, count)

    def sample() -> Sample:
        nonlocal times
        if not times:
            runner.run(repeat(1))
            times = _enough(lambda count: runner.run(repeat(count)))
        return runner.run(repeat(times))

    return sample


def _enough(run: Callable[[int], Sample]) -> int:
    times = 1
    while (took := run(times).wall * times) < _LEAST:
        times = times * 2 if took < _LEAST / 4 else round(times * _LEAST / took) + 1
    return times


def _repeat(function: Callable[[], object], times: int) -> Sample:
    start = _now()
    for _ in range(times):
        function()
    return _since(start, times)


def _now() -> tuple[float, float]:
    """CPU seconds of this process, its threads and the children that have ended; and the wall clock."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime, time.perf_counter()


def _since(start: tuple[float, float], times: int) -> Sample:
    cpu, wall = _now()
    return Sample((cpu - start[0]) / times, (wall - start[1]) / times)
