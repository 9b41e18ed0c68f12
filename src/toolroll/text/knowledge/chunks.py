"""Split documents into pieces: sections, definitions or paragraphs, each with its lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from toolroll.text.lines import split_bare

if TYPE_CHECKING:
    from toolroll.text.code.syntax.model import Tag


Heading = tuple[int, int, int, str]  # its first and last line, counted from 1, its level and its words
_LINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_MAX_HEADING_CHARS = 200  # characters of a heading


def find_underlined(lines: Sequence[str]) -> Iterator[Heading]:
    """The headings of a text.

    The order in which the signs first appear gives their levels. A heading with the same line
    above it is of another level than one without.
    """
    levels: dict[tuple[str, bool], int] = {}
    taken = 0  # lines that the headings so far, and what is above them, consist of
    for at in range(1, len(lines)):
        if at - 1 < taken or not _LINE.match(lines[at]):
            continue
        line, below = lines[at - 1], lines[at].rstrip()
        above = lines[at - 2].rstrip() if at - 2 >= taken else ""
        over = above == below
        if not _is_heading(line, below) or (not over and (above or line[0].isspace())):
            continue  # else it is the end of a paragraph, or a line of a table
        level = levels.setdefault((below[0], over), len(levels) + 1)
        taken = at + 1
        yield at - (1 if over else 0), at + 1, level, line.strip()


def _is_heading(line: str, below: str) -> bool:
    return bool(line.strip()) and len(line.rstrip()) <= min(len(below), _MAX_HEADING_CHARS) and not _LINE.match(line)


MAX_CHARS = 1600
OVERLAP_CHARS = 200  # characters, at most, that a piece repeats of the one before, where both are of one section

SPLIT_VERSION = 3
"""The version of the splitting rules. A document split by an older version is split again when it is added again."""

_MAX_JOINED_CHARS = 600  # characters up to which neighbouring definitions stay together
_MAX_TITLE_CHARS = 200
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NO_TEXT = re.compile(r" {0,3}(?:[>#|]|[-*+] |\d+[.)] )|\s*$| {4}|\t")  # what no line of dashes makes a heading
_HOLDS = frozenset({"function", "method", "class", "interface", "struct", "enum", "trait", "type", "module"})
"""Kinds of definitions that are pieces of their own."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: its text, and the lines it is from, counted from 1, both inclusive."""

    text: str
    start: int
    end: int
    title: str = ""
    """Its headings, from the upper one down, or the names of what it defines."""
    page: int = 0
    """The page, sheet or slide it is from, counted from 1; 0 where there are none."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A page, sheet, slide or chapter of a document that was converted to text."""

    text: str
    page: int = 0
    title: str = ""


class _Span(NamedTuple):
    start: int
    end: int
    title: str


class _Spot(NamedTuple):
    line: int
    at: int


class _Piece(NamedTuple):
    """A line with its end, or a part of one that is too long."""

    spot: _Spot
    text: str


class _Pieces(NamedTuple):
    parts: list[_Piece]
    rest: _Spot | None


def split_text(text: str) -> list[Chunk]:
    """Paragraphs, as many together as fit; where headings are underlined, as in reStructuredText, by sections."""
    lines = split_bare(text)
    return [one for span in _sections(lines, find_underlined(lines)) for one in _cut(lines, span)]


def split_table(text: str) -> list[Chunk]:
    """Rows, as many together as fit, under the first line, which names the columns."""
    lines = split_bare(text)
    return list(_cut(lines, _Span(1, len(lines), lines[0][:_MAX_TITLE_CHARS] if lines else "")))


def split_markdown(text: str) -> list[Chunk]:
    """A piece for each section, more for a long one; the title is the path of its headings."""
    lines = split_bare(text)
    return [one for span in _sections(lines, _headings(lines)) for one in _cut(lines, span)]


def split_parts(found: Sequence[DocumentPart], cut: Callable[[str], list[Chunk]]) -> list[Chunk]:
    """Pieces of each page, sheet or slide, none of two, as `cut` makes them; lines are counted in each."""
    made: list[Chunk] = []
    for part in found:
        made += [replace(one, title=_under(part.title, one.title), page=part.page) for one in cut(part.text)]
    return made


def join_pieces(pieces: Iterable[str]) -> str:
    """The text of one document again, from its pieces in order, without what they repeat."""
    made = ""
    for one in pieces:
        repeated = next((size for size in range(min(OVERLAP_CHARS, len(one)), 0, -1) if made.endswith(one[:size])), 0)
        gap = "" if repeated or not made or made.endswith("\n") else "\n"
        made += gap + one[repeated:]
    return made


def _under(upper: str, title: str) -> str:
    """The title of a piece under that of its page, which a page often repeats."""
    if not upper or title == upper or title.startswith(f"{upper} > "):
        return title or upper
    return f"{upper} > {title}"[:_MAX_TITLE_CHARS] if title else upper[:_MAX_TITLE_CHARS]


def split_code(text: str, definitions: Sequence[Tag]) -> list[Chunk]:
    """A piece for each definition; small neighbours stay together, a large one is cut where those in it begin."""
    lines = split_bare(text)
    among = [tag for tag in definitions if tag.kind in _HOLDS and 1 <= tag.line <= tag.end_line <= len(lines)]
    made: list[Chunk] = []
    for span in _together(lines, _definitions(lines, among, _Span(1, len(lines), ""))):
        made += _cut(lines, span)
    return made


def _sections(lines: Sequence[str], found: Iterable[Heading]) -> Iterator[_Span]:
    """The sections of a text; headings without anything below go with what follows."""
    above: list[tuple[int, str]] = []
    start, title, at = 1, "", 0
    for first, last, level, name in found:
        if any(line.strip() for line in lines[at : first - 1]):
            yield _Span(start, first - 1, title)
            start = first
        elif not above:
            start = first
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, name))
        title, at = " > ".join(one for _, one in above if one)[:_MAX_TITLE_CHARS], last
    yield _Span(start, len(lines), title)


def _headings(lines: Sequence[str]) -> Iterator[Heading]:
    """First and last line of each heading, its level and its words."""
    at, fence = _after_front(lines), ""
    while at < len(lines):
        line = lines[at]
        at += 1
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif "#" in line and (found := _HEADING.match(line)):
            yield at, at, len(found[1]), (found[2] or "").strip()
        elif at < len(lines) and lines[at].lstrip()[:1] in ("=", "-") and _underlined(line, lines[at]):
            yield at, at + 1, 1 if "=" in lines[at] else 2, line.strip()
            at += 1


def _underlined(line: str, below: str) -> bool:
    return not _NO_TEXT.match(line) and _UNDERLINE.match(below) is not None


def _after_front(lines: Sequence[str]) -> int:
    """Where the text begins behind the front matter, if there is one."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((at + 1 for at, line in enumerate(lines) if at and line.rstrip() in ("---", "...")), 0)


def _definitions(lines: Sequence[str], tags: Sequence[Tag], within: _Span) -> Iterator[_Span]:
    """The spans of definitions, and of what is between them, which belongs to what is around it."""
    at = within.start
    index = 0
    while index < len(tags):
        tag = tags[index]
        index += 1
        if tag.line < at:
            continue
        start, end = _with_lead(lines, at, tag.line), min(tag.end_line, within.end)
        if start > at:
            yield _Span(at, start - 1, within.title)
        span = _Span(start, end, tag.path[:_MAX_TITLE_CHARS])
        if _size(lines, span) > MAX_CHARS:
            inner = [one for one in tags[index:] if one.line > tag.line and one.end_line <= end]
            yield from _definitions(lines, inner, span)
        else:
            yield span
        at = end + 1
    if at <= within.end:
        yield _Span(at, within.end, within.title)


def _with_lead(lines: Sequence[str], least: int, line: int) -> int:
    """The line from which a definition counts: comments and decorators right above belong to it."""
    while line > least and lines[line - 2].strip():
        line -= 1
    return line


def _together(lines: Sequence[str], spans: Iterator[_Span]) -> Iterator[_Span]:
    """Small neighbours as one span, under all of their names."""
    held: _Span | None = None
    for span in spans:
        if held is not None and _size(lines, joined := _joined(held, span)) <= _MAX_JOINED_CHARS:
            held = joined
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held


def _joined(one: _Span, other: _Span) -> _Span:
    names = dict.fromkeys(filter(None, [*one.title.split(", "), other.title]))
    return _Span(one.start, other.end, ", ".join(names)[:_MAX_TITLE_CHARS])


def _size(lines: Sequence[str], span: _Span) -> int:
    return sum(len(line) + 1 for line in lines[span.start - 1 : span.end])


def _cut(lines: Sequence[str], span: _Span) -> Iterator[Chunk]:
    """The span as one piece, or as several that overlap; blank lines around them do not count."""
    spot = _Spot(span.start, 0)
    while (pieces := _fitting(lines, spot, span.end)).parts:
        end = len(pieces.parts) if pieces.rest is None else _end(pieces.parts)
        if any(piece.text.strip() for piece in pieces.parts[:end]):  # a long line may be all blanks
            yield _chunk(pieces.parts[:end], span.title)
        if pieces.rest is None:
            return
        following = _overlapping(pieces.parts, end)
        spot = pieces.parts[following].spot if following < len(pieces.parts) else pieces.rest


def _fitting(lines: Sequence[str], spot: _Spot, last: int) -> _Pieces:
    """As many pieces as fit into a chunk that begins at a place, and the place after them if there is more."""
    line, at = spot
    while not at and line <= last and not lines[line - 1].strip():
        line += 1
    parts: list[_Piece] = []
    size = 0
    while line <= last:
        text = lines[line - 1]
        end = _part(text, at)  # one more than the line has, for its end
        if parts and size + end - at > MAX_CHARS:
            return _Pieces(parts, _Spot(line, at))
        whole = end > len(text)
        parts.append(_Piece(_Spot(line, at), f"{text[at:end]}\n" if whole else text[at:end]))
        size += end - at
        line, at = (line + 1, 0) if whole else (line, end)
    return _Pieces(parts, None)


def _part(line: str, at: int) -> int:
    """Where a part of a line ends: at its end, or for one that is too long a little further, after a blank."""
    if len(line) < MAX_CHARS // 2 or len(line) - at < OVERLAP_CHARS:
        return len(line) + 1
    return line.rfind(" ", at + OVERLAP_CHARS // 2, at + OVERLAP_CHARS) + 1 or at + OVERLAP_CHARS


def _end(pieces: Sequence[_Piece]) -> int:
    """Where a chunk ends that is full: after its last blank line, if that is in its second half."""
    size, blank = 0, 0
    for at, piece in enumerate(pieces, 1):
        size += len(piece.text)
        if size > MAX_CHARS // 2 and not piece.text.strip():
            blank = at
    return blank or len(pieces)


def _overlapping(pieces: Sequence[_Piece], end: int) -> int:
    """Where the next chunk begins: a little before the end of this one, at whole lines or parts."""
    at, size = end, 0
    while at - 1 > 0 and size + len(pieces[at - 1].text) <= OVERLAP_CHARS:
        at -= 1
        size += len(pieces[at].text)
    return at


def _chunk(pieces: Sequence[_Piece], title: str) -> Chunk:
    filled = [at for at, piece in enumerate(pieces) if piece.text.strip()]
    kept = pieces[filled[0] : filled[-1] + 1]
    return Chunk("".join(piece.text for piece in kept).rstrip(), kept[0].spot.line, kept[-1].spot.line, title)
