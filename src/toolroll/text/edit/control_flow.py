"""Statements that leave a function, and whether a change of lines loses one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolroll.result import ErrorCode, ToolError

_LEAVES = re.compile(r"\s*(return|yield|raise)\b")
_BEGINS = re.compile(r"\s*(?:async\s+)?def\s")
_PASSED_OVER = ("#", ")", "]", "}")  # such a line may stand further left than the block that it is in


def check_kept(lines: list[str], start: int, end: int, content: str) -> None:
    """Raise ToolError if lines `start` to `end` go, and a return, yield or raise is lost with them.

    New lines must have each kind that the old ones have; without new lines, each function that stays must keep one.
    """
    kept = _kinds(content.split("\n"))
    lost = _kinds(lines[start - 1 : end]) - kept if content.strip() else _bereft(lines, start, end)
    if lost:
        raise ToolError(
            ErrorCode.CONFLICT,
            f"These lines hold {' and '.join(map(repr, sorted(lost)))}, which the new ones lack: nothing was changed. "
            "Take it over into `content`, replace fewer lines, or use `edit` if it is to go.",
        )


def _kinds(lines: Iterable[str]) -> set[str]:
    return {found[1] for line in lines if (found := _LEAVES.match(line))}


def _bereft(lines: list[str], start: int, end: int) -> set[str]:
    """The kinds that a function loses its last one of with these lines; by indentation, so that any text will do."""
    functions: list[tuple[int, int]] = []  # around the line: how far each is indented, and where it begins
    kept: dict[tuple[int, str], bool] = {}
    for number, line in enumerate(lines, 1):
        text = line.lstrip()
        if not text or text.startswith(_PASSED_OVER):
            continue
        while functions and len(line) - len(text) <= functions[-1][0]:
            functions.pop()
        if _BEGINS.match(line):
            functions.append((len(line) - len(text), number))
        elif functions and (found := _LEAVES.match(line)):
            key = functions[-1][1], found[1]
            kept[key] = kept.get(key, False) or not start <= number <= end
    return {kind for (begins, kind), stays in kept.items() if not stays and not start <= begins <= end}
