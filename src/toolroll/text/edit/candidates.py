"""Find the places in a text that a quote may mean, by the closest relation."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from toolroll.text.edit import refusals, relations
from toolroll.text.edit.model import BLANKS, INDENT, EditSource, Relation, Span, cuts_in, each_exact, unchanged
from toolroll.text.lines import adapt

_MOST_LINES = 20_000  # that are compared closely with a quote; one that fits more is not one place's quote
_CUT = Relation("indentation", INDENT, unchanged)


def closest(source: EditSource, old: str) -> list[Span]:
    """The places that the quote may mean, by the cheapest relation; none, one, or several that are no clearer."""
    found: dict[tuple[int, int], Span] = {}
    for quote, reading in relations.readings(old):
        for span in _related(source, quote):
            whole = Span(span.start, span.end, reading.then(span.relation))
            rival = found.get((span.start, span.end))
            if rival is None or whole.relation.cost < rival.relation.cost:
                found[span.start, span.end] = whole
    ranked = sorted(_apart(found.values()), key=lambda span: span.relation.cost)
    return list(relations.cheapest({span: span.relation for span in ranked}))


def _apart(spans: Iterable[Span]) -> list[Span]:
    """One span for each place: of those that lie within each other, the one found by the cheapest relation."""
    kept: list[Span] = []
    starts: list[int] = []  # of the kept ones in their order, which is also the order of their ends
    ends: list[int] = []
    for span in sorted(spans, key=lambda span: (span.relation.cost, span.start)):
        before, after = bisect_right(starts, span.start), bisect_left(starts, span.start)
        inside = before > 0 and ends[before - 1] >= span.end
        around = after < len(starts) and ends[after] <= span.end
        if not inside and not around:
            kept.append(span)
            starts.insert(before, span.start)
            ends.insert(before, span.end)
    return kept


def _related(source: EditSource, quote: str) -> Iterator[Span]:
    """Places of a quote: to the letter, within lines but for their ends, and as whole lines."""
    if not quote.strip():
        return
    ended = quote.endswith("\n")
    quoted = quote.removesuffix("\n").split("\n")
    most = max(1, _MOST_LINES // len(quoted))
    for number, span in enumerate(chain(each_exact(source.text, quote), _across_endings(source, quote))):
        if number >= most:
            raise refusals.too_many(number)
        cut = cuts_in(source.text, span)
        yield replace(span, relation=_CUT) if cut else at_margin(source.text, span, quote)
    for number, start in enumerate(source.windows(quoted)):
        if number >= most:
            raise refusals.too_many(number)
        end = start + len(quoted)
        actual = source.lines[start:end]
        relation = relations.of_lines(quoted, actual, source.in_text[start:end])
        if relation is not None:
            yield _span(source, start, end, ended, relation)


def at_margin(text: str, span: Span, old: str) -> Span:
    """A place that begins behind its line's indentation: a new text that repeats this indentation begins before it."""
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    if not before or before.strip(" \t") or old[0] in " \t":
        return span

    def rewrite(new: str) -> tuple[str, ...]:
        inner = new.removeprefix(before)
        return (new if inner[:1].isspace() or inner.strip() == old.strip() else inner,)

    return Span(span.start, span.end, Relation(span.relation.name, span.relation.cost, rewrite))


def _span(source: EditSource, start: int, end: int, ended: bool, relation: Relation) -> Span:
    """The lines from `start` to before `end` as a span; with the last line feed if the quote had one."""
    last = source.starts[end] - 1
    if ended and last < len(source.text):
        last += 1
    elif source.text[last - 1 : last] == "\r" and last > source.starts[start]:
        last -= 1
    return Span(source.starts[start], last, relation)


def _across_endings(source: EditSource, quote: str) -> Iterator[Span]:
    """A quote with line feeds in a file with another ending; it may begin and end within lines."""
    if "\n" in quote and "\r\n" in source.text:
        relation = Relation("trailing blanks or line endings", BLANKS, unchanged)
        for span in each_exact(source.text, adapt(quote, "\r\n")):
            yield Span(span.start, span.end, relation)
