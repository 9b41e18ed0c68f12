"""The change of indentation between a quote and the file, and where it leaves the text that replaces the quote."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

_MOST_PAIRS = 1_000_000  # of quoted and new lines that are compared
_UNITS = (4, 2, 8, 3)  # columns that a tab may stand for, the usual first
_TABBED = re.compile(r"\t* *")


@dataclass(frozen=True, slots=True)
class IndentShift:
    """How a quoted block is indented against the file."""

    known: Mapping[str, str]
    """The file's indentation for each one that the quote has."""
    extend: Callable[[str], str | None] | None
    """The file's indentation for another one, or None; None itself where the shift is not the same everywhere."""

    def back(self, line: str) -> str | None:
        """A line of the quote's kind as the file would indent it, or None."""
        if not line.strip():
            return line
        indent = indent_of(line)
        found = self.known.get(indent)
        found = self.extend(indent) if found is None and self.extend is not None else found
        return None if found is None else found + line[len(indent) :]


def between(quoted: Sequence[str], actual: Sequence[str]) -> IndentShift | None:
    """The shift that turns each indentation of the quote into one of the file, if there is one."""
    pairs = [(indent_of(q), indent_of(a)) for q, a in zip(quoted, actual, strict=True) if q.strip()]
    known = dict(pairs)
    if not pairs or any(known[q] != a for q, a in pairs):
        return None
    found = (way(list(known.items())) for way in (_shifted, _converted, _scaled))
    return IndentShift(known, next((one for one in found if one is not None), None))


def indent_of(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def readings(
    new: Sequence[str], quoted: Sequence[str], actual: Sequence[str], shift: IndentShift
) -> tuple[list[str], ...]:
    """The new lines as the file would indent them: one way if it is certain, else the possible ones, the likely first.

    They are written like the quote and have to be shifted, or like the file and stay. Lines that the quote has too,
    and the depth of the first line, prove which.
    """
    moved = [shift.back(line) for line in new]
    shifted = None if None in moved else _unmixed([line for line in moved if line is not None], new, actual)
    as_file = list(new)
    if shifted == as_file:
        return (as_file,)
    if shift.extend is None and not _repeats(new, quoted):
        respelt = _tabbed_side(list(shift.known.items())) is not None and not shift.known.get("")
        return (shifted,) if respelt and shifted is not None else ()
    like_quote = _is_like_quote(new, quoted, actual)
    if like_quote is not None:
        chosen = shifted if like_quote else as_file
        return () if chosen is None else (chosen,)
    return (as_file,) if shifted is None else (shifted, as_file)


def _unmixed(moved: list[str], new: Sequence[str], actual: Sequence[str]) -> list[str] | None:
    """Moved lines with blanks of one kind where the file's lines have one; None where that is not certain.

    The quote was outdented, and the lines that are deeper than it in the new text are so by the other kind.
    """
    kinds = {char for line in actual for char in indent_of(line)}
    if len(kinds) != 1 or all(set(indent_of(line)) <= kinds for line in moved if line.strip()):
        return moved
    own, other = kinds.pop(), {" ": "\t", "\t": " "}
    depths = [len(indent_of(line)) for line in new if line.strip() and indent_of(line)]
    unit = min(depths) if own == "\t" else min(len(indent_of(line)) for line in actual if indent_of(line))
    if unit not in _UNITS or (own == "\t" and any(depth % unit for depth in depths)):
        return None
    was, now = (other[own] * unit, own) if own == "\t" else (other[own], own * unit)
    lines = [
        indent_of(line).replace(was, now) + line[len(indent_of(line)) :] if line.strip() else line for line in moved
    ]
    return lines if all(set(indent_of(line)) <= {own} for line in lines if line.strip()) else None


def _repeats(new: Sequence[str], quoted: Sequence[str]) -> bool:
    """Whether new lines that the quote has too, of which there are some, are indented as there."""
    depths = {line.strip(): indent_of(line) for line in quoted if line.strip()}
    same = [indent_of(line) == depths[line.strip()] for line in new if line.strip() in depths]
    return bool(same) and all(same)


def _is_like_quote(new: Sequence[str], quoted: Sequence[str], actual: Sequence[str]) -> bool | None:
    """Whether the new lines are indented like the quote (True) or like the file (False); None without proof."""
    lines = [(q.strip(), (indent_of(q), indent_of(a))) for q, a in zip(quoted, actual, strict=True) if q.strip()]
    depths: dict[str, set[tuple[str, str]]] = {}
    for text, pair in lines:
        depths.setdefault(text, set()).add(pair)
    words = [line for line in new if line.strip()]
    votes = {vote for line in words if (vote := _vote(line, depths.get(line.strip(), ()))) is not None}
    base = _vote(words[0], lines[0][1:])
    if base is None or votes == {base}:
        return next(iter(votes)) if len(votes) == 1 else None
    if len(votes) != 1:
        return base
    # The votes contradict the first line: the old block was wrapped, or nothing is certain.
    wraps = words[0].strip() not in depths and any(line.strip() == lines[0][0] for line in words)
    return base if wraps or _vote(words[-1], lines[-1][1:]) == base else None


def _vote(line: str, known: Collection[tuple[str, str]]) -> bool | None:
    """Whether a line is as deep as in the quote (True) or as in the file (False); None if that tells nothing."""
    for quoted, actual in known if len(known) == 1 else ():
        if quoted != actual and indent_of(line) in (quoted, actual):
            return indent_of(line) == quoted
    return None


def uneven(new: Sequence[str], quoted: Sequence[str], actual: Sequence[str]) -> tuple[list[str], ...]:
    """The same where quoted lines are off by more and by less: only what stands among lines off alike moves."""
    import difflib

    if len(new) * len(quoted) > _MOST_PAIRS:
        return ()
    was, now = ([line.strip() for line in lines] for lines in (quoted, new))
    offs = [_off(indent_of(q), indent_of(a)) if q.strip() else None for q, a in zip(quoted, actual, strict=True)]
    made: list[str | None] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind == "equal":
            same = zip(quoted[a:b], new[c:d], actual[a:b], strict=True)
            made += [own.removesuffix("\r") if indent_of(q) == indent_of(n) else None for q, n, own in same]
            continue
        off = _common_off(offs, a, b)
        made += [line if off and not line.strip() else off and _moved(line, off) for line in new[c:d]]
    return () if None in made else ([line for line in made if line is not None],)


def _common_off(offs: Sequence[tuple[str, str] | None], start: int, end: int) -> tuple[str, str] | None:
    """By how much the lines from `start` to before `end` are off, if they and those around them tell."""
    before = next((off for off in reversed(offs[:start]) if off), None)
    after = next((off for off in offs[end:] if off), None)
    near = {off for off in offs[start:end] if off} or {off for off in (before, after) if off}
    if len(near) != 1 or not (before is None or after is None or near & {before, after}):
        return None
    return next(iter(near))


def _off(quoted: str, actual: str) -> tuple[str, str] | None:
    """The blanks to take off and those to put before, to get from one indentation to the other."""
    if actual.endswith(quoted):
        return "", actual.removesuffix(quoted)
    return (quoted.removesuffix(actual), "") if quoted.endswith(actual) else None


def _moved(text: str, off: tuple[str, str]) -> str | None:
    return off[1] + text.removeprefix(off[0]) if text.startswith(off[0]) else None


Pairs = Sequence[tuple[str, str]]
Extend = Callable[[str], str | None]


def _shifted(pairs: Pairs) -> Extend | None:
    """The same blanks put before each, or taken off."""
    off = _off(*pairs[0])
    return None if off is None or any(_off(q, a) != off for q, a in pairs) else partial(_moved, off=off)


def _converted(pairs: Pairs) -> Extend | None:
    """Tabs for spaces or spaces for tabs; another depth is converted only if the known ones tell the unit."""
    tabbed = _tabbed_side(pairs)
    if tabbed is None:
        return None
    fitting = [(unit, moves.pop()) for unit in _UNITS if len(moves := _moves(pairs, unit)) == 1]
    chosen = [one for one in fitting if one[1] == 0] or fitting
    if not chosen:
        return None
    unit, move = chosen[0]
    return (lambda indent: _respelled(indent, unit, move, tabbed == 1)) if len(chosen) == 1 else lambda _indent: None


def _tabbed_side(pairs: Pairs) -> int | None:
    """Which side is indented by tabs (and blanks behind them), the other by blanks alone; None for other pairs."""
    for side in (0, 1):
        tabbed = all(_TABBED.fullmatch(one[side]) for one in pairs) and any("\t" in one[side] for one in pairs)
        if tabbed and all(set(one[1 - side]) <= {" "} for one in pairs):
            return side
    return None


def _moves(pairs: Pairs, unit: int) -> set[int]:
    return {_width(actual, unit) - _width(quoted, unit) for quoted, actual in pairs}


def _width(indent: str, unit: int) -> int:
    return sum(unit if char == "\t" else 1 for char in indent)


def _respelled(indent: str, unit: int, move: int, tabs: bool) -> str | None:
    width = _width(indent, unit) + move
    if width < 0:
        return None
    return "\t" * (width // unit) + " " * (width % unit) if tabs else " " * width


def _scaled(pairs: Pairs) -> Extend | None:
    """Two spaces for four or four for two, at two depths or more."""
    if any(set(q + a) - {" "} for q, a in pairs):
        return None
    ratio = next((one for one in ((2, 1), (1, 2)) if all(len(q) * one[0] == len(a) * one[1] for q, a in pairs)), None)
    if ratio is None:
        return None
    up, down = ratio
    return lambda indent: None if set(indent) - {" "} else " " * (len(indent) * up // down)
