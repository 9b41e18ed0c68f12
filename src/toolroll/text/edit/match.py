"""Finding the text that an edit means: one place, by the closest relation there is, or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import Same
from toolroll.text.edit import relations as relate
from toolroll.text.edit.candidates import EditSource, Span, closest, cuts_in, exact
from toolroll.text.lines import adapt, feeds

Level = Literal["exact", "safe", "lenient"]
_MOST_TEXT = 8_000_000  # characters of a file that are searched loosely; beyond, only to the letter
_MOST_PLACES = 50_000  # that are told apart; nobody means one of more by the line it is near
_BLANKS = b" \t"


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


def replace(
    text: str,
    old: str,
    new: str,
    *,
    every: bool = False,
    near_line: int | None = None,
    first: bool = False,
    level: Level = "safe",
) -> EditResult:
    """Replace the one place that `old` means.

    `every` replaces each exact occurrence, `first` the first of them, `near_line` the one nearest to a line.
    `level` tells how a quote may differ: not at all ("exact"), only in what cannot change the meaning ("safe"),
    or also by leaving out lines where it says `...` ("lenient").
    """
    from toolroll.text.edit import refusals as refusal

    _check(old, new)
    source = EditSource(text)
    spans = exact(text, old, None if every else _MOST_PLACES)
    if spans and not every and not first:
        _check_apart(source, spans, old, new)
        if level != "exact" and all(cuts_in(text, span) for span in spans):
            spans = []
    if not spans and level != "exact" and len(text) <= _MOST_TEXT:
        spans = closest(source, old)
    if not spans and level == "lenient":
        from toolroll.text.edit import ellipsis as elision

        return elision.replace(text, old, new)
    if not spans:
        raise refusal.not_found(source, old, new)
    return _spliced(source, _chosen(source, spans, old, new, every=every, near_line=near_line, first=first), new)


def unique(data: bytes, old: str, new: str) -> SplicedBytes | None:
    """The same in bytes that are ASCII, if the quote stands there once and to the letter; None for all else."""
    try:
        quote, written = old.encode("ascii"), new.encode("utf-8")
    except UnicodeEncodeError:
        return None
    start = data.find(quote) if quote and old != new else -1
    end = start + len(quote)
    if start < 0 or data.find(quote, start + 1) >= 0:
        return None
    if quote[0] in _BLANKS and start and data[start - 1] in _BLANKS:
        return None  # it may leave out some of its line's indentation
    feed = data.find(b"\n", start)
    feed = feed if feed >= 0 else data.rfind(b"\n", 0, start)
    if data[max(0, feed - 1) : feed] == b"\r":
        written = adapt(new, "\r\n").encode("utf-8")
    first = feeds(data, start) + 1
    last = first + data.count(b"\n", start, max(start, end - 1))
    whole = memoryview(data)
    made = b"".join((whole[:start], written, whole[end:]))
    return SplicedBytes(made, ((start, end),), (first, last), Same(start, len(data) - end, first - 1))


def _chosen(
    source: EditSource, spans: list[Span], old: str, new: str, *, every: bool, near_line: int | None, first: bool
) -> list[Span]:
    """Of the places that were found, those to replace; raises ToolError if it is not clear which."""
    from toolroll.text.edit import refusals as refusal

    clear = spans[0].relation.cost <= relate.BLANKS  # a looser quote must not be taken for many
    if len(spans) == 1 or (every and clear):
        return _disjoint(spans)
    if first and clear:
        return spans[:1]
    if near_line is not None:
        return [_nearest(source, spans, near_line)]
    raise refusal.ambiguous(source, spans, old, new, every=every)


def _check_apart(source: EditSource, spans: Sequence[Span], old: str, new: str) -> None:
    """Raise if the quote also stands across two of its places: which of its lines are meant cannot be told then."""
    from toolroll.text.edit import refusals as refusal

    if len(spans) == _MOST_PLACES:
        raise refusal.too_many(_MOST_PLACES)
    if len(old) == 1:
        return
    for span in spans:
        at = source.text.find(old, span.start + 1, span.end + len(old) - 1)
        if at >= 0:
            across = Span(at, at + len(old), relate.AS_IT_IS)
            raise refusal.ambiguous(source, sorted([*spans, across], key=lambda one: one.start), old, new)


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """Of places that overlap, the first."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _check(old: str, new: str) -> None:
    if not old:
        raise ToolError(ErrorCode.VALIDATION, "`old` is required and must not be empty. To make a file, use `write`.")
    if old == new:
        raise ToolError(ErrorCode.VALIDATION, "`old` and `new` are the same: nothing would change.")


def _nearest(source: EditSource, spans: list[Span], near_line: int) -> Span:
    """Of places that are equally good, the one nearest to a line, if one is nearest."""
    from toolroll.text.edit import refusals as refusal

    best = min(span.relation.cost for span in spans)
    ranked = sorted(
        (abs(source.line_at(span.start) - near_line), span.start, span) for span in spans if span.relation.cost == best
    )
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        raise refusal.ambiguous(source, [span for _, _, span in ranked], "", "")
    return ranked[0][2]


def _spliced(source: EditSource, spans: Sequence[Span], new: str) -> EditResult:
    """The text with each span replaced; everything outside them is the same to the byte."""
    from toolroll.text.edit import refusals as refusal

    pieces, end = [], 0
    for span in spans:
        written = span.relation.rewrite(new)
        if written is None:
            raise refusal.not_rewritable(source, span)
        pieces += [source.text[end : span.start], adapt(written, _ending_at(source.text, span.start))]
        end = span.end
    first = source.line_at(spans[0].start)
    last = first + source.text.count("\n", spans[0].start, max(spans[-1].start, spans[-1].end - 1))
    return EditResult(
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
