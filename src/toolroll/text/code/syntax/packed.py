"""Tags on their way from the child that made them: packed by column, and unpacked only when somebody asks.

No text of a tag holds the end of a line, so that this is what they are told apart by.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice

from toolroll.text.code.syntax import spans as bare
from toolroll.text.code.syntax.model import Head, Tag, Tags, Uses
from toolroll.text.code.syntax.source import BOM
from toolroll.text.code.syntax.spans import Bare

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_Shape = tuple[str, int, int, bool, str, bool, list[int]]
"""A head with the sketch, whether the definitions are bare, and the sizes of the parts that follow it."""


def pack(tags: Tags) -> bytes:
    """Tags as bytes: a line of what is known of the source, its uses, and its definitions, bare if they are."""
    is_bare = isinstance(tags, Bare)
    found = bare.pack(tags) if isinstance(tags, Bare) else _every(tags)
    words, *uses = tags.uses
    parts = (_texts(words), *uses, *found)
    head = _ENCODER.encode((*tags.head, tags.sketch, is_bare, [len(part) for part in parts]))
    return b"".join((head.encode(), b"\n", *parts))


class Packed(Tags):
    """Tags that are kept as they came, with the source that they are of."""

    def __init__(self, packed: bytes, source: bytes) -> None:
        import msgspec

        head, _, body = packed.partition(b"\n")
        language, lines, broken, whole, self.sketch, self._bare, sizes = msgspec.json.decode(head, type=_Shape)
        super().__init__(Head(language, lines, broken, whole))
        ends = accumulate(sizes)
        self._parts = [body[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        self._source = source.removeprefix(BOM) if self._bare else b""
        self._asked: dict[frozenset[str], list[Tag]] = {}
        self._size = len(packed)

    @cached_property
    def upper(self) -> tuple[Tag, ...]:
        return self._seen().upper if self._bare else tuple(_read(*self._parts[5:7]))

    @cached_property
    def definitions(self) -> tuple[Tag, ...]:
        if self._bare:
            return self._seen().definitions
        inner, where = list(_read(*self._parts[7:9])), array("I", self._parts[9])
        made: list[Tag] = []
        for number, (at, tag) in enumerate(zip(where, self.upper, strict=True)):
            made += inner[len(made) - number : at - number]
            made.append(tag)
        return (*made, *inner[len(made) - len(where) :])

    def of(self, kinds: Collection[str]) -> list[Tag]:
        if not self._bare or "definitions" in self.__dict__:
            return super().of(kinds)
        asked = frozenset(kinds)
        if asked not in self._asked:
            self._asked[asked] = self._seen().of(asked)
        return self._asked[asked]

    @cached_property
    def uses(self) -> Uses:
        words, *rest = self._parts[:5]
        return Uses(tuple(_lines(words)), *rest)

    @property
    def weight(self) -> int:
        return (16 if self._bare else 5) * self._size + len(self._source)  # with what was unpacked

    def _seen(self) -> Bare:
        return bare.unpack(self.head, self._source, *self._parts[5:7])


def _every(tags: Tags) -> tuple[bytes, ...]:
    """The upper definitions, the others, and where the upper ones stand among all."""
    upper = {id(tag) for tag in tags.upper}
    where = array("I", [at for at, tag in enumerate(tags.definitions) if id(tag) in upper])
    inner = [tag for tag in tags.definitions if id(tag) not in upper]
    return *_columns(tags.upper), *_columns(inner), where.tobytes()


def _columns(tags: Sequence[Tag]) -> tuple[bytes, bytes]:
    """The texts and the numbers of tags."""
    if not tags:
        return b"", b""
    names, kinds, lines, ends, columns, signatures, parents, decorators, name_lines = zip(*tags, strict=True)
    numbers = array("I", (*lines, *ends, *columns, *name_lines, *map(len, decorators)))
    return _texts((*names, *kinds, *signatures, *parents, *chain(*decorators))), numbers.tobytes()


def _read(texts: bytes, packed: bytes) -> Iterable[Tag]:
    said, numbers = _lines(texts), array("I", packed)
    count = len(numbers) // 5
    names, kinds, signatures, parents = (said[at * count : (at + 1) * count] for at in range(4))
    lines, ends, columns, name_lines, sizes = (numbers[at * count : (at + 1) * count] for at in range(5))
    rest = iter(said[4 * count :])
    decorators = [tuple(islice(rest, size)) if size else () for size in sizes]
    return map(Tag, names, kinds, lines, ends, columns, signatures, parents, decorators, name_lines)


def _texts(many: Iterable[str]) -> bytes:
    return "\n".join((*many, "")).encode()


def _lines(texts: bytes) -> list[str]:
    return texts.decode().split("\n")[:-1]
