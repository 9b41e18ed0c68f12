"""What is kept of one file in order to rank it and to show what is in it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from toolroll.text.code.syntax.languages import LANGUAGES
from toolroll.text.code.syntax.model import KINDS, USES, Tags
from toolroll.text.ranking import terms as words
from toolroll.text.ranking.weights import USED

FORMAT = 2
"""Of what is kept; raise it when the same file would now give another sheet."""

_SHOWN = frozenset(KINDS) - {"import", "decorator"}
_INNER = frozenset({"variable", "constant"})
_MOST_MARKS = 2_000
_SIGNATURE = 120


class Mark(NamedTuple):
    """A definition, as it is shown. `parent` is what it is in, its names joined by dots."""

    name: str
    kind: str
    line: int
    parent: str
    text: str

    @property
    def path(self) -> str:
        """The name with those of its parents."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """One file: its terms, the names it defines and uses, and its definitions."""

    terms: dict[str, int]
    names: dict[str, int]
    """The terms of the names that are defined."""
    defined: tuple[str, ...] = ()
    """Without methods: nobody can tell whose method is called by their name alone."""
    used: dict[str, int] | None = None
    """How much each name is used; an import tells more than a call, which may be of anything of that name."""
    marks: bytes = b""
    """The definitions, packed: most are never shown. See `marks_of`."""
    broken: int = 0
    """The first line that does not parse; 0 if all do."""


EMPTY = Sheet({}, {})
"""Of a file that is known by its path alone."""


def wants(language: str) -> bool:
    """Whether the definitions of a language are worth a parse: those of code, and headings."""
    return LANGUAGES[language].code or language == "markdown"


def made(text: str, tags: Tags | None) -> Sheet:
    """The sheet of a text, with its definitions if it was parsed."""
    terms = words.count_terms(text)
    if tags is None:
        return Sheet(terms, {})
    import msgspec

    kept = [
        Mark(tag.name, tag.kind, tag.line, tag.parent, _cut(tag.signature or tag.name))
        for tag in tags.of(_SHOWN)
        if not (tag.parent and tag.kind in _INNER)
    ][:_MOST_MARKS]
    names: Counter[str] = Counter()
    for mark in kept:
        names.update(words.split_terms(mark.name) if mark.kind != "heading" else words.count_terms(mark.name))
    code = LANGUAGES[tags.language].code
    return Sheet(
        terms,
        dict(names),
        tuple(dict.fromkeys(mark.name for mark in kept if mark.kind != "method")) if code else (),
        _uses(tags) if code else None,
        msgspec.msgpack.encode(kept),
        tags.broken,
    )


def pack(sheet: Sheet) -> bytes:
    """A sheet as it is kept."""
    import msgspec

    return msgspec.msgpack.encode(sheet)


@lru_cache(maxsize=512)  # files that are shown once are often shown again
def marks_of(sheet_marks: bytes) -> Sequence[Mark]:
    """The definitions of a sheet, in the order of the source."""
    if not sheet_marks:
        return ()
    import msgspec

    return msgspec.msgpack.decode(sheet_marks, type=tuple[Mark, ...])


def _uses(tags: Tags) -> dict[str, int]:
    weights = [USED[kind] for kind in USES]
    words, which, kinds, *_ = tags.uses
    found = [0] * len(words)
    for word, kind in zip(array("I", which), kinds, strict=True):
        found[word] += weights[kind]
    return dict(zip(words, found, strict=True))


def _cut(text: str) -> str:
    return text if len(text) <= _SIGNATURE else f"{text[: _SIGNATURE - 3]}..."
