"""Definitions by the places of their parts alone: what they say is read in the source, when somebody asks."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain

from toolroll.text.code.syntax.definitions import Definition, Definitions
from toolroll.text.code.syntax.languages import LANGUAGES
from toolroll.text.code.syntax.model import Head, Tag, Tags, Uses
from toolroll.text.code.syntax.source import Source

KINDS = ("function", "class", "decorator", "variable", "type", "import")
FUNCTION, CLASS, DECORATOR, VARIABLE, TYPE, IMPORT = range(len(KINDS))

Row = tuple[int, int, int, int, int, int, int]
"""Of a definition: its start and end, the index of its kind, the start and end of its name, the end of its signature,
and one more than the start of what it is in, or decorates; 0 if that is nothing."""

_UPPER = frozenset({"function", "class", "variable", "constant", "type"})
_READ_AS = {"method": FUNCTION, "constant": VARIABLE} | {kind: number for number, kind in enumerate(KINDS)}


class Bare(Tags):
    """Tags of a source whose definitions were seen and not read yet. See `statements` for who sees them."""

    def __init__(self, head: Head, where: Source, rows: Sequence[Row], uses: Uses = Uses()) -> None:  # noqa: B008
        super().__init__(head, (), uses)
        self.where = where
        self.rows = rows

    @cached_property
    def definitions(self) -> tuple[Tag, ...]:
        return tuple(self._read(self.rows).tags())

    @cached_property
    def upper(self) -> tuple[Tag, ...]:
        rows = [row for row in self.rows if row[2] == DECORATOR or not (row[6] or row[2] == IMPORT)]
        return tuple(self._read(rows).tags(_UPPER))

    def of(self, kinds: Collection[str]) -> list[Tag]:
        if "definitions" in self.__dict__:
            return super().of(kinds)
        asked = {_READ_AS[kind] for kind in kinds if kind in _READ_AS}
        return self._read([row for row in self.rows if row[2] <= DECORATOR or row[2] in asked]).tags(kinds)

    def _read(self, rows: Iterable[Row]) -> Definitions:
        return Definitions(LANGUAGES[self.language], self.where, _definitions(rows))


def pack(tags: Bare) -> tuple[bytes, bytes]:
    """The rows, and the spans of the comments at definitions, as 32-bit numbers."""
    return _flat(tags.rows), _flat(tags.where.comments)


def unpack(head: Head, source: bytes, rows: bytes, comments: bytes) -> Bare:
    """The tags of the source that they were packed for."""
    places, spans = (iter(array("I", part)) for part in (rows, comments))
    where = Source(source, zip(spans, spans, strict=True))
    return Bare(head, where, list(zip(*[places] * 7, strict=True)))


def _definitions(rows: Iterable[Row]) -> list[Definition]:
    made: list[Definition] = []
    inside: list[tuple[Definition, int]] = []
    holders: dict[int, Definition] = {}
    for start, end, kind, name_at, name_end, head_end, within in rows:
        one = Definition(KINDS[kind], start, end, None, None)
        one.name_at, one.name_end, one.head_end = name_at, name_end, head_end
        made.append(one)
        if within:
            inside.append((one, within))
        if kind <= CLASS:
            holders[start + 1] = one
    for one, within in inside:
        one.parent = holder = holders.get(within)
        if holder is not None and one.kind == "decorator":
            holder.decorators += (one,)
    return made


def _flat(rows: Iterable[tuple[int, ...]]) -> bytes:
    return array("I", chain.from_iterable(rows)).tobytes()
