"""Find where the lines of a hunk stand in a file: all places or the nearest ones, with bounded work."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import compress
from operator import eq

from toolroll.text.edit import relations
from toolroll.text.edit.model import EditSource, Relation, Span
from toolroll.text.patch.model import Hunk

_WORK = 2_000_000  # lines that may be compared for one file
_MOST_TEXT = 8_000_000  # characters of a file that are searched by relations; beyond, only to the letter
_FEW = 3  # lines that may look alike by chance
MOST = 16  # places that are looked at for one hunk, unless there are many hunks


class Side:
    """A hunk in the direction in which it is applied, ready to be compared."""

    def __init__(self, hunk: Hunk, number: int, total: int) -> None:
        self.hunk, self.number, self.total = hunk, number, total
        self.old, new = hunk.old, hunk.new
        self.keys = keys(self.old)
        start = hunk.old_start
        self.hint = None if start is None else max(0, start - 1) if self.old else start
        """The line, counted from 0, where the header says they begin."""
        self.strict = self.old != new and self.keys == keys(new)
        """Only line endings change, so they must be as the patch says."""
        self.at_end = hunk.at_end or hunk.old_open or hunk.new_open
        """They must reach the end of the file."""
        self.only_end = self.old == new and hunk.old_open != hunk.new_open
        """Only the newline at the end of the file changes."""

    def with_hunk(self, hunk: Hunk) -> Side:
        """The same with another hunk in its place."""
        return Side(hunk, self.number, self.total)

    def reversed(self) -> Side:
        """The side that takes this one back."""
        return self.with_hunk(self.hunk.reversed())


class FileLines:
    """A file as lines without their line feeds."""

    def __init__(self, text: str, name: str = "the file") -> None:
        self.name = name
        self.lines = text.split("\n")
        self.open = self.lines[-1] != ""
        """The last line has no line feed."""
        if not self.open:
            self.lines.pop()
        plain = "\r" not in text and "\ufeff" not in text
        self.keys = self.lines if plain else keys(self.lines)
        self.work = _WORK
        self.heads: dict[str, bool] = {}
        """Whether a line begins with this, for those that were asked for."""
        self.margin = (-1, -1)
        """A line, and the nearest one above it that begins something at the left margin."""
        self._size = len(text)
        self._index: dict[str, list[int]] = {}

    @cached_property
    def source(self) -> EditSource:
        """The lines in the views that quotes are looked up in."""
        return EditSource("\n".join(self.keys))

    def index(self, sides: Sequence[Side]) -> None:
        """Look where the lines of hunks stand, for `places`: of all at once, which takes no longer."""
        new: dict[str, list[int]] = {key: [] for side in sides for key in side.keys if key not in self._index}
        for at in compress(range(len(self.keys)), map(new.__contains__, self.keys)):
            new[self.keys[at]].append(at)
        self._index.update(new)

    def fits(self, side: Side, at: int) -> bool:
        """The old lines stand at line `at`."""
        if not self._has_room(side, at):
            return False
        return self.same(side, at) if side.strict else self.keys[at : at + len(side.old)] == side.keys

    def _has_room(self, side: Side, at: int) -> bool:
        """There are as many lines at `at`, and the file ends there if the hunk says so."""
        end, hunk = at + len(side.old), side.hunk
        self.work -= len(side.old) + 1
        if at < 0 or end > len(self.lines) or (side.at_end and end != len(self.lines)):
            return False
        return not ((hunk.old_open and not self.open) or (side.only_end and self.open != hunk.old_open))

    def relation(self, side: Side, at: int) -> Relation | None:
        """How the old lines relate to those at line `at`, if they do."""
        if side.strict or not side.old or not self._has_room(side, at):
            return None
        end = at + len(side.old)
        return relations.of_lines(side.keys, self.keys[at:end], self.source.in_text[at:end])

    def span(self, side: Side, at: int, relation: Relation) -> Span:
        """The lines of a hunk at line `at` as a place in `source`."""
        starts = self.source.starts
        return Span(starts[at], starts[at + len(side.old)] - 1, relation)

    def related(self, side: Side, most: int) -> dict[int, Relation]:
        """Where the hunk fits by a relation: the places of the cheapest one, or all if that one is loose."""
        if (
            side.strict
            or len(side.keys) > len(self.keys)
            or self._size > _MOST_TEXT
            or not any(map(str.strip, side.keys))
        ):
            return {}
        found: dict[int, Relation] = {}
        for at in self.source.windows(side.keys):
            if len(found) == most or self.work < 0:
                break
            if (relation := self.relation(side, at)) is not None:
                found[at] = relation
        return relations.cheapest(found)

    def nearly(self, side: Side, at: int) -> bool:
        """All of the old lines but one stand at line `at`: someone changed it since."""
        here = [line.rstrip(" \t") for line in self.keys[at : at + len(side.old)]]
        same = sum(map(eq, here, (key.rstrip(" \t") for key in side.keys)))
        return len(side.old) > _FEW and same == len(side.old) - 1

    def same(self, side: Side, at: int) -> bool:
        """The old lines stand there byte for byte, the newline at the end of the file included."""
        end = at + len(side.old)
        is_open = self.open and end == len(self.lines)
        return self.lines[at:end] == side.old and side.hunk.old_open == is_open

    def stands(self, side: Side, at: int) -> bool:
        """The hunk only adds lines, and fits line `at`, but what it makes of it is there already."""
        if side.hunk.removed or not any(map(str.isalnum, "".join(side.hunk.only_new))):
            return False
        back, lead = side.reversed(), len(side.hunk.marks) - len(side.hunk.marks.lstrip("+"))
        return self.fits(back, at) or self.fits(back, at - lead)

    def places(self, side: Side, most: int = MOST) -> tuple[list[int], bool]:
        """Where the hunk fits, the nearest to its hint first, and whether these are all of the places."""
        if not side.old:  # lines that are only added have a place in an empty file, or at the end
            return [len(self.lines)] if side.hunk.at_end or not self.lines else [], True
        if side.at_end:
            at = len(self.lines) - len(side.old)
            return ([at] if self.fits(side, at) else []), True
        if not all(key in self._index for key in side.keys):
            self.index([side])
        stand = [self._index[key] for key in side.keys]
        rare = min(range(len(stand)), key=lambda at: len(stand[at]))
        found: list[int] = []
        for line in _nearest(stand[rare], (side.hint or 0) + rare):
            if len(found) == most or self.work < 0:
                return found, False
            if self.fits(side, line - rare):
                found.append(line - rare)
        return found, True


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
