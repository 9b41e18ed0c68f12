"""Hunks that stand where their numbers say, or all as far from there: found without a look at all lines of a text.

What is not sure by that is left to `choose`; what is sure is what that would choose too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import eq
from typing import NamedTuple

from toolroll.text.patch.model import Hunk
from toolroll.text.patch.scope import STARTS, begins
from toolroll.text.patch.search import FEW, blankless

_TRIES = 16  # places that look like the right one and are above it
_LINES = 1000  # that may be compared where the longest one of a hunk stands
_WORK = 1 << 24  # characters that may be searched for one file
_FAR = 200  # lines by which numbers may be off
_AT_MARGIN = re.compile(r"\n[A-Za-z_$]")


class DirectHit(NamedTuple):
    """Where a hunk goes: between two places of the text."""

    start: int
    end: int
    line: int
    """The first of its lines, counted from 0."""
    new: str
    exact: bool = True


def places(text: str, hunks: Sequence[Hunk]) -> list[DirectHit] | None:
    """Where each of the hunks goes, in their order; None if that takes a closer look."""
    if "\r" in text or "\ufeff" in text or not all(map(_is_plain, hunks)):
        return None
    for way in (_as_numbered, _shifted, _but_for_blanks):
        if (found := way(text, hunks)) is not None:
            return found
    return None


def _is_plain(hunk: Hunk) -> bool:
    """It has a number and old lines, and nothing is said of what is above it or of the end of the file."""
    told = hunk.old_start is None or hunk.anchors or hunk.at_end or hunk.old_open or hunk.new_open
    return not told and hunk.added < len(hunk.marks)


def _as_numbered(text: str, hunks: Sequence[Hunk], shift: int = 0) -> list[DirectHit] | None:
    """The hunks so many lines below where they say, if each surely stands there, and under its section."""
    found: list[DirectHit] = []
    sections = _Sections(text)
    end = line = 0
    for hunk in hunks:
        old, first = _whole(hunk.old), hunk.first + shift
        start = _below(text, old, end, first - line)
        if start is None or not sections.hold(hunk, start):
            return None
        end, line = start + len(old), first + len(hunk.marks) - hunk.added
        found.append(DirectHit(start, end, first, _whole(hunk.new)))
    return found


def _whole(lines: Sequence[str]) -> str:
    return "\n".join([*lines, ""])


def _below(text: str, block: str, begin: int, lines: int) -> int | None:
    """Where the block of lines stands, if that is so many lines below the line that begins at `begin`."""
    at, known = text.find(block, begin), begin
    for _ in range(_TRIES):
        if at < 0:
            return None
        lines -= text.count("\n", known, at)
        if lines <= 0:
            return at if lines == 0 and (at == 0 or text[at - 1] == "\n") else None
        at, known = text.find(block, at + 1), at
    return None


def _shifted(text: str, hunks: Sequence[Hunk]) -> list[DirectHit] | None:
    """All hunks off by as much as the first, which fits in one place only; and none fits where it says."""
    first = hunks[0]
    at = _only_place(text, first)
    shift = 0 if at is None else text.count("\n", 0, at) - first.first
    found = _as_numbered(text, hunks, shift) if 0 < abs(shift) <= _FAR else None
    if found is None:
        return None
    for hunk, one in zip(hunks, found, strict=True):
        bare = blankless(hunk.old)
        there = blankless(_lines(text, _away(text, one.start, -shift), len(bare)))
        same = sum(map(eq, there, bare))
        stale = len(hunks) == 1 and len(bare) > FEW and same == len(bare) - 1  # someone has changed a line since
        if same == len(bare) or stale:
            return None
    # A hunk without lines after its change ends the file, if it can.
    return found if first is hunks[-1] or hunks[-1].context[1] or found[-1].end == len(text) else None


def _only_place(text: str, hunk: Hunk) -> int | None:
    """Where the old lines stand, blanks at their ends aside, if that is one place."""
    bare = blankless(hunk.old)
    longest = max(bare, key=len)
    above = bare.index(longest)
    padded, found = f"\n{text}", None
    at = padded.find(f"\n{longest}")
    for _ in range(_LINES // len(bare)):
        if at < 0:
            return found
        start = _away(text, at, -above)
        if blankless(_lines(text, start, len(bare))) == bare:
            if found is not None:
                return None
            found = start
        at = padded.find(f"\n{longest}", at + 1)
    return None


def _away(text: str, at: int, lines: int) -> int:
    """Where the line begins that is so many lines below the one that begins at `at`, or above it."""
    for _ in range(-lines):
        at = text.rfind("\n", 0, at - 1) + 1 if at else 0
    for _ in range(lines):
        at = text.find("\n", at) + 1 or len(text)
    return at


def _lines(text: str, at: int, count: int) -> list[str]:
    """So many lines from a place on, as far as there are."""
    lines = text[at : _away(text, at, count)].split("\n")
    return lines if lines[-1] else lines[:-1]


def _but_for_blanks(text: str, hunks: Sequence[Hunk]) -> list[DirectHit] | None:
    """The hunks where they say but for blanks at the ends of lines that stay; as they are, they fit nowhere."""
    if len(hunks) * len(text) > _WORK:
        return None
    found: list[DirectHit] = []
    sections, closed = _Sections(text), f"{text}\n"
    end = line = 0
    for hunk in hunks:
        bare = blankless(hunk.old)
        longest = max(bare, key=len)
        above = bare.index(longest)
        at = _below(text, longest, end, hunk.first + above - line)
        start = -1 if at is None else _away(text, at, -above)
        if start < end or not sections.hold(hunk, start):
            return None
        own = _lines(text, start, len(bare))
        new, exact = _filled(hunk, own) if blankless(own) == bare else ("", False)
        end, line = start + sum(map(len, own)) + len(own), hunk.first + len(own)
        if not new or end > len(text) or (not exact and _whole(hunk.old) in closed):
            return None
        found.append(DirectHit(start, end, hunk.first, new, exact))
    return found


def _filled(hunk: Hunk, own: Sequence[str]) -> tuple[str, bool]:
    """What comes in the place of these lines, and whether they are just as the patch says.

    Nothing, if a line that is to go is not, or if a new one may have to be written in the manner of the file.
    """
    new: list[str] = []
    at, exact = 0, True
    for mark, text in zip(hunk.marks, hunk.texts, strict=True):
        if mark == "+":
            new.append(text)
            continue
        if own[at] != text:
            exact = False
            if mark == "-":
                return "", False
        if mark == " ":
            new.append(own[at])
        at += 1
    made = _whole(new)
    return ("", False) if not exact and ("\r" in made or "\ufeff" in made) else (made, exact)


class _Sections:
    """Whether hunks, taken in their order, lie under the sections that they name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known = ""
        self._at = 0

    def hold(self, hunk: Hunk, start: int) -> bool:
        if not hunk.section:
            return True
        known = hunk.section == self._known and not _AT_MARGIN.search(self._text, self._at, start)
        if not known and not _beneath(self._text, hunk.section, start):
            return False
        self._known, self._at = hunk.section, start
        return True


def _beneath(text: str, section: str, at: int) -> bool:
    """The nearest line above that begins something at the left margin begins with the section."""
    head = text.rfind(f"\n{section}", 0, at) + 1
    if section[0] not in STARTS or head >= at or not begins(text[head : head + len(section) + 1], section):
        return False
    return _AT_MARGIN.search(text, head, at) is None
