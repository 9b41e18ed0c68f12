"""What a source defines and uses, in a form that is small to keep and quick to send."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

KINDS = (
    *("function", "method", "class", "interface", "struct", "enum", "trait", "type", "module"),
    *("constant", "variable", "import", "decorator", "heading", "key", "rule", "element"),
)
"""What a definition can be; imports and decorators are among them because they too are found by name."""

USES = ("decorator", "inherit", "import", "call", "type")
"""How a name can be used, as the grammar tells; of two that fit, the first. Further ones follow from the text
around a name: "attribute" after a dot, and "name" for all others."""

HOLDERS = frozenset({"class", "interface", "struct", "enum", "trait"})
"""Kinds whose functions are methods."""

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
    """The names of what it is defined in, joined by dots."""
    decorators: tuple[str, ...] = ()
    """As written, without the sign before them."""
    name_line: int = 0

    @property
    def path(self) -> str:
        """The name with those of its parents: `Class.method`."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


class Use(NamedTuple):
    """A place where a name is used."""

    name: str
    kind: str
    line: int
    column: int


@dataclass(frozen=True, eq=False)
class Tags:
    """The definitions and uses in one source."""

    language: str
    lines: int
    broken: int
    """The first line that does not parse; 0 if all do."""
    definitions: tuple[Tag, ...]
    """In the order of the source; what is in another follows it."""
    words: tuple[str, ...]
    """The names that are used, each once; the next three hold one entry for each use, in the order of the source."""
    which: bytes
    """Indices into `words`, as 32-bit numbers."""
    how: bytes
    """Indices into `USES`."""
    spots: bytes
    """`line << 32 | column`, as 64-bit numbers."""
    quiet: bytes
    """Start and end, as 32-bit numbers, of each comment and text: there, a word is no use of anything."""
    whole: bool = True
    """False if only the definitions were asked for: then what is used is not known."""

    @cached_property
    def upper(self) -> tuple[Tag, ...]:
        """The definitions that are in no other one; no imports and decorators."""
        return tuple(tag for level, tag in self.by_level() if level == 0)

    def by_level(self) -> Iterator[tuple[int, Tag]]:
        """The definitions with how many others each is in; no imports and decorators."""
        above: list[str] = []
        for tag in self.definitions:
            if tag.kind in _ASIDE:
                continue
            while above and above[-1] != tag.parent:
                above.pop()
            yield len(above), tag
            above.append(tag.path)

    @property
    def references(self) -> tuple[Use, ...]:
        """The uses that the grammar tells, in the order of the source."""
        return tuple(self.uses_of(lambda _: True))

    def uses_of(self, wanted: Callable[[str], bool]) -> Iterator[Use]:
        """Those of the names that are wanted."""
        names = {number: word for number, word in enumerate(self.words) if wanted(word)}
        if not names:
            return
        for word, how, spot in zip(array("I", self.which), self.how, array("Q", self.spots), strict=True):
            if word in names:
                yield Use(names[word], USES[how], spot >> 32, spot & 0xFFFFFFFF)

    def is_quiet(self, offset: int) -> bool:
        """Whether a byte of the source is in a comment or a text."""
        at = bisect_right(self._quiet, offset)
        return at % 2 == 1

    @cached_property
    def _quiet(self) -> array[int]:
        return array("I", self.quiet)

    @property
    def weight(self) -> int:
        """About how many bytes it takes to keep this."""
        words = 64 * len(self.words)
        return words + 400 * len(self.definitions) + len(self.which) + len(self.how) + len(self.spots) + len(self.quiet)
