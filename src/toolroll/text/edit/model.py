"""The values of an edit: a text to look quotes up in, a place in it, and what a replacement made."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from toolroll.text import code_tokens as code
from toolroll.text.diff import Same
from toolroll.text.edit import relations as relate
from toolroll.text.edit.relations import Relation


@dataclass(frozen=True, slots=True)
class Span:
    """A place: where it begins and ends, and how the quote relates to it."""

    start: int
    end: int
    relation: Relation


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
        return list(code.inside_text(self.lines))

    @cached_property
    def squeezed(self) -> str:
        """All lines without blanks, each between line feeds."""
        return "\n" + "\n".join(map(relate.squeezed, self.lines)) + "\n"

    @cached_property
    def squeezed_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.squeezed[1:-1].split("\n"))]

    def line_at(self, place: int) -> int:
        """The number of the line that a place is in, from 1."""
        return bisect_right(self.starts, place)

    def windows(self, quoted: Sequence[str]) -> Iterator[int]:
        """The first line (from 0) of every run of lines that equals the quoted ones but for blanks and marks."""
        wanted = "\n" + "\n".join(map(relate.squeezed, quoted)) + "\n"
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
