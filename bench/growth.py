"""How cost grows with the size of the tree: a picture for each case that was measured at several sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench import curve
from bench.cases import Case
from bench.measure import Outcome

UNITS = {"rag": "pieces"}
FEWEST = 3  # sizes that show how something grows


def rows(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The races that were run at several sizes, by row, the smallest first."""
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.row:
            found.setdefault(one.row, []).append(one)
    return {row: sorted(each, key=lambda one: one.size) for row, each in found.items() if len(each) >= FEWEST}


def pictures(results: Mapping[Case, Sequence[Outcome]]) -> dict[str, str]:
    """The pictures by the name of their case."""
    made = {}
    for case, outcomes in results.items():
        drawn = {row: _lines(each) for row, each in rows(outcomes).items()}
        if drawn:
            made[case.name] = curve.panels(UNITS.get(case.name, "files"), drawn)
    return made


def _lines(outcomes: Sequence[Outcome]) -> curve.Lines:
    """The costs of everybody who took part at each size."""
    names = [one.name for one in outcomes[0].measured]
    lines: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    for outcome in outcomes:
        for one in outcome.measured:
            if one.name in lines:
                lines[one.name].append((outcome.size, one.cpu))
    return {name: line for name, line in lines.items() if len(line) == len(outcomes)}
