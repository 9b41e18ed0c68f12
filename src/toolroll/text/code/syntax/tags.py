"""From a source to its tags: one parse, one query, one pass over what that found.

Hostile sources take a parser long, or crash it, and nothing here can stop it: the host calls this in a child.
Of a node only its bytes are asked: in tree-sitter 0.26, reading a point's row or column corrupts the memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import le
from typing import TYPE_CHECKING, NamedTuple

from toolroll.text.code.syntax import captures as captured
from toolroll.text.code.syntax import declarators, languages, statements
from toolroll.text.code.syntax.definitions import Definitions, headings
from toolroll.text.code.syntax.model import USES, Head, Tag, Tags, Uses
from toolroll.text.code.syntax.source import BOM, Source, text
from toolroll.text.code.syntax.spans import KINDS, Bare, Row

if TYPE_CHECKING:
    from tree_sitter import Node, Query

Captures = Mapping[str, Sequence["Node"]]
_Use = tuple[int, int, int]
"""Start, index into USES, and end."""

_NAME = 200  # bytes of the longest name
_UNNAMED = frozenset({"import", "decorator", "scope"})
_WALKED = ("name", "function", "class", "type", "variable", "import", "decorator", "error")  # see `statements`


class _Read(NamedTuple):
    """What was found in a source; of its uses, only where they are."""

    where: Source
    found: Captures
    names: set[int]
    """Where the names of definitions are."""
    definitions: Sequence[Tag]
    rows: Sequence[Row] | None = None
    """Of definitions that were seen in a walk: these can wait until somebody asks."""

    def tags(self, head: Head, uses: Uses = Uses()) -> Tags:  # noqa: B008
        """What was found, with what is used."""
        if self.rows is None:
            return Tags(head, self.definitions, uses)
        return Bare(head, self.where, self.rows, uses)


def tags(language: str, source: bytes) -> Tags:
    """What a source in UTF-8 defines and uses; of one that does not parse, what could be read."""
    read = _read(language, source)
    rows = _uses(read)
    typed = set(_spans(read.found.get("ref.type", ())))  # a type in quotes is used all the same
    texts = (span for span in _spans(read.found.get("text", ())) if span not in typed)
    quiet = sorted((*_spans(read.found.get("comment", ())), *texts))
    uses = Uses(*_words(read.where, rows), _spots(read.where, rows), _apart(quiet).tobytes())
    return read.tags(_head(language, read, whole=True), uses)


def names(language: str, source: bytes) -> Tags:
    """The same without the places of the uses."""
    read = _read(language, source, "text")
    return read.tags(_head(language, read), Uses(*_words(read.where, _uses(read))))


def definitions(language: str, source: bytes) -> Tags:
    """The same without the uses, which are most of the work after the parse."""
    read = _read(language, source, "text", "ref.")
    return read.tags(_head(language, read))


def _read(language: str, source: bytes, *aside: str) -> _Read:
    """Parse a source and look for all but what is left aside, told by how its captures begin."""
    source = source.removeprefix(BOM)
    parsed = declarators.plain(source) if language in ("c", "cpp") else source
    root = languages.parser(language).parse(parsed).root_node
    if language == "python" and not root.has_error:
        where, rows = statements.read(source, root)
        if "ref." in aside:
            return _Read(where, {}, set(), (), rows)
        # Of the comments, a walk sees those at definitions; that is enough where the others need not be quiet.
        rest = (*aside, *_WALKED, *(("comment",) if "text" in aside else ()))
        found = _captured(root, languages.query_without(language, *rest))
        return _Read(where, found, {row[3] for row in rows if KINDS[row[2]] not in _UNNAMED}, (), rows)
    found = _captured(root, languages.query_without(language, *aside))
    where = Source(source, _spans(found.get("comment", ())))
    read = captured.read(where, found)
    reading = Definitions(languages.LANGUAGES[language], where, read)
    made = headings(reading) if language == "markdown" else reading.tags()
    return _Read(where, found, {one.name_at for one in read if one.kind not in _UNNAMED}, made)


def _captured(root: Node, query: Query) -> Captures:
    import tree_sitter

    found: Captures = tree_sitter.QueryCursor(query).captures(root)
    return found


def _head(language: str, read: _Read, *, whole: bool = False) -> Head:
    return Head(language, read.where.lines, _broken(read.where, read.found.get("error", ())), whole)


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
        if start == last or start in names or end - start > _NAME or b" " in name or b"\n" in name:
            continue
        last = start
        kept.append(row)
    return kept


def _words(where: Source, uses: Sequence[_Use]) -> tuple[tuple[str, ...], bytes, bytes]:
    """The names that are used, which of them each use is of, and how they are used, in the form of `Tags`."""
    words: dict[bytes, int] = {}
    data = where.data
    which = array("I", (words.setdefault(data[start:end], len(words)) for start, _, end in uses))
    return tuple(map(text, words)), which.tobytes(), bytes([how for _, how, _ in uses])


def _spots(where: Source, uses: Iterable[_Use]) -> bytes:
    made = array("Q")
    spot = where.spot
    for start, _, _ in uses:
        line, column = spot(start)
        made.append(line << 32 | column)
    return made.tobytes()


def _broken(where: Source, errors: Sequence[Node]) -> int:
    """The line of the first error; that of the whole source only if there is none within it."""
    starts = [node.start_byte for node in errors if node.start_byte or node.end_byte < len(where.data)]
    return where.line(min(starts)) if starts else 1 if errors else 0


def _spans(nodes: Iterable[Node]) -> list[tuple[int, int]]:
    return [node.byte_range for node in nodes]


def _apart(spans: list[tuple[int, int]]) -> array[int]:
    """Starts and ends in rising order; a span within another is left out."""
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
