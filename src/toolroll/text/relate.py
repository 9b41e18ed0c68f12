"""How a quoted block may relate to lines of a file, and what each relation does to the text that replaces them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from toolroll.text import code, indent

Rewrite = Callable[[str], str | None]
"""From the caller's new text to the file's way of writing it; None when there is no certain way."""

# What a relation costs: a place found by a cheaper one is the better place.
EXACT, BLANKS, PASTED, INDENT, ESCAPED, TOKENS, TYPOGRAPHY = 0, 1, 1, 2, 3, 3, 4


@dataclass(frozen=True, slots=True)
class Relation:
    """A way in which a quote is not the file's text to the letter, and the way back for what replaces it."""

    name: str
    cost: int
    rewrite: Rewrite

    def then(self, other: Relation) -> Relation:
        """Both at once: this one was taken off the quote first."""
        names = [name for name in (self.name, other.name) if name != "exact"]

        def rewrite(new: str) -> str | None:
            halfway = self.rewrite(new)
            return None if halfway is None else other.rewrite(halfway)

        return Relation(" and ".join(names) or "exact", self.cost + other.cost, rewrite)


AS_IT_IS = Relation("exact", EXACT, lambda new: new)


def readings(old: str) -> Iterator[tuple[str, Relation]]:
    """The quote as it is, and without what was pasted around it: line numbers, a fence, one level of escapes."""
    yield old, AS_IT_IS
    if (plain := _without_numbers(old)) is not None:
        yield plain, Relation("line numbers taken off", PASTED, _numbers_off)
    if (plain := _without_fence(old)) is not None:
        yield plain, Relation("fence taken off", PASTED, lambda new: _without_fence(new) or new)
    if (plain := _unescaped(old)) != old:
        yield plain, Relation("escapes undone", ESCAPED, _unescaped)


def of_lines(quoted: Sequence[str], actual: Sequence[str], in_text: Sequence[bool]) -> Relation | None:
    """The cheapest relation by which these lines are those, or None. `in_text` marks lines where blanks count."""
    found = _of_lines(quoted, actual, in_text)
    if found is not None:
        return found
    plain = [line.translate(_TYPOGRAPHY) for line in quoted]
    # Only from typographic to plain: which quote mark of the file a plain one stood for could not be told.
    found = _of_lines(plain, actual, in_text) if plain != list(quoted) else None
    return None if found is None else _PLAIN_MARKS.then(found)


def _of_lines(quoted: Sequence[str], actual: Sequence[str], in_text: Sequence[bool]) -> Relation | None:
    pairs = list(zip(quoted, actual, strict=True))
    if all(q == a for q, a in pairs):
        return AS_IT_IS
    if all(q.rstrip() == a.rstrip() for q, a in pairs):
        return Relation("trailing blanks or line endings", BLANKS, lambda new: new)
    if all(q.strip() == a.strip() for q, a in pairs):
        shift = indent.between(quoted, actual)
        return None if shift is None else Relation("indentation", INDENT, _each_line(shift.back))
    loose = [q.rstrip() != a.rstrip() for q, a in pairs]
    if any(differs and inside for differs, inside in zip(loose, in_text, strict=True)):
        return None
    if all(_indentation(q) == _indentation(a) and (q == a or code.same(q, a)) for q, a in pairs):
        return Relation("blanks between tokens", TOKENS, lambda new: new)
    return None


def squeezed(line: str) -> str:
    """A line without any blank and with plain marks: lines that relate in any way are equal in this."""
    return "".join(line.translate(_TYPOGRAPHY).split())


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())] if line.strip() else ""


def _each_line(back: Rewrite) -> Rewrite:
    def rewrite(new: str) -> str | None:
        lines = [back(line) for line in new.split("\n")]
        return None if any(line is None for line in lines) else "\n".join(line for line in lines if line is not None)

    return rewrite


_TYPOGRAPHY = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
        "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u2009": " ", "\u202f": " ", "\u3000": " ",
        "\u200b": None, "\u200c": None, "\u200d": None, "\ufeff": None,
    }
)  # fmt: skip
_PLAIN_MARKS = Relation("typographic marks", TYPOGRAPHY, lambda new: new.translate(_TYPOGRAPHY))

_NUMBER = re.compile(r"[ \t]*(\d+)(\u2192|\t|[ \t]?\|[ ]?|:[ ]?)")


def _without_numbers(old: str) -> str | None:
    """The quote without its line numbers, if each line has one and they count up by one."""
    lines = old.removesuffix("\n").split("\n")
    found = [_NUMBER.match(line) for line in lines]
    numbers = [int(one[1]) for one in found if one is not None]
    marks = {one[2].strip(" ") for one in found if one is not None}
    if len(numbers) != len(lines) or len(marks) != 1 or numbers != list(range(numbers[0], numbers[0] + len(lines))):
        return None
    if len(lines) == 1 and not marks & {"\u2192", "\t"}:
        return None  # "12: x" alone may well be the text itself
    return "\n".join(line[one.end() :] for line, one in zip(lines, found, strict=True) if one is not None) + (
        "\n" if old.endswith("\n") else ""
    )


def _numbers_off(new: str) -> str:
    """The new text without line numbers, where its lines have them."""
    lines = new.split("\n")
    if not all(_NUMBER.match(line) or not line for line in lines):
        marked = re.compile(r"[ \t]*\d+\u2192")
        return "\n".join(marked.sub("", line, count=1) for line in lines)
    return "\n".join(_NUMBER.sub("", line, count=1) for line in lines)


_FENCE = re.compile(r"\A\s*(```+|~~~+)[^\n`]*\n(.*?)\n?[ \t]*\1[ \t]*\n?\Z", re.DOTALL)


def _without_fence(text: str) -> str | None:
    found = _FENCE.match(text)
    return found[2] if found else None


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\([\"'`\\/nrt$])")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)
