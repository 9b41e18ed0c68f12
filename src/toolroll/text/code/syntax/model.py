"""What a source defines and uses, in a form that is small to keep and quick to send."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

KINDS = (
    *("function", "method", "class", "interface", "struct", "enum", "trait", "type", "module"),
    *("constant", "variable", "import", "decorator", "heading", "key", "rule", "element"),
)  # what a definition can be; imports and decorators are among them because they are found by name too

USES = ("decorator", "inherit", "import", "call", "type")
"""How the grammar says a name is used; of two that fit, the first. Two more kinds follow from the text around a
name: "attribute" after a dot, and "name" for all others."""

HOLDERS = frozenset({"class", "interface", "struct", "enum", "trait"})  # kinds whose functions are methods

VALUES = frozenset({"variable", "constant"})  # kinds that an outline of many files leaves out

_ASIDE = frozenset({"import", "decorator"})


class Tag(NamedTuple):
    """A definition. Lines and columns count from 1, columns in characters."""

    name: str
    kind: str
    line: int
    end_line: int
    column: int
    """Where the name starts, in the line `name_line`."""
    signature: str
    parent: str = ""
    """The names of the definitions around it, joined by dots."""
    decorators: tuple[str, ...] = ()
    """As written, without the sign before them."""
    name_line: int = 0

    @property
    def path(self) -> str:
        """The name with those of its parents: `Class.method`."""
        return f"{self.parent}.{self.name}" if self.parent else self.name

    @property
    def text(self) -> str:
        """The signature, after the names of the decorators."""
        text = self.signature or self.name
        return "".join([f"@{one.partition('(')[0]} " for one in self.decorators]) + text if self.decorators else text


class Use(NamedTuple):
    """A place where a name is used."""

    name: str
    kind: str
    line: int
    column: int


class Uses(NamedTuple):
    """Where names are used in one source."""

    words: tuple[str, ...] = ()
    """The names, each once; the next three hold one entry for each use, in the order of the source."""
    which: bytes = b""
    how: bytes = b""
    spots: bytes = b""
    """`line << 32 | column`, as 64-bit numbers."""
    quiet: bytes = b""
    """Start and end, as 32-bit numbers, of each comment and text: a word there is no use of a name."""


class SourceFacts(NamedTuple):
    """What is known of a source without its definitions and uses."""

    language: str
    lines: int
    broken: int
    """The first line that does not parse; 0 if all do."""
    whole: bool
    """False if only the definitions were read, not the uses."""


class Tags:
    """The definitions and uses in one source."""

    def __init__(self, facts: SourceFacts, definitions: Iterable[Tag] = (), uses: Uses = Uses()) -> None:  # noqa: B008
        self.facts = facts
        self.language, self.lines, self.broken, self.whole = facts
        self._definitions = tuple(definitions)
        self._uses = uses

    @property
    def definitions(self) -> tuple[Tag, ...]:
        """In the order of the source: a definition comes before those inside it."""
        return self._definitions

    @property
    def uses(self) -> Uses:
        return self._uses

    def of(self, kinds: Collection[str]) -> list[Tag]:
        return [tag for tag in self.definitions if tag.kind in kinds]

    @cached_property
    def upper(self) -> tuple[Tag, ...]:
        """The definitions that are in no other one, without imports and decorators."""
        return tuple(tag for level, tag in self.by_level() if not level)

    @cached_property
    def sketch(self) -> str:
        """A line for each upper definition that is no value."""
        shown = [(tag.line, tag.end_line, 0, tag.text) for tag in self.upper if tag.kind not in VALUES]
        return "\n".join(format_lines(shown, "  "))

    def by_level(self) -> Iterator[tuple[int, Tag]]:
        """Each definition after the number of definitions around it; no imports and decorators."""
        above: list[str] = []
        for tag in self.definitions:
            if tag.kind in _ASIDE:
                continue
            parent = tag.parent
            while above and above[-1] != parent:
                above.pop()
            yield len(above), tag
            above.append(tag.path)

    def uses_of(self, wanted: Callable[[str], bool] = bool) -> Iterator[Use]:
        words, which, how, spots, _ = self.uses
        names = {number: word for number, word in enumerate(words) if wanted(word)}
        if not names:
            return
        for word, kind, spot in zip(array("I", which), how, array("Q", spots), strict=True):
            if word in names:
                yield Use(names[word], USES[kind], spot >> 32, spot & 0xFFFFFFFF)

    def is_quiet(self, offset: int) -> bool:
        """Whether a byte of the source is in a comment or a text."""
        return bisect_right(self._quiet, offset) % 2 == 1

    @cached_property
    def _quiet(self) -> array[int]:
        return array("I", self.uses.quiet)

    @property
    def weight(self) -> int:
        """About how many bytes this takes in memory."""
        words, *rest = self.uses
        return 64 * len(words) + 400 * len(self.definitions) + sum(map(len, rest))


class PackedTags(Tags):
    """Tags as a parser process sent them: definitions and uses are decoded when they are first needed."""

    def __init__(self, packed: bytes) -> None:
        import msgspec

        facts, self.sketch, definitions, uses = msgspec.msgpack.decode(packed, type=_Packed)
        super().__init__(facts)
        self._packed_definitions = bytes(definitions)
        self._packed_uses = bytes(uses)

    @cached_property
    def definitions(self) -> tuple[Tag, ...]:
        import msgspec

        return msgspec.msgpack.decode(self._packed_definitions, type=tuple[Tag, ...])

    @cached_property
    def uses(self) -> Uses:
        import msgspec

        return msgspec.msgpack.decode(self._packed_uses, type=Uses)

    @property
    def weight(self) -> int:
        return 5 * len(self._packed_definitions) + 3 * len(self._packed_uses)  # with what was decoded


_Packed = tuple[SourceFacts, str, bytes, bytes]  # the facts, the sketch, and the packed definitions and uses


def pack(tags: Tags) -> bytes:
    """Tags as bytes, for `PackedTags`."""
    import msgspec

    encode = msgspec.msgpack.encode
    return encode((tags.facts, tags.sketch, encode(tags.definitions), encode(tags.uses)))


def format_lines(rows: Collection[tuple[int, int, int, str]], indent: str = "") -> list[str]:
    """Definitions as lines of text, from their first and last line, their level from 0 and their text."""
    spans = [str(line) if line == end else f"{line}-{end}" for line, end, _, _ in rows]
    width = max(map(len, spans), default=0)
    return [f"{indent}{span:<{width}}  {'  ' * row[2]}{row[3]}" for span, row in zip(spans, rows, strict=True)]
