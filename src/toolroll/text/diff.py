"""A short unified diff of a change, for the eye: bounded work, bounded length."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import AnyStr

from toolroll.text.lines import feeds, split

CONTEXT = 3
"""Lines that are shown around a change."""
_MOST_WORK = 200 * 200  # pairs of lines that may be compared; difflib's worst case is far above its usual
_DEEPEST = 8  # parts of parts between lines that both texts have once
_MOST_SPLIT = 16_000_000  # bytes of a change that are split into lines
_MOST_LINES, _MOST_SIDE = 200, 60  # lines that are shown, and of each side of one change
_WIDTH = 300  # characters of a line
_STEP = 1 << 16  # characters that are compared at a time


Block = tuple[int, int, int, int]
"""Lines from and to (from 0, without the last) of the old text, and those that stand there now."""


@dataclass(frozen=True, slots=True)
class Same:
    """How much two texts surely have in common: at their heads, at their tails, and line feeds in the head."""

    head: int = 0
    tail: int = 0
    lines: int = 0


NOTHING = Same()


def unified(before: str, after: str, same: Same = NOTHING) -> str:
    """The changed lines with three lines around them, without file headers; empty when nothing changed."""
    return _unified(before, after, "\n", str, lambda start, end: before.count("\n", start, end), same)


def unified_bytes(before: bytes, after: bytes, decode: Callable[[bytes], str], same: Same = NOTHING) -> str:
    """The same for bytes in which only a line feed looks like one. No more than the lines shown is decoded."""

    def lines(start: int, end: int) -> int:
        return before.count(b"\n", start, end) if start else feeds(before, end)

    return _unified(before, after, b"\n", decode, lines, same)


def count_lines(before: str, after: str) -> tuple[int, int]:
    """How many lines a change adds, and how many it removes."""
    added = removed = 0
    for i, j, k, m in changed_blocks(split(before), split(after)):
        added, removed = added + m - k, removed + j - i
    return added, removed


def common_ends(a: AnyStr, b: AnyStr) -> tuple[int, int]:
    """How much two texts begin with alike, and how much of what is left they end with alike."""
    head = _head(a, b)
    return head, _tail(a, b, min(len(a), len(b)) - head)


def _head(a: AnyStr, b: AnyStr, known: int = 0) -> int:
    return _alike(known, min(len(a), len(b)), lambda at, size: a.startswith(b[at : at + size], at))


def _tail(a: AnyStr, b: AnyStr, most: int, known: int = 0) -> int:
    ends = len(a), len(b)
    return _alike(
        min(known, most), most, lambda at, size: a.endswith(b[ends[1] - at - size : ends[1] - at], 0, ends[0] - at)
    )


def _alike(at: int, most: int, same: Callable[[int, int], bool]) -> int:
    """How far two texts are the same: from a place on, at most so far; in large steps, unless some is known."""
    step, grows = (1, True) if at else (_STEP, False)  # what is known is mostly all
    while at < most:
        size = min(step, most - at)
        if same(at, size):
            at += size
            step = min(2 * step, _STEP) if grows else step
        elif size == 1:
            return at
        else:
            step, grows = size // 2, False
    return at


def _unified(
    before: AnyStr,
    after: AnyStr,
    feed: AnyStr,
    decode: Callable[[AnyStr], str],
    lines: Callable[[int, int], int],
    same: Same,
) -> str:
    """The diff; `lines` counts the line feeds between two places of the old text."""
    head = _head(before, after, same.head)
    if head == len(before) == len(after):
        return ""
    head = before.rfind(feed, 0, head) + 1
    tail = _tail(before, after, min(len(before), len(after)) - head, same.tail)
    tail = _whole_lines_at_end(before, head, tail, feed)
    start = _lines_back(before, head, feed)
    end_a, end_b = _lines_on(before, len(before) - tail, feed), _lines_on(after, len(after) - tail, feed)
    first = same.lines - lines(start, same.head) if start <= same.head else lines(0, start)
    a = split(decode(before[start : min(end_a, start + _MOST_SPLIT)]))
    b = split(decode(after[start : min(end_b, start + _MOST_SPLIT)]))
    return _shown(
        [line for near in near_blocks(a, b) for line in _hunk(a, b, near, first)],
        max(end_a, end_b) - start > _MOST_SPLIT,
    )


def _shown(lines: list[str], more: bool) -> str:
    """The lines of a diff, no more than are read; `more` if there are changes that it does not have."""
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"[{len(lines) - _MOST_LINES} more lines of this diff]"]
    return "\n".join([*lines, "[More changes follow.]"] if more else lines)


def _whole_lines_at_end(text: AnyStr, head: int, tail: int, feed: AnyStr) -> int:
    """Of the last `tail` characters, those that are whole lines."""
    at = len(text) - tail
    if tail == 0 or at == head or text[at - 1 : at] == feed:
        return tail
    found = text.find(feed, at)
    return len(text) - found - 1 if found >= 0 else 0


def _lines_back(text: AnyStr, at: int, feed: AnyStr) -> int:
    """Where the context before a place begins."""
    for _ in range(CONTEXT):
        at = text.rfind(feed, 0, max(0, at - 1)) + 1
    return at


def _lines_on(text: AnyStr, at: int, feed: AnyStr) -> int:
    """Where the context after a place ends."""
    for _ in range(CONTEXT):
        found = text.find(feed, at)
        at = found + 1 if found >= 0 else len(text)
    return at


def lines_alike(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """How many lines two texts begin with alike, and how many of the others they end with alike."""
    most = min(len(a), len(b))
    head = next((at for at in range(most) if a[at] != b[at]), most)
    tail = next((at for at in range(most - head) if a[-1 - at] != b[-1 - at]), most - head)
    return head, tail


def changed_blocks(a: Sequence[str], b: Sequence[str], at: tuple[int, int] = (0, 0), depth: int = 0) -> Iterator[Block]:
    """The runs of lines that differ, in their order. Linear: lines that both texts have once tie them together."""
    head, tail = lines_alike(a, b)
    a, b, at = a[head : len(a) - tail], b[head : len(b) - tail], (at[0] + head, at[1] + head)
    if not a and not b:
        return
    if not a or not b or set(a).isdisjoint(b):
        yield at[0], at[0] + len(a), at[1], at[1] + len(b)
    elif len(a) * len(b) <= _MOST_WORK:
        import difflib

        found = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        yield from ((at[0] + i, at[0] + j, at[1] + k, at[1] + m) for kind, i, j, k, m in found if kind != "equal")
    else:
        yield from _between(a, b, at, depth)


def _between(a: Sequence[str], b: Sequence[str], at: tuple[int, int], depth: int) -> Iterator[Block]:
    """The same of long texts, between the lines that both have once; without such lines, place by place."""
    ties = _ties(a, b) if depth < _DEEPEST else []
    if not ties and len(a) == len(b):
        ties = [(line, line) for line in range(len(a)) if a[line] == b[line]]
    if not ties:
        yield at[0], at[0] + len(a), at[1], at[1] + len(b)
        return
    i = k = 0
    for j, m in [*ties, (len(a), len(b))]:
        if i < j or k < m:
            yield from changed_blocks(a[i:j], b[k:m], (at[0] + i, at[1] + k), depth + 1)
        i, k = j + 1, m + 1


def _ties(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that stand once in both texts, as many as have the same order in both."""
    once = [
        {line: at for at, line in enumerate(lines) if counts[line] == 1}
        for lines in (a, b)
        for counts in [Counter(lines)]
    ]
    pairs = [(at, once[1][line]) for line, at in once[0].items() if line in once[1]]
    ends: list[int] = []  # the smallest end of an ordered run of each length, and where it is among the pairs
    where: list[int] = []
    before: list[int] = []
    for number, (_, second) in enumerate(pairs):
        size = bisect_left(ends, second)
        before.append(where[size - 1] if size else -1)
        ends[size : size + 1], where[size : size + 1] = [second], [number]
    found, number = [], where[-1] if where else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def near_blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[list[Block]]:
    """The runs of lines that differ, those that are near each other together: each list is a hunk."""
    near: list[Block] = []
    for block in [*changed_blocks(a, b), None]:
        if near and (block is None or block[0] - near[-1][1] > 2 * CONTEXT):
            yield near
            near = []
        if block is not None:
            near.append(block)


def _hunk(a: Sequence[str], b: Sequence[str], near: Sequence[Block], first: int) -> list[str]:
    start = max(0, near[0][0] - CONTEXT)
    end = min(len(a), near[-1][1] + CONTEXT)
    grown = sum((m - k) - (j - i) for i, j, k, m in near)
    new_at = near[0][2] - (near[0][0] - start)
    lines = [f"@@ -{first + start + 1},{end - start} +{first + new_at + 1},{end - start + grown} @@"]
    for i, j, k, m in near:
        lines += [" " + _cut(line) for line in a[start:i]]
        lines += _changed(a[i:j], b[k:m])
        start = j
    return [*lines, *(" " + _cut(line) for line in a[start:end])]


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines of one change, of each side no more than a part."""
    starts = [_start(q, n) for q, n in zip(old, new, strict=False)] if len(old) == len(new) else []
    for sign, lines in (("-", old), ("+", new)):
        for at, line in enumerate(lines[:_MOST_SIDE]):
            yield sign + _cut(line, starts[at] if starts else 0)
        if len(lines) > _MOST_SIDE:
            yield f"[{len(lines) - _MOST_SIDE} more lines with {sign}]"


def _start(old: str, new: str) -> int:
    """Where to begin to show two long lines, so that their difference is seen."""
    if max(len(old), len(new)) <= _WIDTH:
        return 0
    return max(0, _head(old, new) - _WIDTH // 3)


def _cut(line: str, start: int = 0) -> str:
    line = line.rstrip("\r\n")
    if len(line) <= _WIDTH:
        return line
    rest = len(line) - start - _WIDTH
    return ("..." if start else "") + line[start : start + _WIDTH] + (f"... [{rest} more]" if rest > 0 else "")
