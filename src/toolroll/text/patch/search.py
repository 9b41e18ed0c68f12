"""Find where the lines of a hunk stand in a file: all places or the nearest ones, with bounded work."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
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
    bare: list[str] = field(init=False)
    """And without blanks at their ends."""
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
        self.bare = blankless(self.keys)
        self.gone = [at for at, mark in enumerate(self.hunk.marks.replace("+", "")) if mark == "-"]
        self.at_end = self.hunk.at_end or self.hunk.old_open or self.hunk.new_open
        start = self.hunk.old_start
        self.hint = None if start is None else max(0, start - 1) if self.old else start
        new = self.hunk.new
        self.strict = self.old != new and self.keys == keys(new)
        self.only_end = self.old == new and self.hunk.old_open != self.hunk.new_open


@dataclass(slots=True)
class FileLines:
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
    _index: dict[bool, dict[str, list[int]]] = field(default_factory=lambda: {False: {}, True: {}})
    _blankless: list[str] | None = None
    _sides: Sequence[Side] = ()

    @classmethod
    def of(cls, text: str) -> FileLines:
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
            self._blankless = blankless(self.keys)
        return self._blankless

    def index(self, sides: Sequence[Side], *, loose: bool = False) -> None:
        """Look where the lines of hunks stand, for `places`: of all at once, which takes no longer."""
        self._sides = sides
        lines, index = self.blankless if loose else self.keys, self._index[loose]
        wanted = (key for side in sides for key in (side.bare if loose else side.keys))
        new: dict[str, list[int]] = {key: [] for key in wanted if key not in index}
        for at in compress(range(len(lines)), map(new.__contains__, lines)):
            new[lines[at]].append(at)
        index.update(new)

    def where(self, side: Side, *, loose: bool = False) -> list[list[int]]:
        """For each old line of a hunk, where it stands; `loose`, without the blanks at its end."""
        lines, index = side.bare if loose else side.keys, self._index[loose]
        if not all(key in index for key in lines):
            self.index([side, *self._sides], loose=loose)
        return [index[key] for key in lines]

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
        return loose and blankless(here) == side.bare and all(here[at] == side.keys[at] for at in side.gone)

    def nearly(self, side: Side, at: int) -> bool:
        """All of the old lines but one stand at line `at`: someone changed it since."""
        here = blankless(self.keys[at : at + len(side.old)])
        same = sum(map(eq, here, side.bare))
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
        exactly = self.where(side)
        if not all(exactly[at] for at in side.gone):
            return [], True
        stand = self.where(side, loose=True) if loose else exactly
        rare = min(range(len(stand)), key=lambda at: len(stand[at]))
        found: list[int] = []
        for line in _nearest(stand[rare], (side.hint or 0) + rare):
            if len(found) == most or self.work < 0:
                return found, False
            if self.fits(side, line - rare, loose=loose):
                found.append(line - rare)
        return found, True

    def _without_context(self, side: Side) -> list[int]:
        """Lines that are only added have a place where there is but one: in an empty file, or at the end."""
        return [len(self.lines)] if side.hunk.at_end or not self.lines else []


def blankless(lines: Iterable[str]) -> list[str]:
    """The lines without the blanks at their ends."""
    return [line.rstrip(" \t") for line in lines]


def keys(lines: list[str]) -> list[str]:
    """What lines are compared by: a line ending and a byte order mark are no part of it."""
    return [line.removesuffix("\r").removeprefix("\ufeff") for line in lines]


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
