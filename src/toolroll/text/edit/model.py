"""The values of an edit: a text to look quotes up in, a place in it, and what a replacement made."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice

from toolroll.text import code_tokens
from toolroll.text.diff import Same

Rewrite = Callable[[str], tuple[str, ...]]
"""From the caller's new text to the file's way of writing it: one, none if there is no certain way, or several."""

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
        names = [name for name in (self.name, other.name) if name not in ("", "exact")]

        def rewrite(new: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(made for halfway in self.rewrite(new) for made in other.rewrite(halfway)))

        return Relation(" and ".join(names) or "exact", self.cost + other.cost, rewrite)


_FIRST_END, _LAST_END = re.compile(r"\A[ \t]*\r?\n"), re.compile(r"\r?\n([ \t]*)\Z")


def unchanged(new: str) -> tuple[str, ...]:
    """The rewrite of a relation that leaves the new text alone."""
    return (new,)


def last_end_off(new: str) -> tuple[str, ...]:
    """The rewrite where the place has no line end behind it, though the quote had."""
    return (_LAST_END.sub("", new),)


AS_IT_IS = Relation("exact", EXACT, unchanged)


PLAIN_MARKS = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
        "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u2009": " ", "\u202f": " ", "\u3000": " ",
        "\u200b": None, "\u200c": None, "\u200d": None, "\ufeff": None,
    }
)  # fmt: skip
"""Typographic marks, and what stands for each in code."""


_ASCII_BLANKS = " \t\r\x0b\x0c\x1c\x1d\x1e\x1f"  # what `split` takes for blanks, but for line feeds


def squeezed(line: str) -> str:
    """A line without any blank and with plain marks: lines that relate in any way are equal in this."""
    return "".join(line.translate(PLAIN_MARKS).split())


@dataclass(frozen=True, slots=True)
class Span:
    """A place: where it begins and ends, and how the quote relates to it."""

    start: int
    end: int
    relation: Relation


def keep_line_ends(quote: str, written: str, *, inside: bool) -> str:
    """What replaces a quote, with a line end (and blanks behind it) where the quote has one at an edge.

    So no line around the quote is joined to the new text or loses its indentation. `inside`: it begins within a line.
    """
    head = _FIRST_END.match(quote) if inside else None
    tail = _LAST_END.search(quote)
    if not written:
        return "\n" if head and tail else ""
    if tail is not None:
        written = written.rstrip(" \t") if _LAST_END.search(written) else written + "\n"
        written += tail[1]
    return "\n" + _FIRST_END.sub("", written, count=1) if head else written


class EditSource:
    """A file's text in the views that quotes are looked up in. Each is made once, when it is needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their line feeds."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins in the text."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    @cached_property
    def in_text(self) -> list[bool]:
        return list(code_tokens.inside_text(self.lines))

    @cached_property
    def squeezed(self) -> str:
        """All lines without blanks, each between line feeds."""
        if not self.text.isascii():
            return "\n" + "\n".join(map(squeezed, self.lines)) + "\n"
        text = self.text
        for blank in _ASCII_BLANKS:
            text = text.replace(blank, "")
        return f"\n{text}\n"

    @cached_property
    def squeezed_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.squeezed[1:-1].split("\n"))]

    def line_at(self, place: int) -> int:
        """The number of the line that a place is in, from 1."""
        if "starts" not in self.__dict__:  # few places of a long text are found sooner than all of its lines
            return self.text.count("\n", 0, place) + 1
        return bisect_right(self.starts, place)

    def ways(self, span: Span, new: str) -> tuple[str, ...]:
        """How the new text can be written at a place. If it was found loosely, the line ends at its edges stay."""
        ways = span.relation.rewrite(new)
        if span.relation.name == AS_IT_IS.name:
            return ways
        inside = span.start > 0 and self.text[span.start - 1] != "\n"
        return tuple(keep_line_ends(self.text[span.start : span.end], way, inside=inside) for way in ways)

    def windows(self, quoted: Sequence[str]) -> Iterator[int]:
        """The first line (from 0) of every run of lines that equals the quoted ones but for blanks and marks."""
        wanted = "\n" + "\n".join(map(squeezed, quoted)) + "\n"
        at = self.squeezed.find(wanted)
        while at >= 0:
            yield bisect_right(self.squeezed_starts, at) - 1
            at = self.squeezed.find(wanted, at + 1)


@dataclass(frozen=True, slots=True)
class EditResult:
    """The new text, the places replaced (as spans of the old one), and the relation they were found by."""

    text: str
    spans: tuple[tuple[int, int], ...]
    relation: str
    lines: tuple[int, int]
    """First and last line touched, counted in the old text."""

    @property
    def count(self) -> int:
        return len(self.spans)

    @property
    def made(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class SplicedBytes:
    """The same as bytes; the quote was found to the letter."""

    data: bytes
    spans: tuple[tuple[int, int], ...]
    lines: tuple[int, int]
    same: Same
    relation = "exact"
    count = 1

    @property
    def made(self) -> SplicedBytes:
        return self


def find_exact(text: str, old: str, most: int | None = None) -> list[Span]:
    """Every place where the quote stands to the letter, one behind the other; no more than `most`."""
    return list(islice(each_exact(text, old), most))


def each_exact(text: str, old: str) -> Iterator[Span]:
    """The same one by one."""
    fed = old.startswith("\n")
    at = text.find(old)
    while at >= 0:
        start = at - 1 if fed and text.startswith("\r", at - 1) and at else at  # never between the two of a line end
        yield Span(start, at + len(old), AS_IT_IS)
        at = text.find(old, at + len(old))


def cuts_in(text: str, span: Span) -> bool:
    """Whether a quote that begins with blanks leaves some of its line's indentation out: it was not copied so."""
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    return (
        bool(before) and not before.strip() and text[span.start] in " \t" and not text[span.start : span.end].isspace()
    )
