"""One constant change of indentation between two blocks of lines, and its way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_UNITS = (4, 2, 8, 3)  # columns that a tab may stand for, the usual first


@dataclass(frozen=True, slots=True)
class IndentShift:
    """How a quoted block is indented against the file; `back` puts other lines of the quote into the file's way."""

    back: Callable[[str], str | None]
    """The line as the file would indent it, or None when it stands further left than can be."""


def between(quoted: Sequence[str], actual: Sequence[str]) -> IndentShift | None:
    """The one shift that turns the indentation of every quoted line into that of the file, if there is one."""
    pairs = [(_indent(q), _indent(a)) for q, a in zip(quoted, actual, strict=True) if q.strip()]
    if not pairs:
        return None
    return _added(pairs) or _removed(pairs) or _converted(pairs)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _added(pairs: Sequence[tuple[str, str]]) -> IndentShift | None:
    quoted, actual = pairs[0]
    more = actual.removesuffix(quoted)
    if not actual.endswith(quoted) or any(a != more + q for q, a in pairs):
        return None
    return IndentShift(lambda line: more + line if line.strip() else line)


def _removed(pairs: Sequence[tuple[str, str]]) -> IndentShift | None:
    quoted, actual = pairs[0]
    less = quoted.removesuffix(actual)
    if not quoted.endswith(actual) or any(q != less + a for q, a in pairs):
        return None
    return IndentShift(lambda line: _without(line, less))


def _without(line: str, prefix: str) -> str | None:
    if not line.strip():
        return line
    return line.removeprefix(prefix) if line.startswith(prefix) else None


def _converted(pairs: Sequence[tuple[str, str]]) -> IndentShift | None:
    """Tabs for spaces or spaces for tabs. The unit must be certain: the depths say it, or nothing is moved."""
    tabs = [all(set(one[side]) <= {"\t"} for one in pairs) for side in (0, 1)]
    spaces = [all(set(one[side]) <= {" "} for one in pairs) for side in (0, 1)]
    if not ((tabs[0] and spaces[1]) or (spaces[0] and tabs[1])):
        return None
    fitting = [(unit, moves.pop()) for unit in _UNITS if len(moves := _moves(pairs, unit)) == 1]
    chosen = [one for one in fitting if one[1] == 0] or fitting
    if len(chosen) != 1:
        return None
    unit, move = chosen[0]
    return IndentShift(lambda line: _respelled(line, unit, move, tabs[1]))


def _moves(pairs: Sequence[tuple[str, str]], unit: int) -> set[int]:
    return {_width(actual, unit) - _width(quoted, unit) for quoted, actual in pairs}


def _width(indent: str, unit: int) -> int:
    return sum(unit if char == "\t" else 1 for char in indent)


def _respelled(line: str, unit: int, move: int, tabs: bool) -> str | None:
    if not line.strip():
        return line
    indent = _indent(line)
    width = _width(indent, unit) + move
    if width < 0:
        return None
    spelled = "\t" * (width // unit) + " " * (width % unit) if tabs else " " * width
    return spelled + line[len(indent) :]
