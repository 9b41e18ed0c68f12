"""Dependency graph of files by the names they define and use, ranked by PageRank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import sqrt

_MIN_NAME_CHARS = 3
_MAX_DEFINITIONS = 20  # a name with more definitions is ignored
_DAMPING = 0.85
_MAX_ROUNDS = 30
_TOLERANCE = 1e-4  # total change of weights at which it has converged

Row = tuple[tuple[str, float], ...]


class Graph:
    """Files by the names that they define and use."""

    def __init__(self) -> None:
        self._defined: dict[str, frozenset[str]] = {}
        self._used: dict[str, Mapping[str, int]] = {}
        self._where: dict[str, set[str]] = {}
        self._users: Counter[str] = Counter()
        self._rows: dict[str, Row] = {}
        self._even: dict[str, float] = {}
        self._start: Mapping[str, float] | None = None

    def put(self, path: str, defined: Iterable[str], used: Mapping[str, int]) -> None:
        names = frozenset(name for name in defined if len(name) >= _MIN_NAME_CHARS)
        before = self._defined.get(path)
        if before is not None:
            self._users.subtract(self._used[path].keys())
        if before == names:
            self._rows.pop(path, None)
        else:
            self._rename(path, before or frozenset(), names)
        self._defined[path] = names
        self._used[path] = used
        self._users.update(used.keys())
        self._even = {}

    def drop(self, path: str) -> None:
        self._rename(path, self._defined.pop(path), frozenset())
        self._users.subtract(self._used.pop(path).keys())
        self._even = {}

    def users(self, name: str) -> int:
        return self._users[name]

    def rank(self, start: Mapping[str, float] | None = None) -> dict[str, float]:
        """The same as `rank_from`, kept for the next time; without a start, all files are alike."""
        if not self._even or self._start != start:
            self._start, self._even = start, self.rank_from(start or dict.fromkeys(self._defined, 1.0))
        return self._even

    def rank_from(self, start: Mapping[str, float], rounds: int = _MAX_ROUNDS) -> dict[str, float]:
        """The PageRank personalised by `start`; a few rounds reach close dependencies at little cost."""
        total = sum(start.values())
        if not total:
            return {}
        origin = {path: weight / total for path, weight in start.items() if path in self._defined}
        here = dict(origin)
        for _ in range(rounds):
            then = {path: (1 - _DAMPING) * weight for path, weight in origin.items()}
            lost = 0.0
            for path, weight in here.items():
                weight *= _DAMPING  # noqa: PLW2901
                row = self.dependencies(path)
                for other, share in row:
                    then[other] = then.get(other, 0.0) + weight * share
                if not row:
                    lost += weight
            if lost:  # the weight of files without dependencies starts again
                for path, weight in origin.items():
                    then[path] += lost * weight
            moved = sum(abs(weight - here.get(path, 0.0)) for path, weight in then.items())
            here = then
            if moved < _TOLERANCE:
                break
        return here

    def dependencies(self, path: str) -> Row:
        """The files that a file depends on, with their shares of its weight."""
        row = self._rows.get(path)
        if row is None:
            row = self._rows[path] = self._compute_row(path)
        return row

    def _compute_row(self, path: str) -> Row:
        found: dict[str, float] = {}
        own, where = self._defined[path], self._where
        for name, times in self._used[path].items():
            if name in own or (others := where.get(name)) is None or len(others) > _MAX_DEFINITIONS:
                continue
            # A name that many files define says little about each of them.
            weight = sqrt(times) / len(others) ** 1.5
            for other in others:
                found[other] = found.get(other, 0.0) + weight
        total = sum(found.values())
        return tuple((other, found[other] / total) for other in sorted(found))

    def _rename(self, path: str, before: frozenset[str], after: frozenset[str]) -> None:
        for name in before - after:
            self._where[name].discard(path)
            if not self._where[name]:
                del self._where[name]
        for name in after - before:
            self._where.setdefault(name, set()).add(path)
        changed = before ^ after
        for other in [one for one in self._rows if not self._used[one].keys().isdisjoint(changed)]:
            del self._rows[other]
        self._rows.pop(path, None)
