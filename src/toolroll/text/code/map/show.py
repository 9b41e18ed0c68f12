"""Lay out a map within a budget of tokens: files, and their most important definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import NamedTuple

from toolroll.text.code.map.file_facts import Mark
from toolroll.text.names import show_name
from toolroll.text.tokens import estimate

_MIN_FILE_TOKENS = 20  # of a file with its most important definitions
_MIN_LINE_TOKENS = 3
_NEXT_SHARE = 0.9  # each further definition of a file is worth less, to leave room for others


@dataclass(slots=True)
class MapPart:
    """A file of a map, and its shown definitions in the order of the source."""

    path: str
    score: float
    marks: list[Mark] = field(default_factory=list)


class _Item(NamedTuple):
    worth: float  # negative, so that the best sorts first
    file: int
    mark: int  # -1 for the file itself


class MapLayout:
    """Fills a budget of tokens, best first."""

    def __init__(
        self,
        files: Sequence[tuple[str, float]],
        marks: Callable[[str], Sequence[Mark]],
        values: Callable[[str], Sequence[float]],
        most: int,
    ) -> None:
        """`files` with their scores, best first; `values` gives the worth of each of the `marks` of a file."""
        self._most = most
        self._files = files[: 1 + most // _MIN_FILE_TOKENS]
        self._marks = {path: marks(path) for path, _ in self._files}
        self._values = values
        self._chosen: dict[int, set[int]] = {}

    def parts(self, kept: int) -> list[MapPart]:
        """The files and definitions that fit, with `kept` tokens reserved."""
        self._chosen = {}
        most = self._most - kept
        room = most
        rest: Iterable[_Item] = islice(self._candidates(), self._most)  # each takes at least a few tokens
        for _ in range(2):  # the second time with what rounding up has left
            rest = self._fill(rest, room)
            room = most - estimate("\n".join(render(self._made())))
        return self._made()

    def _candidates(self) -> Iterator[_Item]:
        """Best first. No definition is worth more than its file, so definitions are added when their file is taken."""
        waiting = [_Item(-score, at, -1) for at, (_, score) in enumerate(self._files)]
        heapify(waiting)
        while waiting:
            item = heappop(waiting)
            yield item
            if item.mark < 0:
                for one in self._within(item.file):
                    heappush(waiting, one)

    def _within(self, file: int) -> Iterator[_Item]:
        path, score = self._files[file]
        worths = self._values(path)
        best = sorted(range(len(worths)), key=lambda mark: (-worths[mark], mark))
        for order, mark in enumerate(islice(best, 100)):
            yield _Item(-score * worths[mark] * _NEXT_SHARE ** (order + 1), file, mark)

    def _fill(self, items: Iterable[_Item], room: int) -> list[_Item]:
        """Take items that fit into the room; return the others."""
        missed = []
        for item in items:
            if room < _MIN_LINE_TOKENS:
                break
            cost = sum(estimate(f"{line}\n") for line in self._new(item))
            if cost > room or (item.mark >= 0 and item.file not in self._chosen):
                missed.append(item)
                continue
            room -= cost
            self._take(item)
        return missed

    def _new(self, item: _Item) -> Iterator[str]:
        """The lines that an item adds: its own, and those of its parents."""
        path = self._files[item.file][0]
        if item.mark < 0:
            yield show_name(path)
            return
        marks = self._marks[path]
        for at in self._with_parents(path, item.mark):
            if at not in self._chosen.get(item.file, ()):
                yield line_of(marks[at], 6)

    def _take(self, item: _Item) -> None:
        chosen = self._chosen.setdefault(item.file, set())
        if item.mark >= 0:
            chosen.update(self._with_parents(self._files[item.file][0], item.mark))

    def _with_parents(self, path: str, at: int) -> Iterator[int]:
        marks = self._marks[path]
        yield at
        wanted = marks[at].parent
        while wanted and at > 0:
            at -= 1
            if marks[at].path == wanted:
                yield at
                wanted = marks[at].parent

    def _made(self) -> list[MapPart]:
        made = []
        for at, (path, score) in enumerate(self._files):
            if at in self._chosen:
                marks = self._marks[path]
                made.append(MapPart(path, round(score, 3), [marks[mark] for mark in sorted(self._chosen[at])]))
        return made


def render(parts: Sequence[MapPart]) -> list[str]:
    """The lines of a map."""
    lines = []
    for part in parts:
        lines.append(show_name(part.path))
        width = max((len(str(mark.line)) for mark in part.marks), default=0)
        lines += [line_of(mark, width) for mark in part.marks]
    return lines


def line_of(mark: Mark, width: int) -> str:
    """A definition as text: line number and signature, indented by depth."""
    depth = mark.parent.count(".") + 1 if mark.parent else 0
    return f"  {mark.line:>{width}} {'  ' * depth}{mark.text}"
