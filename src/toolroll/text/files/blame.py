"""Which change wrote each line of a text, from the versions that the text has had."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from toolroll.text.diff import changed_blocks
from toolroll.text.lines import split

BEFORE, OTHERS = 0, -1
"""Who wrote a line that no known change did: it is older than all of them, or others wrote it in between."""


class TextVersion(NamedTuple):
    """A change by its number, and the text before and after it; None where there was none."""

    number: int
    before: str | None
    after: str | None


def blame_lines(versions: Iterable[TextVersion], now: str) -> list[tuple[int, str]]:
    """Each line of the text with the number of the change that wrote it, or BEFORE or OTHERS.

    A text that comes back, as by an undo, has the writers that it had.
    """
    text, writers = "", list[int]()
    known: dict[str, list[int]] = {}

    def become(new: str, writer: int) -> None:
        nonlocal text, writers
        if new not in known:
            known[new] = _carry(text, new, writers, writer)
        text, writers = new, known[new]

    first = BEFORE
    for version in versions:
        if version.before is not None:
            become(version.before, first)
        become(version.after or "", version.number)
        first = OTHERS
    become(now, first)
    return list(zip(writers, split(now), strict=True))


def _carry(old: str, new: str, writers: list[int], writer: int) -> list[int]:
    """The writers of a text's lines after a change by one of them."""
    made, at = list[int](), 0
    for i, j, k, m in changed_blocks(split(old), split(new)):
        made += [*writers[at:i], *[writer] * (m - k)]
        at = j
    return made + writers[at:]
