"""A short unified diff of a change, for the eye: bounded work, bounded length."""

from __future__ import annotations

from toolroll.text.lines import split

_CONTEXT = 2
_MOST_WORK = 200 * 200  # pairs of lines that may be compared; difflib's worst case is far above its usual
_MOST_LINES = 80


def unified(before: str, after: str) -> str:
    """The changed lines with two lines around them, without file headers; empty when nothing changed."""
    if before == after:
        return ""
    head = _common(before, after)
    head = before.rfind("\n", 0, head) + 1
    tail = _common(before[head:][::-1], after[head:][::-1])
    tail = _whole_lines_at_end(before, head, tail)
    start = _lines_back(before, head)
    end_a, end_b = _lines_on(before, len(before) - tail), _lines_on(after, len(after) - tail)
    first = before.count("\n", 0, start)
    a, b = split(before[start:end_a]), split(after[start:end_b])
    hunks = _small(a, b, first) if len(a) * len(b) <= _MOST_WORK else _large(a, b, first)
    return "\n".join(_cut([line.rstrip("\r\n") for line in hunks]))


def _common(a: str, b: str) -> int:
    """How many characters two texts begin with alike; by halving, because comparing slices is quick."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _whole_lines_at_end(text: str, head: int, tail: int) -> int:
    """Of the last `tail` characters, those that are whole lines."""
    at = len(text) - tail
    if tail == 0 or at == head or text[at - 1 : at] == "\n":
        return tail
    feed = text.find("\n", at)
    return len(text) - feed - 1 if feed >= 0 else 0


def _lines_back(text: str, at: int) -> int:
    """Where the context before a place begins."""
    for _ in range(_CONTEXT):
        at = text.rfind("\n", 0, max(0, at - 1)) + 1
    return at


def _lines_on(text: str, at: int) -> int:
    """Where the context after a place ends."""
    for _ in range(_CONTEXT):
        feed = text.find("\n", at)
        at = feed + 1 if feed >= 0 else len(text)
    return at


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
