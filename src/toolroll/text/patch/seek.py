"""Where the lines of a hunk stand in a file: all places or the nearest ones, with bounded work."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import eq

from toolroll.text.patch.model import Hunk

_WORK = 2_000_000  # lines that may be compared for one file
_FEW = 3  # lines that may look alike by chance
MOST = 16  # places that are looked at for one hunk, unless there are many hunks


@dataclass(slots=True)
class Side:
    """A hunk in the direction in which it is applied, ready to be compared."""

    hunk: Hunk
    number: int
    old: list[str] = field(init=False)
    """The old lines as the patch has them."""
    keys: list[str] = field(init=False)
    """The same without carriage returns and byte order marks."""
    hint: int | None = field(init=False)
    """The line, counted from 0, where the header says they begin."""
    strict: bool = field(init=False)
    """Only line endings change, so they must be as the patch says."""
    gone: list[int] = field(init=False)
    """Which of the old lines are taken out."""
    at_end: bool = field(init=False)
    """They must reach the end of the file."""
    only_end: bool = field(init=False)
    """Only the newline at the end of the file changes."""

    def __post_init__(self) -> None:
        self.old = self.hunk.old
        self.keys = keys(self.old)
        marks = [mark for mark, _ in self.hunk.lines if mark != "+"]
        self.gone = [at for at, mark in enumerate(marks) if mark == "-"]
        self.at_end = self.hunk.at_end or self.hunk.old_open or self.hunk.new_open
        start = self.hunk.old_start
        self.hint = None if start is None else max(0, start - 1) if self.old else start
        new = self.hunk.new
        self.strict = self.old != new and self.keys == keys(new)
        self.only_end = self.old == new and self.hunk.old_open != self.hunk.new_open


@dataclass(slots=True)
class View:
    """A file as lines without their line feeds."""

    lines: list[str]
    keys: list[str]
    open: bool
    """The last line has no line feed."""
    work: int = _WORK
    heads: dict[str, bool] = field(default_factory=dict)
    """Whether a line begins with this, for those that were asked for."""
    margin: tuple[int, int] = (-1, -1)
    """A line, and the nearest one above it that begins something at the left margin."""
    _counts: dict[bool, Counter[str]] = field(default_factory=dict)
    _index: dict[bool, dict[str, list[int]]] = field(default_factory=lambda: {False: {}, True: {}})
    _blankless: list[str] | None = None
    _sides: Sequence[Side] = ()

    @classmethod
    def of(cls, text: str) -> View:
        """The lines of a text."""
        lines = text.split("\n")
        is_open = lines[-1] != ""
        if not is_open:
            lines.pop()
        plain = "\r" not in text and "\ufeff" not in text
        return cls(lines, lines if plain else keys(lines), is_open)

    @property
    def blankless(self) -> list[str]:
        """The keys without the blanks at their ends."""
        if self._blankless is None:
            self._blankless = _blankless(self.keys)
        return self._blankless

    def counts(self, *, loose: bool = False) -> Counter[str]:
        """How often each line stands in the file; `loose`, without the blanks at its end."""
        if loose not in self._counts:
            self._counts[loose] = Counter(self.blankless if loose else self.keys)
        return self._counts[loose]

    def index(self, sides: Sequence[Side], *, loose: bool = False) -> None:
        """Look where the rarest line of each hunk stands, for `places`: of all at once, which takes no longer."""
        self._sides = sides
        counts, index = self.counts(loose=loose), self._index[loose]
        rare = {_rarest(side.keys, counts, loose)[1] for side in sides if side.old}
        new: dict[str, list[int]] = {key: [] for key in rare if key not in index}
        index.update(new)
        if not any(counts[key] for key in new):
            return
        for at, key in enumerate(self.blankless if loose else self.keys):
            if key in new:
                new[key].append(at)

    def fits(self, side: Side, at: int, *, loose: bool = False) -> bool:
        """The old lines stand at line `at`; `loose` passes over blanks at the ends of lines that stay."""
        end = at + len(side.old)
        hunk = side.hunk
        self.work -= len(side.old) + 1
        if at < 0 or end > len(self.lines) or (side.at_end and end != len(self.lines)):
            return False
        if (hunk.old_open and not self.open) or (side.only_end and self.open != hunk.old_open):
            return False
        if side.strict:
            return self.same(side, at)
        here = self.keys[at:end]
        if here == side.keys:
            return True
        return (
            loose and _blankless(here) == _blankless(side.keys) and all(here[at] == side.keys[at] for at in side.gone)
        )

    def nearly(self, side: Side, at: int) -> bool:
        """All of the old lines but one stand at line `at`: someone changed it since."""
        here = _blankless(self.keys[at : at + len(side.old)])
        same = sum(map(eq, here, _blankless(side.keys)))
        return len(side.old) > _FEW and same == len(side.old) - 1

    def same(self, side: Side, at: int) -> bool:
        """The old lines stand there byte for byte, the newline at the end of the file included."""
        end = at + len(side.old)
        is_open = self.open and end == len(self.lines)
        return self.lines[at:end] == side.old and side.hunk.old_open == is_open

    def places(self, side: Side, most: int = MOST, *, loose: bool = False) -> tuple[list[int], bool]:
        """Where the hunk fits, the nearest to its hint first, and whether these are all of the places."""
        if not side.old:
            return self._without_context(side), True
        if side.at_end:
            at = len(self.lines) - len(side.old)
            return ([at] if self.fits(side, at, loose=loose) else []), True
        if not all(self.counts()[side.keys[at]] for at in side.gone):
            return [], True
        rare, key = _rarest(side.keys, self.counts(loose=loose), loose)
        if key not in self._index[loose]:
            self.index([side, *self._sides], loose=loose)
        found: list[int] = []
        for line in _nearest(self._index[loose][key], (side.hint or 0) + rare):
            if len(found) == most or self.work < 0:
                return found, False
            if self.fits(side, line - rare, loose=loose):
                found.append(line - rare)
        return found, True

    def some(self, key: str, most: int) -> list[int]:
        """The first lines that are just this."""
        found: list[int] = []
        for _ in range(min(most, self.counts()[key])):
            found.append(self.keys.index(key, found[-1] + 1 if found else 0))
        return found

    def _without_context(self, side: Side) -> list[int]:
        """Lines that are only added have a place where there is but one: in an empty file, or at the end."""
        return [len(self.lines)] if side.hunk.at_end or not self.lines else []


def _blankless(lines: Iterable[str]) -> list[str]:
    return [line.rstrip(" \t") for line in lines]


def keys(lines: list[str]) -> list[str]:
    """What lines are compared by: a line ending and a byte order mark are no part of it."""
    return [line.removesuffix("\r").removeprefix("\ufeff") for line in lines]


def _rarest(lines: list[str], counts: Counter[str], loose: bool) -> tuple[int, str]:
    """Which of the lines is the rarest in the file, and its key."""
    wanted = _blankless(lines) if loose else lines
    at = min(range(len(wanted)), key=lambda at: counts[wanted[at]])
    return at, wanted[at]


def _nearest(places: list[int], hint: int) -> Iterator[int]:
    """The places in the order of their distance from the hint."""
    right = bisect_left(places, hint)
    left = right - 1
    while left >= 0 or right < len(places):
        if left < 0 or (right < len(places) and places[right] - hint < hint - places[left]):
            yield places[right]
            right += 1
        else:
            yield places[left]
            left -= 1
