"""Find underlined headings, as in reStructuredText and many plain texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Heading = tuple[int, int, int, str]  # its first and last line, counted from 1, its level and its words
_LINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_MAX_HEADING_CHARS = 200  # characters of a heading


def find_underlined(lines: Sequence[str]) -> Iterator[Heading]:
    """The headings of a text.

    The order in which the signs first appear gives their levels. A heading with the same line
    above it is of another level than one without.
    """
    levels: dict[tuple[str, bool], int] = {}
    taken = 0  # lines that the headings so far, and what is above them, consist of
    for at in range(1, len(lines)):
        if at - 1 < taken or not _LINE.match(lines[at]):
            continue
        line, below = lines[at - 1], lines[at].rstrip()
        above = lines[at - 2].rstrip() if at - 2 >= taken else ""
        over = above == below
        if not _is_heading(line, below) or (not over and (above or line[0].isspace())):
            continue  # else it is the end of a paragraph, or a line of a table
        level = levels.setdefault((below[0], over), len(levels) + 1)
        taken = at + 1
        yield at - (1 if over else 0), at + 1, level, line.strip()


def _is_heading(line: str, below: str) -> bool:
    return bool(line.strip()) and len(line.rstrip()) <= min(len(below), _MAX_HEADING_CHARS) and not _LINE.match(line)
