"""From a source to its tags: one parse, one query, one pass over what that found.

Hostile sources take a parser long, or crash it, and nothing here can stop it: the host calls this in a child.
Of a node only its bytes are asked: in tree-sitter 0.26, reading a point's row or column corrupts the memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import le
from typing import TYPE_CHECKING

from toolroll.text.structure import languages
from toolroll.text.structure.definitions import Definitions, headings
from toolroll.text.structure.model import USES, Tag, Tags
from toolroll.text.structure.source import BOM, Source, text

if TYPE_CHECKING:
    from tree_sitter import Node

Captures = Mapping[str, Sequence["Node"]]

_NAME = 200  # bytes of the longest name


def tags(language: str, source: bytes) -> Tags:
    """What a source in UTF-8 defines and uses; of one that does not parse, what could be read."""
    import tree_sitter

    grammar, query = languages.load(language)
    source = source.removeprefix(BOM)
    tree = tree_sitter.Parser(grammar).parse(source)
    found: Captures = tree_sitter.QueryCursor(query).captures(tree.root_node)
    where = Source(source, _spans(found.get("comment", ())))
    definitions, names = _definitions(languages.LANGUAGES[language], where, found)
    words, which, how, spots = _uses(where, found, names)
    quiet = sorted((*where.comments, *_spans(found.get("text", ()))))
    return Tags(
        language=language,
        lines=where.lines,
        broken=_broken(where, found.get("error", ())),
        definitions=tuple(definitions),
        words=words,
        which=which,
        how=how,
        spots=spots,
        quiet=_apart(quiet).tobytes(),
    )


def _definitions(language: languages.Language, where: Source, found: Captures) -> tuple[list[Tag], set[int]]:
    """The definitions, and where their names are."""
    reading = Definitions(language, where, found)
    made = headings(reading) if language.name == "markdown" else reading.tags()
    return made, {one.name_at for one in reading.read if one.kind not in ("import", "decorator", "scope")}


def _uses(where: Source, found: Captures, names: set[int]) -> tuple[tuple[str, ...], bytes, bytes, bytes]:
    """The names that are used, in the form of `Tags`; `names` are those that are defined there."""
    rows = [
        (start, how, end)
        for how, kind in enumerate(USES)
        for node in found.get(f"ref.{kind}", ())
        for start, end in (node.byte_range,)
    ]
    rows.sort()
    words: dict[bytes, int] = {}
    which, hows, spots = array("I"), bytearray(), array("Q")
    data, spot, last = where.data, where.spot, -1
    for start, how, end in rows:
        name = data[start:end]
        if start == last or start in names or end - start > _NAME or b" " in name or b"\n" in name:
            continue
        last = start
        which.append(words.setdefault(name, len(words)))
        hows.append(how)
        line, column = spot(start)
        spots.append(line << 32 | column)
    return tuple(map(text, words)), which.tobytes(), bytes(hows), spots.tobytes()


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
