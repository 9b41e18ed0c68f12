"""From a source to its tags: one parse, one query, one pass over what that found.

Hostile sources take a parser long, or crash it, and no thread can stop it: the host calls this in a child process.
Only the bytes of a node are read: in tree-sitter 0.26, reading the row or column of a point corrupts the memory.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from operator import le
from typing import TYPE_CHECKING, NamedTuple

from toolroll.text.code.syntax import captures, grammars, languages
from toolroll.text.code.syntax.definitions import TagBuilder
from toolroll.text.code.syntax.model import USES, SourceFacts, Tag, Tags, Uses
from toolroll.text.code.syntax.source import BOM, SourceText, text

if TYPE_CHECKING:
    from tree_sitter import Node

_Captures = dict[str, list["Node"]]
_Span = tuple[int, int]
_Use = tuple[int, int, int]  # start, index into USES, and end

_NAME_BYTES = 200
_UNNAMED = frozenset({"import", "decorator", "scope"})
_INK = re.compile(rb"[^\r\n]")


class _Read(NamedTuple):
    where: SourceText
    found: _Captures
    names: set[int]
    definitions: Sequence[Tag]


def tags(language: str, source: bytes) -> Tags:
    """What a source in UTF-8 defines and uses; of one that does not parse, what could be read."""
    read = _read(language, source)
    rows = _uses(read)
    typed = set(_spans(read.found.get("ref.type", ())))  # a type in quotes is used all the same
    texts = (span for span in _spans(read.found.get("text", ())) if span not in typed)
    quiet = sorted((*_spans(read.found.get("comment", ())), *texts))
    uses = Uses(*_words(read.where, rows), _spots(read.where, rows), _without_nested(quiet).tobytes())
    return Tags(_facts(language, read, whole=True), read.definitions, uses)


def names(language: str, source: bytes) -> Tags:
    """The same without the places of the uses."""
    read = _read(language, source, "text")
    return Tags(_facts(language, read), read.definitions, Uses(*_words(read.where, _uses(read))))


def definitions(language: str, source: bytes) -> Tags:
    """The same without the uses, which are most of the work after the parse."""
    read = _read(language, source, "text", "ref.")
    return Tags(_facts(language, read), read.definitions)


def _read(name: str, source: bytes, *aside: str) -> _Read:
    """Parse a source and query it, without the captures that begin with what is left aside."""
    language = languages.get(name)
    source = source.removeprefix(BOM)
    found = _capture(name, language.prepare(source) if language.prepare else source, aside)
    if language.embeds:
        parts, expressions = (found.pop(kind, []) for kind in ("embedded", "embedded.expression"))
        inner = _capture(language.embeds, _extract(source, _spans(parts), _spans(expressions)), aside)
        for kind, nodes in inner.items():
            found.setdefault(kind, []).extend(_inside(nodes, _spans(parts)) if kind == "error" else nodes)
    where = SourceText(source, _spans(found.get("comment", ())))
    sections = [_part(where, start, end) for start, end in _spans(found.pop("part", ()))]
    read = captures.assemble(where, found)
    made = TagBuilder(language, where).tags(read)  # first: it moves `name_at` behind the scope of a name
    made = sorted([*sections, *made], key=lambda tag: tag.line) if sections else made
    return _Read(where, found, {one.name_at for one in read if one.kind not in _UNNAMED}, made)


def _part(where: SourceText, start: int, end: int) -> Tag:
    """A part of a file of several languages, such as the script of a component: beside what is defined in it."""
    head = where.data[start:end].partition(b">")[0].partition(b"\n")[0]
    name = text(head[1:].split()[0]) if head[1:].strip() else ""
    line, column = where.spot(start)
    return Tag(name, "element", line, where.line(end - 1), column + 1, f"{text(head)}>", name_line=line)


def _capture(language: str, source: bytes, aside: Sequence[str]) -> _Captures:
    import tree_sitter

    root = grammars.parser(language).parse(source).root_node
    found: _Captures = tree_sitter.QueryCursor(grammars.query_without(language, *aside)).captures(root)
    return found


def _extract(source: bytes, statements: list[_Span], expressions: list[_Span]) -> bytes:
    """The source with blanks for all but these parts, so that what is found in them keeps its place."""
    made = bytearray(_INK.sub(b" ", source))
    for start, end in statements:
        made[start:end] = source[start:end]
        made[end : end + 1] = b";"[: len(source) - end]
    for start, end in expressions:
        if start > 0 and end < len(source):  # in parentheses, as `{a: 1}` would be a block
            made[start - 1 : end + 1] = b"(%s)" % source[start:end]
    return bytes(made)


def _inside(nodes: Iterable[Node], spans: Sequence[_Span]) -> list[Node]:
    return [node for node in nodes if any(start <= node.start_byte < end for start, end in spans)]


def _facts(language: str, read: _Read, *, whole: bool = False) -> SourceFacts:
    return SourceFacts(language, read.where.lines, _first_error(read.where, read.found.get("error", ())), whole)


def _uses(read: _Read) -> list[_Use]:
    """Where names are used, each place once, and not where they are defined."""
    rows = [
        (start, how, end)
        for how, kind in enumerate(USES)
        for node in read.found.get(f"ref.{kind}", ())
        for start, end in (node.byte_range,)
    ]
    rows.sort()
    kept: list[_Use] = []
    data, names, last = read.where.data, read.names, -1
    for row in rows:
        start, _, end = row
        name = data[start:end]
        if start == last or start in names or end - start > _NAME_BYTES or b" " in name or b"\n" in name:
            continue
        last = start
        kept.append(row)
    return kept


def _words(where: SourceText, uses: Sequence[_Use]) -> tuple[tuple[str, ...], bytes, bytes]:
    words: dict[bytes, int] = {}
    data = where.data
    which = array("I", (words.setdefault(data[start:end], len(words)) for start, _, end in uses))
    return tuple(map(text, words)), which.tobytes(), bytes([how for _, how, _ in uses])


def _spots(where: SourceText, uses: Iterable[_Use]) -> bytes:
    made = array("Q")
    spot = where.spot
    for start, _, _ in uses:
        line, column = spot(start)
        made.append(line << 32 | column)
    return made.tobytes()


def _first_error(where: SourceText, errors: Sequence[Node]) -> int:
    """The line of the first error inside the source; 1 if the whole source is one, 0 without errors."""
    starts = [node.start_byte for node in errors if node.start_byte or node.end_byte < len(where.data)]
    return where.line(min(starts)) if starts else 1 if errors else 0


def _spans(nodes: Iterable[Node]) -> list[_Span]:
    return [node.byte_range for node in nodes]


def _without_nested(spans: list[_Span]) -> array[int]:
    """Starts and ends in rising order; spans within others are left out."""
    every = array("I", chain.from_iterable(spans))
    if all(map(le, every, islice(every, 1, None))):
        return every
    made = array("I")
    last = 0
    for start, end in spans:
        if start >= last:
            made.extend((start, end))
            last = end
    return made
