"""Find which findings about lines are new after a change of the text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from toolroll.text.diff import Block, changed_blocks
from toolroll.text.lines import split


def find_new(
    before: str, after: str, old: Sequence[tuple[int, Hashable]], new: Sequence[tuple[int, Hashable]]
) -> list[int]:
    """Which of the new things (a line from 1, and what is said of it) are not an old one that has moved.

    A line that was itself changed may still have its old thing; each old thing is found once.
    """
    blocks = list(changed_blocks(split(before), split(after)))
    known: dict[Hashable, list[tuple[int, int]]] = {}
    for line, said in old:
        known.setdefault(said, []).append(_now(blocks, line - 1))
    fresh = []
    for at, (line, said) in enumerate(new):
        held = known.get(said, [])
        match = next((one for one in held if one[0] <= line - 1 < one[1]), None)
        if match is None:
            fresh.append(at)
        else:
            held.remove(match)
    return fresh


def _now(blocks: Sequence[Block], line: int) -> tuple[int, int]:
    """The lines where an old line may be: itself, or all that replaced it."""
    moved = 0
    for a1, a2, b1, b2 in blocks:
        if line < a1:
            break
        if line < a2:
            return b1, b2
        moved = b2 - a2
    return line + moved, line + moved + 1
