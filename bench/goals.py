"""What we want to reach, beside what was measured: each goal with the distance still to go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import geometric_mean
from typing import Literal

from bench.cases import Case
from bench.growth import rows
from bench.measure import Measured, Outcome, ratio

Clock = Literal["cpu", "wall"]
Figure = Callable[[Outcome], float | None]
"""What a race says about a goal; None if nobody to compare with took part."""
Unit = Literal["x", "us", "ms", "MB", "%"]


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that is to be at most, or with `least` at least, so much in every race it is about."""

    source: str
    """Of which list it is: "" for the table of what toolroll wants to be, or G1 to G10, which go beyond."""
    what: str
    case: str
    races: str
    """A pattern of the names of races, or of rows where growth is the figure."""
    figure: Figure
    bound: float
    unit: Unit = "x"
    least: bool = False
    mean: bool = False
    """The geometric mean of the races counts, not the worst of them."""
    grows: bool = False
    """The figure is how much more the largest size of a row costs than its smallest."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A goal and the race that is farthest from it."""

    goal: Goal
    race: str
    value: float

    @property
    def holds(self) -> bool:
        return self.value >= self.goal.bound if self.goal.least else self.value <= self.goal.bound

    @property
    def distance(self) -> float:
        """By what the figure must still be multiplied or divided; 1 and below: it holds."""
        return ratio(self.goal.bound, self.value) if self.goal.least else ratio(self.value, self.goal.bound)


def reached(goals: Iterable[Goal], results: Mapping[Case, Sequence[Outcome]]) -> Iterator[Reached]:
    """Every goal that something was measured for."""
    by_name = {case.name: outcomes for case, outcomes in results.items()}
    for goal in goals:
        found = _values(goal, by_name.get(goal.case, ()))
        if found and goal.mean:
            yield Reached(goal, f"mean of {len(found)}", geometric_mean(value for _, value in found))
        elif found:
            race, value = (min if goal.least else max)(found, key=lambda one: one[1])
            yield Reached(goal, race, value)


def _values(goal: Goal, outcomes: Sequence[Outcome]) -> list[tuple[str, float]]:
    if goal.grows:
        return [
            (row, ratio(each[-1].ours.cpu, each[0].ours.cpu))
            for row, each in rows(outcomes).items()
            if fnmatchcase(row, goal.races)
        ]
    figures = ((one.name, goal.figure(one)) for one in outcomes if fnmatchcase(one.name, goal.races))
    return [(name, value) for name, value in figures if value is not None]


def beside(peer: str, clock: Clock = "cpu") -> Figure:
    """Our part of what somebody takes whose name begins so."""

    def figure(outcome: Outcome) -> float | None:
        other = _named(outcome, peer)
        return None if other is None else ratio(_of(outcome.ours, clock), _of(other, clock))

    return figure


def over(peer: str) -> Figure:
    """The milliseconds that ours takes more than somebody else."""

    def figure(outcome: Outcome) -> float | None:
        other = _named(outcome, peer)
        return None if other is None else (outcome.ours.wall - other.wall) * 1e3

    return figure


def microseconds(outcome: Outcome) -> float:
    return outcome.ours.cpu * 1e6


def milliseconds(outcome: Outcome) -> float:
    return outcome.ours.cpu * 1e3


def elapsed(outcome: Outcome) -> float:
    """The milliseconds that pass."""
    return outcome.ours.wall * 1e3


def megabytes(outcome: Outcome) -> float:
    return outcome.ours.memory / 1e6


def right(outcome: Outcome) -> float | None:
    """The share of right answers, in percent."""
    return None if outcome.ours.right is None else outcome.ours.right * 100


def growth(_: Outcome) -> None:
    """How much more the largest size costs than the smallest: that is read off a whole row."""


def _named(outcome: Outcome, name: str) -> Measured | None:
    return next((one for one in outcome.measured if one.role != "ours" and one.name.startswith(name)), None)


def _of(one: Measured, clock: Clock) -> float:
    return one.cpu if clock == "cpu" else one.wall
