"""Find the one place that an edit means, by the closest relation, and replace it."""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import AnyStr, Literal

from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import Same
from toolroll.text.edit import refusals, relations
from toolroll.text.edit.indent import indent_of
from toolroll.text.edit.model import (
    AS_IT_IS,
    BLANKS,
    EXACT,
    INDENT,
    EditResult,
    EditSource,
    Relation,
    Span,
    SplicedBytes,
    cuts_in,
    each_exact,
    find_exact,
    keep_line_ends,
    last_end_off,
    unchanged,
)
from toolroll.text.lines import adapt, feeds

Level = Literal["exact", "safe", "lenient"]
_MOST_TEXT = 8_000_000  # characters of a file that are searched loosely; beyond, only to the letter
_MOST_PLACES = 50_000  # of a quote; with more, `near_line` cannot choose one
_MOST_EVERY = 500_000  # of a quote whose places are all replaced
_MOST_LINES = 20_000  # that are compared closely with a quote; one that fits more is not one place's quote
_NO_LAST_END = Relation("", EXACT, last_end_off)
_SPACE = b" \t"
_DOTS = r"(?:\.\.\.|\u2026)"
_ELISION = re.compile(rf"[ \t]*(?:#|//|--|/\*|<!--)?[ \t]*{_DOTS}[^\w\n]*")
_OMISSION = re.compile(
    rf"""\s* (?: [(\[] | {_DOTS} | (?: \#+ | //+ | --+ | /\*+ | <!-- | \{{/\* | ;+ | %+ ) [ ]? ) \s*
    [(\[]? \s* {_DOTS}? \s* (?:(?:the|all|keep|and)\s+)*
    (?: rest | remainder | remaining | existing | previous | other | unchanged | same | omitted ) \b
    [\w\s,'/()-]* {_DOTS}? \s* [)\]]? \s* (?: \*/\}}? | --> )? \s*""",
    re.VERBOSE | re.IGNORECASE,
)
_WHAT = re.compile(
    r"code|method|function|content|file|implementation|class|logic|import|line|test|field|propert|unchanged|same|before",
    re.IGNORECASE,
)
_PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc")  # may well speak about such lines
_LONGEST = 200


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
    `level` says how a quote may differ: not at all ("exact"), only in what cannot change the meaning ("safe"),
    or also by leaving out lines where it says `...` ("lenient").
    """
    _check(old, new)
    if "\r" in text and "\n" not in text:  # the old Macintosh's line ends: as many characters as line feeds
        made = replace(text.replace("\r", "\n"), old, new, every=every, near_line=near_line, first=first, level=level)
        return dataclasses.replace(made, text=made.text.replace("\n", "\r"))
    source = EditSource(text)
    spans = find_exact(text, old, _MOST_EVERY if every else _MOST_PLACES)
    if len(spans) == _MOST_EVERY:
        raise refusals.too_many(_MOST_EVERY)
    if spans and not every and not first:
        _check_apart(source, spans, old, new)
    cut: Span | None = None  # the one place to the letter, if that begins within the indentation of its line
    if spans and level != "exact":
        cut = _inside_margin(text, spans[0]) if len(spans) == 1 and cuts_in(text, spans[0]) else None
        spans = [] if all(cuts_in(text, span) for span in spans) else [_at_margin(text, span, old) for span in spans]
    if len(spans) == 1 and not every and ends_inside_word(text, spans[0].end, spans[0].start, new):
        raise refusals.made_already(source, spans[0], new)
    if not spans and level != "exact" and len(text) <= _MOST_TEXT:
        spans = _closest(source, old)
        if cut is not None and len(spans) == 1 and len(source.ways(spans[0], new)) != 1:
            spans = [cut]
    if not spans and level == "lenient":
        return _replace_elided(text, old, new)
    if not spans:
        raise refusals.not_found(source, old, new)
    spans = _chosen(source, spans, old, new, every=every, near_line=near_line, first=first)
    return _spliced(source, spans if level == "exact" or new else [_whole(text, span) for span in spans], old, new)


def ends_inside_word(text: AnyStr, end: int, start: int, new: AnyStr) -> bool:
    """Whether a quote ends inside a word or number, and its place has the whole new text already, which goes on."""
    edge = text[end - 1 : end + 1]
    return len(edge) == 2 and edge.isalnum() and len(new) > end - start and text.startswith(new, start)


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
    if not new or (start and data[start - 1] in _SPACE and (quote[0] in _SPACE or new[0] in " \t")):
        return None  # whole lines may go, or the quote or the new text may leave out some of its line's indentation
    if quote[:1] == b"\n" and data[start - 1 : start] == b"\r":
        return None  # it begins with half of a line end
    feed = data.find(b"\n", start)
    feed = feed if feed >= 0 else data.rfind(b"\n", 0, start)
    if feed < 0 and b"\r" in data:
        return None
    if feed >= 0 and ("\r" in new or data[max(0, feed - 1) : feed] == b"\r"):
        written = adapt(new, "\r\n" if data[max(0, feed - 1) : feed] == b"\r" else "\n").encode("utf-8")
    if written == quote:
        return None  # its line ends are all that differs
    if ends_inside_word(data, end, start, written):
        return None  # it may have been made already
    first = feeds(data, start) + 1
    last = first + data.count(b"\n", start, max(start, end - 1))
    whole = memoryview(data)
    made = b"".join((whole[:start], written, whole[end:]))
    return SplicedBytes(made, ((start, end),), (first, last), Same(start, len(data) - end, first - 1))


def check_omissions(new: str, text: Callable[[], str], path: str) -> None:
    """Raise ToolError if a file's new text says `# ... rest unchanged ...` or the like where its text does not."""
    if ("..." not in new and "\u2026" not in new) or path.lower().endswith(_PROSE):
        return
    for number, line in enumerate(new.split("\n"), 1):
        bare = line.strip()
        dots = "..." in bare or "\u2026" in bare
        if dots and len(bare) <= _LONGEST and _OMISSION.fullmatch(bare) and _WHAT.search(bare) and bare not in text():
            raise ToolError(
                ErrorCode.VALIDATION,
                f"Line {number} of the new text, {bare!r}, stands for code that is left out, and would replace it. "
                "Write that code, or change a smaller part with `edit`.",
                details={"line": number},
            )


def _closest(source: EditSource, old: str) -> list[Span]:
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
        yield _inside_margin(source.text, span) if cut else _at_margin(source.text, span, quote)
    for number, start in enumerate(source.windows(quoted)):
        if number >= most:
            raise refusals.too_many(number)
        end = start + len(quoted)
        actual = source.lines[start:end]
        relation = relations.of_lines(quoted, actual, source.in_text[start:end])
        if relation is not None:
            yield _span(source, start, end, ended, relation)


def _at_margin(text: str, span: Span, old: str) -> Span:
    """A place that begins behind its line's indentation: a new text that repeats this indentation begins before it."""
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    if not before or before.strip(" \t") or old[0] in " \t":
        return span

    def rewrite(new: str) -> tuple[str, ...]:
        inner = new.removeprefix(before)
        return (new if inner[:1].isspace() or inner.strip() == old.strip() else inner,)

    return Span(span.start, span.end, Relation(span.relation.name, span.relation.cost, rewrite))


def _inside_margin(text: str, span: Span) -> Span:
    """A place that begins within its line's indentation: a new text that has all of this repeats what is before it."""
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    whole = before + indent_of(text[span.start : span.end])

    def rewrite(new: str) -> tuple[str, ...]:
        return (new.removeprefix(before) if indent_of(new) == whole else new,)

    return Span(span.start, span.end, Relation("indentation", INDENT, rewrite))


def _span(source: EditSource, start: int, end: int, ended: bool, relation: Relation) -> Span:
    """The lines from `start` to before `end` as a span; with the last line feed if the quote had one."""
    last = source.starts[end] - 1
    if ended and last == len(source.text):
        relation = _NO_LAST_END.then(relation)
    elif ended:
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


def _chosen(
    source: EditSource, spans: list[Span], old: str, new: str, *, every: bool, near_line: int | None, first: bool
) -> list[Span]:
    """Of the places that were found, those to replace; raises ToolError if it is not clear which."""
    alike = {span.relation.name for span in spans} == {spans[0].relation.name}
    clear = spans[0].relation.cost <= BLANKS
    if len(spans) == 1 or (every and (clear or alike)):
        return _disjoint(sorted(spans, key=lambda span: span.start))
    if first and clear:
        return spans[:1]
    if near_line is not None:
        return [_nearest(source, spans, near_line)]
    raise refusals.ambiguous(source, spans, old, new, every=every)


def _check_apart(source: EditSource, spans: Sequence[Span], old: str, new: str) -> None:
    """Raise if the quote also stands across two of its places: it is not clear then which of its lines are meant."""
    if len(spans) == _MOST_PLACES:
        raise refusals.too_many(_MOST_PLACES)
    if len(old) == 1:
        return
    for span in spans:
        at = source.text.find(old, span.end - len(old) + 1, span.end + len(old) - 1)
        if at >= 0:
            across = Span(at, at + len(old), AS_IT_IS)
            raise refusals.ambiguous(source, sorted([*spans, across], key=lambda one: one.start), old, new)


def _whole(text: str, span: Span) -> Span:
    """A place of whole lines that are deleted, with their last line's end."""
    whole = text[span.start - 1 : span.start] in ("", "\n") and text[span.end - 1 : span.end] != "\n"
    end = next((mark for mark in ("\r\n", "\n") if text.startswith(mark, span.end)), "") if whole else ""
    return dataclasses.replace(span, end=span.end + len(end))


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """Of places that overlap, the first."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _check(old: str, new: str) -> None:
    if not old:
        raise ToolError(ErrorCode.VALIDATION, "`old` is required and must not be empty: quote the text to replace.")
    if old == new:
        raise ToolError(ErrorCode.VALIDATION, "`old` and `new` are the same: nothing would change.")


def _nearest(source: EditSource, spans: list[Span], near_line: int) -> Span:
    """Of places that are equally good, the one nearest to a line, if one is nearest."""
    best = min(span.relation.cost for span in spans)
    _ = source.starts  # for many places
    ranked = sorted(
        (abs(source.line_at(span.start) - near_line), span.start, span) for span in spans if span.relation.cost == best
    )
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        raise refusals.ambiguous(source, [span for _, _, span in ranked], "", "")
    return ranked[0][2]


def _spliced(source: EditSource, spans: Sequence[Span], old: str, new: str) -> EditResult:
    """The text with each span replaced; everything outside them is the same to the byte."""
    pieces, end = [], 0
    for span in spans:
        written = source.ways(span, new)
        if len(written) != 1:
            raise refusals.not_rewritable(source, span, old, written)
        line_end = _ending_at(source.text, span.start)
        pieces += [source.text[end : span.start], adapt(written[0], line_end) if line_end else written[0]]
        end = span.end
    made = "".join([*pieces, source.text[end:]])
    if made == source.text:
        raise refusals.already_there(source, spans[0])
    first = source.line_at(spans[0].start)
    last = first + source.text.count("\n", spans[0].start, max(spans[-1].start, spans[-1].end - 1))
    return EditResult(
        made,
        tuple((span.start, span.end) for span in spans),
        spans[0].relation.name,
        (first, last),
    )


def _ending_at(text: str, place: int) -> str:
    """The line ending around a place: of its own line, for the last line of the one before; empty if there is none."""
    feed = text.find("\n", place)
    feed = feed if feed >= 0 else text.rfind("\n", 0, place)
    return "" if feed < 0 else "\r\n" if feed > 0 and text[feed - 1] == "\r" else "\n"


def _replace_elided(text: str, old: str, new: str) -> EditResult:
    """Replace each piece between lines that say `...` by its counterpart; pieces must be unique and in this order."""
    pieces, wanted = _pieces(old), _pieces(new)
    if len(pieces) < 2 or len(pieces) != len(wanted) or not all(piece.strip() for piece in pieces):
        raise ToolError(
            ErrorCode.NOT_FOUND,
            "The old text was not found. Lines left out are written `...` on a line of their own, as often in "
            "the new text as in the old one.",
        )
    result, done, spans = text, 0, []
    for piece, given in zip(pieces, wanted, strict=True):
        counterpart = keep_line_ends(piece, given, inside=True)
        if piece == counterpart:
            found = find_exact(result, piece, 2)
            start, end = (found[0].start, found[0].end) if len(found) == 1 else (-1, -1)
        else:
            one = replace(result, piece, counterpart)
            start, end = one.spans[0][0], one.spans[0][1] + len(one.text) - len(result)
            result = one.text
        if start < done:
            begin = piece.strip().split("\n")[0]
            what = f"The piece that begins with {begin!r} is not found once and in this order."
            raise ToolError(ErrorCode.CONFLICT, what)
        spans.append((start, end))
        done = end
    first, last = (result.count("\n", 0, at) + 1 for at in (spans[0][0], spans[-1][1]))
    return EditResult(result, tuple(spans), "lines left out", (first, last))


def _pieces(text: str) -> list[str]:
    pieces: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _ELISION.fullmatch(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    return ["\n".join(piece) for piece in pieces]
