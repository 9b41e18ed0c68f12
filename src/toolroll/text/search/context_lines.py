"""Attach the lines of context around matches to the matches themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class FoundLine(Protocol):
    """A line of a file; without a column it is a line of context."""

    path: str
    line: int
    column: int
    text: str


def attach_context(rows: Sequence[FoundLine]) -> list[dict[str, Any]]:
    """Each match with the lines of context next to it, up to the next match."""
    return [_match(rows, at) for at, row in enumerate(rows) if row.column]


def _match(rows: Sequence[FoundLine], at: int) -> dict[str, Any]:
    row = rows[at]
    found = {"path": row.path, "line": row.line, "column": row.column, "text": row.text}
    around = {"contextBefore": _beside(rows, at, -1)[::-1], "contextAfter": _beside(rows, at, 1)}
    return {**found, **{name: lines for name, lines in around.items() if lines}}


def _beside(rows: Sequence[FoundLine], at: int, step: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    last, at = rows[at], at + step
    while 0 <= at < len(rows) and not rows[at].column and rows[at].path == last.path:
        if abs(rows[at].line - last.line) != 1:
            break
        last = rows[at]
        lines.append({"line": last.line, "content": last.text})
        at += step
    return lines
