"""Find which findings about lines are new after a change of the text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from toolroll.text.lines import split

_MOST_WORK = 1000 * 1000  # pairs of lines that may be compared; a larger change counts as one

Block = tuple[int, int, int, int]
"""Lines from and to (from 0, without the last) of the old text, and those that stand there now."""


def find_new(
    before: str, after: str, old: Sequence[tuple[int, Hashable]], new: Sequence[tuple[int, Hashable]]
) -> list[int]:
    """Which of the new things (a line from 1, and what is said of it) are not an old one that has moved.

    A line that was itself changed may still have its old thing; each old thing is found once.
    """
    places = _Places(before, after)
    known: dict[Hashable, list[tuple[int, int]]] = {}
    for line, said in old:
        known.setdefault(said, []).append(places.now(line - 1))
    fresh = []
    for at, (line, said) in enumerate(new):
        held = known.get(said, [])
        match = next((one for one in held if one[0] <= line - 1 < one[1]), None)
        if match is None:
            fresh.append(at)
        else:
            held.remove(match)
    return fresh


class _Places:
    """Where the lines of an old text are in the new one."""

    def __init__(self, before: str, after: str) -> None:
        self._blocks = _changes(split(before), split(after))

    def now(self, line: int) -> tuple[int, int]:
        """The lines where an old line may be: itself, or all that replaced it."""
        moved = 0
        for a1, a2, b1, b2 in self._blocks:
            if line < a1:
                break
            if line < a2:
                return b1, b2
            moved = b2 - a2
        return line + moved, line + moved + 1


def _changes(a: list[str], b: list[str]) -> list[Block]:
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    old, new = a[head : len(a) - tail], b[head : len(b) - tail]
    if not old and not new:
        return []
    if len(old) * len(new) > _MOST_WORK:
        return [(head, len(a) - tail, head, len(b) - tail)]
    import difflib

    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(head + i, head + j, head + k, head + m) for kind, i, j, k, m in found if kind != "equal"]
