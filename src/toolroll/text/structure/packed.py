"""Tags on their way from the child that made them: packed by column, and unpacked only when somebody asks.

No text of a tag holds the end of a line, so that this is what they are told apart by.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice

from toolroll.text.structure.model import Head, Tag, Tags, Uses

_Shape = tuple[str, int, int, bool, str, list[int]]
"""A head with the sketch, and the sizes of the parts that follow it."""


def pack(tags: Tags) -> bytes:
    """Tags as bytes: a line of what is known of the source, the upper definitions, the others, and the uses."""
    upper = {id(tag) for tag in tags.upper}
    where = array("I", [at for at, tag in enumerate(tags.definitions) if id(tag) in upper])
    inner = [tag for tag in tags.definitions if id(tag) not in upper]
    words, *rest = tags.uses
    parts = (*_columns(tags.upper), *_columns(inner), where.tobytes(), _texts(words), *rest)
    head = json.dumps((*tags.head, tags.sketch, [len(part) for part in parts]), ensure_ascii=False)
    return b"".join((head.encode(), b"\n", *parts))


class Packed(Tags):
    """Tags that are kept as they came."""

    def __init__(self, packed: bytes) -> None:
        import msgspec

        head, _, body = packed.partition(b"\n")
        language, lines, broken, whole, self.sketch, sizes = msgspec.json.decode(head, type=_Shape)
        super().__init__(Head(language, lines, broken, whole))
        ends = accumulate(sizes)
        self._parts = [body[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        self._size = len(packed)

    @cached_property
    def upper(self) -> tuple[Tag, ...]:
        return tuple(_read(*self._parts[:2]))

    @cached_property
    def definitions(self) -> tuple[Tag, ...]:
        inner, where = list(_read(*self._parts[2:4])), array("I", self._parts[4])
        made: list[Tag] = []
        for number, (at, tag) in enumerate(zip(where, self.upper, strict=True)):
            made += inner[len(made) - number : at - number]
            made.append(tag)
        return (*made, *inner[len(made) - len(where) :])

    @cached_property
    def uses(self) -> Uses:
        words, *rest = self._parts[5:]
        return Uses(tuple(_lines(words)), *rest)

    @property
    def weight(self) -> int:
        return 5 * self._size  # with what was unpacked


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
