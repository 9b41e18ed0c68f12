"""What is kept of one file to rank it and to show its definitions."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.model import KINDS, USES, Tags
from toolroll.text.ranking.terms import count_terms, split_terms
from toolroll.text.ranking.weights import USED

FORMAT = 2  # version of the stored form; raise it when the same file gives other facts

_SHOWN = frozenset(KINDS) - {"import", "decorator"}
_INNER = frozenset({"variable", "constant"})
_MAX_MARKS = 2_000
_MAX_SIGNATURE_CHARS = 120


class Mark(NamedTuple):
    """A definition, as it is shown. `parent` is the dotted path of what contains it."""

    name: str
    kind: str
    line: int
    parent: str
    text: str

    @property
    def path(self) -> str:
        return f"{self.parent}.{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True, eq=False)
class FileFacts:
    """One file: its terms, the names it defines and uses, and its definitions."""

    terms: dict[str, int]
    names: dict[str, int]
    defined: tuple[str, ...] = ()
    """Without methods: the name alone does not show whose method is called."""
    used: dict[str, int] | None = None
    """How much each name is used; an import counts more than a call, which may be of any definition of that name."""
    marks: bytes = b""
    """The packed definitions, see `marks_of`; most are never shown."""
    broken: int = 0
    """The first line that does not parse; 0 if all do."""


EMPTY = FileFacts({}, {})  # facts of a file that is known by its path alone


def wants(language: str) -> bool:
    """Whether files of a language are parsed: code, and Markdown for its headings."""
    return languages.get(language).code or language == "markdown"


def make_facts(text: str, tags: Tags | None) -> FileFacts:
    """The facts of a text, with its definitions if it was parsed."""
    terms = count_terms(text)
    if tags is None:
        return FileFacts(terms, {})
    import msgspec

    kept = [
        Mark(tag.name, tag.kind, tag.line, tag.parent, _cut(tag.signature or tag.name))
        for tag in tags.of(_SHOWN)
        if not (tag.parent and tag.kind in _INNER)
    ][:_MAX_MARKS]
    names: Counter[str] = Counter()
    for mark in kept:
        names.update(split_terms(mark.name) if mark.kind != "heading" else count_terms(mark.name))
    code = languages.get(tags.language).code
    return FileFacts(
        terms,
        dict(names),
        tuple(dict.fromkeys(mark.name for mark in kept if mark.kind != "method")) if code else (),
        _uses(tags) if code else None,
        msgspec.msgpack.encode(kept),
        tags.broken,
    )


def pack(facts: FileFacts) -> bytes:
    """Facts in their stored form."""
    import msgspec

    return msgspec.msgpack.encode(facts)


@lru_cache(maxsize=512)  # a file that was shown is often shown again
def marks_of(packed: bytes) -> Sequence[Mark]:
    """The packed definitions of a file, in the order of the source."""
    if not packed:
        return ()
    import msgspec

    return msgspec.msgpack.decode(packed, type=tuple[Mark, ...])


def _uses(tags: Tags) -> dict[str, int]:
    weights = [USED[kind] for kind in USES]
    words, which, kinds, *_ = tags.uses
    found = [0] * len(words)
    for word, kind in zip(array("I", which), kinds, strict=True):
        found[word] += weights[kind]
    return dict(zip(words, found, strict=True))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SIGNATURE_CHARS else f"{text[: _MAX_SIGNATURE_CHARS - 3]}..."
