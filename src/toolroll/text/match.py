"""Finding the text that an edit means: one place, by the closest relation there is, or none."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from toolroll.result import ErrorCode, ToolError
from toolroll.text import code, relate
from toolroll.text.diff import Same
from toolroll.text.lines import adapt, feeds
from toolroll.text.relate import Relation

Level = Literal["exact", "safe", "lenient"]
_MOST_TEXT = 8_000_000  # characters of a file that are searched loosely; beyond, only to the letter
_MOST_PLACES = 50  # that are looked at closely; a quote that fits more places is not one place's quote


@dataclass(frozen=True, slots=True)
class Span:
    """A place: where it begins and ends, and how the quote relates to it."""

    start: int
    end: int
    relation: Relation


@dataclass(frozen=True, slots=True)
class Replaced:
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
class Spliced:
    """The same as bytes; the quote was found to the letter."""

    data: bytes
    spans: tuple[tuple[int, int], ...]
    lines: tuple[int, int]
    same: Same
    relation = "exact"
    count = 1

    @property
    def made(self) -> Spliced:
        return self


class Source:
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
        return self.text.count("\n", 0, place) + 1

    def windows(self, quoted: Sequence[str]) -> Iterator[int]:
        """The first line (from 0) of every run of lines that equals the quoted ones but for blanks and marks."""
        wanted = "\n" + "\n".join(map(relate.squeezed, quoted)) + "\n"
        at = self.squeezed.find(wanted)
        while at >= 0:
            yield bisect_right(self.squeezed_starts, at) - 1
            at = self.squeezed.find(wanted, at + 1)


def replace(
    text: str,
    old: str,
    new: str,
    *,
    every: bool = False,
    near_line: int | None = None,
    first: bool = False,
    level: Level = "safe",
) -> Replaced:
    """Replace the one place that `old` means.

    `every` replaces each exact occurrence, `first` the first of them, `near_line` the one nearest to a line.
    `level` tells how a quote may differ: not at all ("exact"), only in what cannot change the meaning ("safe"),
    or also by leaving out lines where it says `...` ("lenient").
    """
    from toolroll.text import refusal

    _check(old, new)
    source = Source(text)
    spans = exact(text, old)
    if not spans and level != "exact" and len(text) <= _MOST_TEXT:
        spans = _closest(source, old)
    if not spans and level == "lenient":
        from toolroll.text import elision

        return elision.replace(text, old, new)
    if not spans:
        raise refusal.not_found(source, old, new)
    return _spliced(source, _chosen(source, spans, old, new, every=every, near_line=near_line, first=first), new)


def unique(data: bytes, old: str, new: str) -> Spliced | None:
    """The same in bytes that are ASCII, if the quote stands there once and to the letter; None for all else."""
    try:
        quote, written = old.encode("ascii"), new.encode("utf-8")
    except UnicodeEncodeError:
        return None
    start = data.find(quote) if quote and old != new else -1
    end = start + len(quote)
    if start < 0 or data.find(quote, end) >= 0:
        return None
    feed = data.find(b"\n", start)
    feed = feed if feed >= 0 else data.rfind(b"\n", 0, start)
    if data[max(0, feed - 1) : feed] == b"\r":
        written = adapt(new, "\r\n").encode("utf-8")
    first = feeds(data, start) + 1
    last = first + data.count(b"\n", start, max(start, end - 1))
    whole = memoryview(data)
    made = b"".join((whole[:start], written, whole[end:]))
    return Spliced(made, ((start, end),), (first, last), Same(start, len(data) - end, first - 1))


def _chosen(
    source: Source, spans: list[Span], old: str, new: str, *, every: bool, near_line: int | None, first: bool
) -> list[Span]:
    """Of the places that were found, those to replace; raises ToolError if it is not clear which."""
    from toolroll.text import refusal

    clear = spans[0].relation.cost <= relate.BLANKS  # a looser quote must not be taken for many
    if len(spans) == 1 or (every and clear):
        return spans
    if first and clear:
        return spans[:1]
    if near_line is not None:
        return [_nearest(source, spans, near_line)]
    raise refusal.ambiguous(source, spans, old, new)


def exact(text: str, old: str) -> list[Span]:
    """Every place where the quote stands to the letter, one behind the other."""
    spans = []
    at = text.find(old)
    while at >= 0:
        spans.append(Span(at, at + len(old), relate.AS_IT_IS))
        at = text.find(old, at + len(old))
    return spans


def _check(old: str, new: str) -> None:
    if not old:
        raise ToolError(ErrorCode.VALIDATION, "`old` is required and must not be empty. To make a file, use `write`.")
    if old == new:
        raise ToolError(ErrorCode.VALIDATION, "`old` and `new` are the same: nothing would change.")


def _closest(source: Source, old: str) -> list[Span]:
    """The places that the quote may mean, by the cheapest relation; none, one, or several that are no clearer."""
    found: dict[tuple[int, int], Span] = {}
    for quote, reading in relate.readings(old.replace("\r\n", "\n")):
        for span in _related(source, quote):
            whole = Span(span.start, span.end, reading.then(span.relation))
            rival = found.get((span.start, span.end))
            if rival is None or whole.relation.cost < rival.relation.cost:
                found[span.start, span.end] = whole
    ranked = sorted(_apart(found.values()), key=lambda span: span.relation.cost)
    if not ranked:
        return []
    best = ranked[0].relation.cost
    # A quote that is right but for blanks or pasted numbers is clear; a looser one must have no rival at all.
    return [span for span in ranked if span.relation.cost == best or best > relate.BLANKS]


def _apart(spans: Iterable[Span]) -> list[Span]:
    """One span for each place: of those that overlap, the one found by the cheapest relation."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.relation.cost, span.start)):
        if all(span.end <= one.start or span.start >= one.end for one in kept):
            kept.append(span)
    return kept


def _related(source: Source, quote: str) -> Iterator[Span]:
    """Places of a quote: to the letter, within lines but for their ends, and as whole lines."""
    if not quote.strip():
        return
    yield from exact(source.text, quote)[:_MOST_PLACES]
    yield from _across_endings(source, quote)
    ended = quote.endswith("\n")
    quoted = quote.removesuffix("\n").split("\n")
    for number, start in enumerate(source.windows(quoted)):
        if number >= _MOST_PLACES:
            return
        end = start + len(quoted)
        actual = source.lines[start:end]
        relation = relate.of_lines(quoted, actual, source.in_text[start:end])
        if relation is not None:
            yield _span(source, start, end, ended, relation)


def _span(source: Source, start: int, end: int, ended: bool, relation: Relation) -> Span:
    """The lines from `start` to before `end` as a span; with the last line feed if the quote had one."""
    last = source.starts[end] - 1
    if ended and last < len(source.text):
        last += 1
    elif source.text[last - 1 : last] == "\r" and last > source.starts[start]:
        last -= 1
    return Span(source.starts[start], last, relation)


def _across_endings(source: Source, quote: str) -> Iterator[Span]:
    """A quote with line feeds in a file with another ending; it may begin and end within lines."""
    if "\n" in quote and "\r\n" in source.text:
        relation = Relation("trailing blanks or line endings", relate.BLANKS, lambda new: new)
        for span in exact(source.text, adapt(quote, "\r\n"))[:_MOST_PLACES]:
            yield Span(span.start, span.end, relation)


def _nearest(source: Source, spans: list[Span], near_line: int) -> Span:
    """Of places that are equally good, the one nearest to a line, if one is nearest."""
    from toolroll.text import refusal

    best = min(span.relation.cost for span in spans)
    ranked = sorted(
        (abs(source.line_at(span.start) - near_line), span.start, span) for span in spans if span.relation.cost == best
    )
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        raise refusal.ambiguous(source, [span for _, _, span in ranked], "", "")
    return ranked[0][2]


def _spliced(source: Source, spans: Sequence[Span], new: str) -> Replaced:
    """The text with each span replaced; everything outside them is the same to the byte."""
    from toolroll.text import refusal

    pieces, end = [], 0
    for span in spans:
        written = span.relation.rewrite(new)
        if written is None:
            raise refusal.not_rewritable(source, span)
        pieces += [source.text[end : span.start], adapt(written, _ending_at(source.text, span.start))]
        end = span.end
    first = source.line_at(spans[0].start)
    last = first + source.text.count("\n", spans[0].start, max(spans[-1].start, spans[-1].end - 1))
    return Replaced(
        "".join([*pieces, source.text[end:]]),
        tuple((span.start, span.end) for span in spans),
        spans[0].relation.name,
        (first, last),
    )


def _ending_at(text: str, place: int) -> str:
    """The line ending around a place: of its own line, or for the last line of the one before."""
    feed = text.find("\n", place)
    feed = feed if feed >= 0 else text.rfind("\n", 0, place)
    return "\r\n" if feed > 0 and text[feed - 1] == "\r" else "\n"
