"""What a source defines and uses, in a form that is small to keep and quick to send."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from toolroll.text.code.syntax.sketch import Shown, rendered, said

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

VALUES = frozenset({"variable", "constant"})
"""Kinds that an outline of many files leaves out."""

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


class Uses(NamedTuple):
    """Where names are used in one source."""

    words: tuple[str, ...] = ()
    """The names, each once; the next three hold one entry for each use, in the order of the source."""
    which: bytes = b""
    """Indices into `words`, as 32-bit numbers."""
    how: bytes = b""
    """Indices into `USES`."""
    spots: bytes = b""
    """`line << 32 | column`, as 64-bit numbers."""
    quiet: bytes = b""
    """Start and end, as 32-bit numbers, of each comment and text: there, a word is no use of anything."""


class Head(NamedTuple):
    """What is known of a source without a look at what it defines and uses."""

    language: str
    lines: int
    broken: int
    """The first line that does not parse; 0 if all do."""
    whole: bool
    """False if only the definitions were asked for: then what is used is not known."""


class Tags:
    """The definitions and uses in one source. See `bare` and `packed` for those that wait until somebody asks."""

    def __init__(self, head: Head, definitions: Iterable[Tag] = (), uses: Uses = Uses()) -> None:  # noqa: B008
        self.language, self.lines, self.broken, self.whole = head
        self._definitions = tuple(definitions)
        self._uses = uses

    @property
    def head(self) -> Head:
        """What is known of the source as a whole."""
        return Head(self.language, self.lines, self.broken, self.whole)

    @property
    def definitions(self) -> tuple[Tag, ...]:
        """In the order of the source; what is in another follows it."""
        return self._definitions

    def of(self, kinds: Collection[str]) -> list[Tag]:
        """Those of some kinds."""
        return [tag for tag in self.definitions if tag.kind in kinds]

    @property
    def uses(self) -> Uses:
        """The uses that the grammar tells."""
        return self._uses

    @cached_property
    def upper(self) -> tuple[Tag, ...]:
        """The definitions that are in no other one; no imports and decorators."""
        return tuple(tag for level, tag in self.by_level() if not level)

    @cached_property
    def sketch(self) -> str:
        """Those of them that are no values, a line each."""
        shown = [Shown(tag.line, tag.end_line, 0, said(tag)) for tag in self.upper if tag.kind not in VALUES]
        return "\n".join(rendered(shown, "  "))

    def by_level(self) -> Iterator[tuple[int, Tag]]:
        """The definitions with how many others each is in; no imports and decorators."""
        above: list[str] = []
        for tag in self.definitions:
            if tag.kind in _ASIDE:
                continue
            parent = tag.parent
            while above and above[-1] != parent:
                above.pop()
            yield len(above), tag
            above.append(tag.path)

    @property
    def references(self) -> tuple[Use, ...]:
        """The uses that the grammar tells, in the order of the source."""
        return tuple(self.uses_of(lambda _: True))

    def uses_of(self, wanted: Callable[[str], bool]) -> Iterator[Use]:
        """Those of the names that are wanted."""
        words, which, how, spots, _ = self.uses
        names = {number: word for number, word in enumerate(words) if wanted(word)}
        if not names:
            return
        for word, kind, spot in zip(array("I", which), how, array("Q", spots), strict=True):
            if word in names:
                yield Use(names[word], USES[kind], spot >> 32, spot & 0xFFFFFFFF)

    def is_quiet(self, offset: int) -> bool:
        """Whether a byte of the source is in a comment or a text."""
        at = bisect_right(self._quiet, offset)
        return at % 2 == 1

    @cached_property
    def _quiet(self) -> array[int]:
        return array("I", self.uses.quiet)

    @property
    def weight(self) -> int:
        """About how many bytes it takes to keep this."""
        words, *rest = self.uses
        return 64 * len(words) + 400 * len(self.definitions) + sum(map(len, rest))
