"""A short unified diff of a change, for the eye: bounded work, bounded length."""

from __future__ import annotations

from itertools import takewhile

from toolroll.text.lines import split

_CONTEXT = 2
_MOST_WORK = 200 * 200  # pairs of lines that may be compared; difflib's worst case is far above its usual
_MOST_LINES = 80


def unified(before: str, after: str) -> str:
    """The changed lines with two lines around them, without file headers; empty when nothing changed."""
    old, new = split(before), split(after)
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    rest = min(len(old), len(new)) - head
    tail_pairs = zip(reversed(old[head:]), reversed(new[head:]), strict=False)
    tail = min(rest, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], tail_pairs)))
    first = max(0, head - _CONTEXT)
    a, b = old[first : len(old) - max(0, tail - _CONTEXT)], new[first : len(new) - max(0, tail - _CONTEXT)]
    if head == len(old) == len(new):
        return ""
    hunks = _small(a, b, first) if len(a) * len(b) <= _MOST_WORK else _large(a, b, first)
    return "\n".join(_cut([line.rstrip("\r\n") for line in hunks]))


def _small(a: list[str], b: list[str], first: int) -> list[str]:
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


def _large(a: list[str], b: list[str], first: int) -> list[str]:
    header = _header(first, len(a), first, len(b))
    return [header, *("-" + line for line in a), *("+" + line for line in b)]


def _header(old_at: int, old_count: int, new_at: int, new_count: int) -> str:
    return f"@@ -{old_at + 1},{old_count} +{new_at + 1},{new_count} @@"


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"[{len(lines) - _MOST_LINES} more lines of this diff]"]
