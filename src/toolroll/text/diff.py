"""A short unified diff of a change, for the eye: bounded work, bounded length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import AnyStr

from toolroll.text.lines import feeds, split

_CONTEXT = 2
_MOST_WORK = 200 * 200  # pairs of lines that may be compared; difflib's worst case is far above its usual
_MOST_LINES = 80
_STEP = 1 << 16  # characters that are compared at a time


@dataclass(frozen=True, slots=True)
class Same:
    """How much two texts surely have in common: at their heads, at their tails, and line feeds in the head."""

    head: int = 0
    tail: int = 0
    lines: int = 0


NOTHING = Same()


def unified(before: str, after: str, same: Same = NOTHING) -> str:
    """The changed lines with two lines around them, without file headers; empty when nothing changed."""
    return _unified(before, after, "\n", str, lambda start, end: before.count("\n", start, end), same)


def unified_bytes(before: bytes, after: bytes, decode: Callable[[bytes], str], same: Same = NOTHING) -> str:
    """The same for bytes in which only a line feed looks like one. No more than the lines shown is decoded."""

    def lines(start: int, end: int) -> int:
        return before.count(b"\n", start, end) if start else feeds(before, end)

    return _unified(before, after, b"\n", decode, lines, same)


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
    a, b = split(decode(before[start:end_a])), split(decode(after[start:end_b]))
    hunks = _small(a, b, first) if len(a) * len(b) <= _MOST_WORK else _large(a, b, first)
    return "\n".join(_cut([line.rstrip("\r\n") for line in hunks]))


def _whole_lines_at_end(text: AnyStr, head: int, tail: int, feed: AnyStr) -> int:
    """Of the last `tail` characters, those that are whole lines."""
    at = len(text) - tail
    if tail == 0 or at == head or text[at - 1 : at] == feed:
        return tail
    found = text.find(feed, at)
    return len(text) - found - 1 if found >= 0 else 0


def _lines_back(text: AnyStr, at: int, feed: AnyStr) -> int:
    """Where the context before a place begins."""
    for _ in range(_CONTEXT):
        at = text.rfind(feed, 0, max(0, at - 1)) + 1
    return at


def _lines_on(text: AnyStr, at: int, feed: AnyStr) -> int:
    """Where the context after a place ends."""
    for _ in range(_CONTEXT):
        found = text.find(feed, at)
        at = found + 1 if found >= 0 else len(text)
    return at


def _lines_alike(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """How many lines two texts begin with alike, and how many of the others they end with alike."""
    most = min(len(a), len(b))
    head = next((at for at in range(most) if a[at] != b[at]), most)
    tail = next((at for at in range(most - head) if a[-1 - at] != b[-1 - at]), most - head)
    return head, tail


def _small(a: list[str], b: list[str], first: int) -> list[str]:
    head, tail = _lines_alike(a, b)
    gone, new = a[head : len(a) - tail], b[head : len(b) - tail]
    if set(gone).isdisjoint(new):
        return _one(a, gone, new, head, tail, first)
    import difflib

    hunks = []
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(_CONTEXT):
        (_, a1, _, b1, _), (_, _, a2, _, b2) = group[0], group[-1]
        hunks.append(_header(a1 + first, a2 - a1, b1 + first, b2 - b1))
        for kind, i, j, k, end in group:
            if kind == "equal":
                hunks += [" " + line for line in a[i:j]]
            else:
                hunks += ["-" + line for line in a[i:j]] + ["+" + line for line in b[k:end]]
    return hunks


def _one(a: list[str], gone: list[str], new: list[str], head: int, tail: int, first: int) -> list[str]:
    """The hunk of a change in one place."""
    start, end = max(0, head - _CONTEXT), min(len(a), len(a) - tail + _CONTEXT)
    around = end - start - len(gone)
    return [
        _header(first + start, around + len(gone), first + start, around + len(new)),
        *(" " + line for line in a[start:head]),
        *("-" + line for line in gone),
        *("+" + line for line in new),
        *(" " + line for line in a[len(a) - tail : end]),
    ]


def _large(a: list[str], b: list[str], first: int) -> list[str]:
    header = _header(first, len(a), first, len(b))
    return [header, *("-" + line for line in a), *("+" + line for line in b)]


def _header(old_at: int, old_count: int, new_at: int, new_count: int) -> str:
    return f"@@ -{old_at + 1},{old_count} +{new_at + 1},{new_count} @@"


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"[{len(lines) - _MOST_LINES} more lines of this diff]"]
