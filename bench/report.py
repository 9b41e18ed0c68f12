"""What was measured, as a table for the terminal and as a page of the manual."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bench.cases import Case
from bench.figures import number, seconds
from bench.goals import Reached, reached
from bench.measure import Measured, Outcome, ratio
from bench.peers import versions
from bench.wanted import GOALS

Row = tuple[str, ...]
HEAD: Row = ("what", "peer", "CPU", "wall", "memory", "floor", "CPU : floor")

INTRO = """\
# Benchmarks

<!-- Written by `make bench`; do not edit. -->

toolroll beside its peers, measured in one run: everybody has a turn in each round, and the medians are
compared. Numbers are ratios, toolroll : peer. **0.5 is half of what the peer takes, 2 is twice as much.**
CPU time (user and system, children included) is what to trust; wall time depends on what else the machine
does. A floor is the least that anybody must do who keeps nothing from one call to the next.

![CPU time as a ratio to each peer](benchmarks.svg)

```console
$ make bench
```
"""

GOALS_INTRO = """\
## Goals

Rows without a number are what a user may expect; G1 to G10 are where we are going. Of several races the one farthest
from the goal counts. Where a change belongs is measured in [code.md](code.md), whether the right passages are found in
[retrieval.md](retrieval.md).
"""


def facts() -> dict[str, str]:
    """What one must know of the machine to judge the numbers; nothing that names it."""
    named = ", ".join(f"{name} {version}" for name, version in versions().items())
    return {
        "processors": f"{os.cpu_count()}, {platform.machine()}",
        "load when the run ended": f"{os.getloadavg()[1]:.1f}",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "versions": named,
    }


def table(outcomes: Sequence[Outcome]) -> str:
    """The ratios in columns of plain text."""
    rows = _shown([HEAD, *_rows(outcomes)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def page(results: Mapping[Case, Sequence[Outcome]], machine: Mapping[str, str], drawn: Collection[str]) -> str:
    """The page of the manual, in Markdown; `drawn` are the cases that have a picture of how they grow."""
    parts = [INTRO, _markdown([("machine", ""), *machine.items()]), *_goals(list(reached(GOALS, results)))]
    for case, outcomes in results.items():
        growing = f"![How the cost of {case.name} grows](benchmarks-{case.name}.svg)\n"
        parts += [
            f"## {case.name}\n\n{case.about}\n",
            _markdown(_shown([HEAD, *_rows(outcomes)])),
            *([growing] if case.name in drawn else []),
            "<details><summary>Times of this run</summary>\n",
            _markdown(_shown([("what", "who", "", "CPU", "wall", "spread", "memory"), *_times(outcomes)])),
            "</details>\n",
        ]
    return "\n".join(parts)


def _goals(found: Sequence[Reached]) -> Iterator[str]:
    held = sum(one.holds for one in found)
    yield f"{GOALS_INTRO}\n{held} of {len(found)} hold in this run.\n"
    head: Row = ("", "goal", "at most", "now", "to go", "farthest from it")
    yield _markdown([head, *map(_goal, found)])


def _goal(one: Reached) -> Row:
    goal = one.goal
    bound = f"at least {_figure(goal.bound, goal.unit)}" if goal.least else _figure(goal.bound, goal.unit)
    far = "holds" if one.holds else f"{number(one.distance)} times"
    return goal.source, goal.what, bound, _figure(one.value, goal.unit), far, one.race


def _figure(value: float, unit: str) -> str:
    if unit == "x":
        return number(value)
    return f"{value:.4g}%" if unit == "%" else f"{value:.3g} {unit}"


def _rows(outcomes: Iterable[Outcome]) -> Iterator[Row]:
    """One row for each peer of each race."""
    for one in outcomes:
        ours, floor = one.ours, one.floor
        beside = (floor.name, number(ratio(ours.cpu, floor.cpu)))
        peers = one.by_role("peer")
        if not peers:
            yield one.name, "none here", "", "", "", *beside
        for peer in peers:
            memory = number(ratio(ours.memory, peer.memory)) if ours.memory else ""
            cpu, wall = ratio(ours.cpu, peer.cpu), ratio(ours.wall, peer.wall)
            yield one.name, peer.name, number(cpu), number(wall), memory, *beside


def _times(outcomes: Iterable[Outcome]) -> Iterator[Row]:
    for one in outcomes:
        for each in one.measured:
            yield (
                one.name,
                each.name,
                "" if each.role == "ours" else each.role,
                seconds(each.cpu),
                seconds(each.wall),
                f"{each.spread:.0%}",
                _megabytes(each),
            )


def _shown(rows: Sequence[Row]) -> list[Row]:
    """The rows without the columns that are empty in all of them."""
    kept = [at for at in range(len(rows[0])) if any(row[at] for row in rows[1:])]
    return [tuple(row[at] for at in kept) for row in rows]


def _markdown(rows: Sequence[Row]) -> str:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{' --- |' * len(rows[0])}", *body, ""])


def _megabytes(one: Measured) -> str:
    return f"{one.memory / 1e6:.1f} MB" if one.memory else ""
