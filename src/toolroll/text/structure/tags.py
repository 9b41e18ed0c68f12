"""From a source to its tags: one parse, one query, one pass over what that found.

Hostile sources take a parser long, or crash it, and nothing here can stop it: the host calls this in a child.
Of a node only its bytes are asked: in tree-sitter 0.26, reading a point's row or column corrupts the memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import le
from typing import TYPE_CHECKING

from toolroll.text.structure import languages
from toolroll.text.structure.definitions import Definitions, headings
from toolroll.text.structure.model import USES, Tag, Tags
from toolroll.text.structure.source import BOM, Source, text

if TYPE_CHECKING:
    from tree_sitter import Node, Query

Captures = Mapping[str, Sequence["Node"]]
_Use = tuple[int, int, int]
"""Start, index into USES, and end."""

_NAME = 200  # bytes of the longest name


def tags(language: str, source: bytes) -> Tags:
    """What a source in UTF-8 defines and uses; of one that does not parse, what could be read."""
    where, found = _found(language, source, languages.load(language)[1])
    definitions, names = _definitions(languages.LANGUAGES[language], where, found)
    rows = _uses(where, found, names)
    words, which, how = _words(where, rows)
    quiet = sorted((*where.comments, *_spans(found.get("text", ()))))
    return replace(
        _tags(language, where, found, definitions),
        words=words,
        which=which,
        how=how,
        spots=_spots(where, rows),
        quiet=_apart(quiet).tobytes(),
        whole=True,
    )


def names(language: str, source: bytes) -> Tags:
    """The same without the places of the uses."""
    where, found = _found(language, source, languages.query_without(language, "text"))
    definitions, defined = _definitions(languages.LANGUAGES[language], where, found)
    words, which, how = _words(where, _uses(where, found, defined))
    return replace(_tags(language, where, found, definitions), words=words, which=which, how=how)


def definitions(language: str, source: bytes) -> Tags:
    """The same without the uses, which are most of the work after the parse."""
    where, found = _found(language, source, languages.query_without(language, "text", "ref."))
    return _tags(language, where, found, _definitions(languages.LANGUAGES[language], where, found)[0])


def _found(language: str, source: bytes, query: Query) -> tuple[Source, Captures]:
    import tree_sitter

    source = source.removeprefix(BOM)
    tree = languages.parser(language).parse(source)
    found: Captures = tree_sitter.QueryCursor(query).captures(tree.root_node)
    return Source(source, _spans(found.get("comment", ()))), found


def _tags(language: str, where: Source, found: Captures, made: Iterable[Tag]) -> Tags:
    """What is known of a source without its uses."""
    return Tags(
        language=language,
        lines=where.lines,
        broken=_broken(where, found.get("error", ())),
        definitions=tuple(made),
        words=(),
        which=b"",
        how=b"",
        spots=b"",
        quiet=b"",
        whole=False,
    )


def _definitions(language: languages.Language, where: Source, found: Captures) -> tuple[list[Tag], set[int]]:
    """The definitions, and where their names are."""
    reading = Definitions(language, where, found)
    made = headings(reading) if language.name == "markdown" else reading.tags()
    return made, {one.name_at for one in reading.read if one.kind not in ("import", "decorator", "scope")}


def _uses(where: Source, found: Captures, names: set[int]) -> list[_Use]:
    """Where names are used, each place once; `names` are those that are defined there."""
    rows = [
        (start, how, end)
        for how, kind in enumerate(USES)
        for node in found.get(f"ref.{kind}", ())
        for start, end in (node.byte_range,)
    ]
    rows.sort()
    kept: list[_Use] = []
    data, last = where.data, -1
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
