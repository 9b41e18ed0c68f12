"""Hunks that stand just where their numbers say: found in the text itself, without a look at all its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolroll.text.patch.model import Hunk
from toolroll.text.patch.scope import STARTS, begins

_TRIES = 16  # places that look like the right one and are above it
_AT_MARGIN = re.compile(r"\n[A-Za-z_$]")


def replaced(text: str, hunks: Sequence[Hunk]) -> str | None:
    """The text with all hunks in it; None unless each surely stands at its number, and under its section."""
    if "\r" in text or "\ufeff" in text:
        return None
    new: list[str] = []
    end = line = beneath = 0
    above = ""
    for hunk in hunks:
        if hunk.old_start is None or hunk.anchors or hunk.at_end or hunk.old_open or hunk.new_open:
            return None
        old, first = _whole(hunk.old), max(0, hunk.old_start - 1)
        start = _place(text, old, end, first - line) if old else None
        if start is None:
            return None
        if hunk.section:
            known = hunk.section == above and not _AT_MARGIN.search(text, beneath, start)
            if not known and not _beneath(text, hunk.section, start):
                return None
            above, beneath = hunk.section, start
        new += text[end:start], _whole(hunk.new)
        end, line = start + len(old), first + len(hunk.marks) - hunk.added
    return "".join([*new, text[end:]])


def _whole(lines: Sequence[str]) -> str:
    return "\n".join([*lines, ""])


def _place(text: str, block: str, begin: int, lines: int) -> int | None:
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


def _beneath(text: str, section: str, at: int) -> bool:
    """The nearest line above that begins something at the left margin begins with the section."""
    head = text.rfind(f"\n{section}", 0, at) + 1
    if section[0] not in STARTS or head >= at or not begins(text[head : head + len(section) + 1], section):
        return False
    return _AT_MARGIN.search(text, head, at) is None
