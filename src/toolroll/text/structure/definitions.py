"""The definitions in a source: their names, what they are in, how they begin, what decorates them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from toolroll.text.structure.languages import Language
from toolroll.text.structure.model import HOLDERS, Tag
from toolroll.text.structure.source import Source, text

if TYPE_CHECKING:
    from tree_sitter import Node

HEAD = 4096
"""Bytes of a definition in which its signature must end."""
MOST = 50_000
"""Definitions of one source."""

_SIGNATURE = 200  # characters of a signature that are kept
_VALUE = 100  # the same of a variable, whose value may be long
_NAME = 200
_DEEP = 50  # parents that a definition is told with
_ENDS = " \t\r\n{[:=;,"  # what leads from a signature to what it is of
_FIXED = re.compile(r"\b(?:const|constexpr|static final|static readonly)\b")
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
_QUOTES = "\"'`<>"
_VALUES = frozenset({"variable", "constant", "key"})
_CODE = frozenset({"function", "method", "class", "variable"})
_WHOLE = frozenset({"import", "decorator"})  # nothing of them is a body
_READ_AS = {"method": "function", "constant": "variable"}  # until it is known what they are in, or called
_BRACED = frozenset({"class", "interface", "struct", "enum", "trait", "type", "module", "rule"})


class Definition:
    """A definition that is being read: its name, and those of what it is in, may come later."""

    __slots__ = (
        *("decorators", "end", "head_end", "kind", "name", "name_at", "name_end", "node", "parent"),
        *("start", "within"),
    )

    def __init__(self, kind: str, start: int, end: int, node: Node | None, parent: Definition | None) -> None:
        self.kind = kind
        self.node = node
        self.start = self.name_at = start
        self.end = end
        self.parent = parent
        self.name = ""
        self.name_end = 0
        """Where a name ends that was seen and not read yet; else 0."""
        self.decorators: tuple[Definition, ...] = ()
        self.head_end = -1
        """Where its signature ends; -1 if nobody has looked."""
        self.within: tuple[str, ...] | None = None
        """The names that what is defined in it has above it, once they are known."""


class Definitions:
    """The definitions that were read in one source."""

    def __init__(self, language: Language, where: Source, read: Sequence[Definition]) -> None:
        self.where = where
        self.read = read
        self._language = language.name
        self._holders = HOLDERS | language.holders | {"scope"}

    def tags(self, kinds: Collection[str] | None = None) -> list[Tag]:
        """The definitions in the order of the source, all or those of some kinds; not those without a name."""
        if kinds is None:
            return [tag for one in self.read if one.kind != "scope" and (tag := self._tag(one)).name]
        asked = {_READ_AS.get(kind, kind) for kind in kinds}
        made = (self._tag(one) for one in self.read if one.kind in asked)
        return [tag for tag in made if tag.name and tag.kind in kinds]

    def _tag(self, one: Definition) -> Tag:
        start = one.start
        if one.decorators and one.decorators[-1].end > start:
            start = one.decorators[-1].end  # it stands within: what matters comes after it
            head = self.where.data[start : start + HEAD]
            start += len(head) - len(head.lstrip())
        name, parents = self._named(one)
        signature = self._signature(one, start)
        line = self.where.line(start)
        end_line = self.where.last_line(start, one.end)
        name_line, column = self.where.spot(max(one.name_at, start))
        return Tag(
            name,
            self._kind(one, name, parents, signature),
            line,
            end_line,
            column,
            signature,
            ".".join(parents) if parents else "",
            tuple([self._name(inner) for inner in one.decorators]) if one.decorators else (),
            name_line,
        )

    def _named(self, one: Definition) -> tuple[str, tuple[str, ...]]:
        """The name and those of the parents, also where a name holds some of them itself."""
        name = _plain(self._name(one))
        parents = self._within(one.parent) if one.parent is not None else ()
        if one.kind in _CODE and self._language == "python":
            return name, parents
        if one.kind == "decorator":
            name = name.partition("(")[0]
        elif one.kind in ("import", "key"):
            name = name.strip(_QUOTES)
        elif one.kind == "rule" and not name:
            name = self._signature(one, one.start)
        elif self._language == "cpp" and "::" in name:
            above, _, name = name.rpartition("::")
            one.name_at += len(above.encode()) + 2
            parents += tuple(above.split("::"))
        elif self._language == "go" and one.kind == "method" and not parents:
            receiver = one.node.child_by_field_name("receiver") if one.node is not None else None
            said = text(self.where.data[receiver.start_byte : receiver.end_byte]) if receiver else ""
            parents = (found[1],) if (found := _RECEIVER.search(said)) else ()
        return name, parents

    def _name(self, one: Definition) -> str:
        if not one.name and one.name_end:
            start, end = one.name_at, one.name_end
            decorates = one.kind == "decorator"
            one.name = decoration(self.where, start, end) if decorates else name_of(self.where.data, start, end)
        return one.name

    def _within(self, inside: Definition) -> tuple[str, ...]:
        """The names above what is defined in this one: its own is the last of them."""
        unknown = []
        one: Definition | None = inside
        while one is not None and one.within is None:
            unknown.append(one)
            one = one.parent
        names = one.within or () if one is not None else ()
        for inner in reversed(unknown):
            # A struct within a typedef is not its member.
            hidden = inner.kind == "import" or (inner.kind == "type" and self._language in ("c", "cpp"))
            if self._name(inner) and not hidden:
                names = (*names, _plain(inner.name).strip(_QUOTES).replace("::", "."))[-_DEEP:]
            inner.within = names
        return names

    def _kind(self, one: Definition, name: str, parents: tuple[str, ...], signature: str) -> str:
        kind = one.kind
        if kind == "function" and parents:
            if one.parent is None:  # `A::f` outside of A; that A may be a namespace cannot be seen here
                return "method"
            return "method" if one.parent.kind in self._holders else "function"
        if kind == "variable":
            fixed = (len(name) > 1 and name.isupper()) or _FIXED.search(signature.partition(name)[0])
            return "constant" if fixed else "variable"
        return kind

    def _signature(self, one: Definition, start: int) -> str:
        """What stands before the body, on one line."""
        kind = one.kind
        said = text(self.where.between(start, self._head_end(one, start)))
        if kind == "key" or (self._language == "ruby" and kind == "function"):
            said = said.partition("\n")[0]
        elif kind in _BRACED or (self._language == "rust" and kind == "function"):
            said = said.partition("{")[0]
        said = _joined(said)
        if kind != "decorator":
            said = said.rstrip(_ENDS)
            said = said.removesuffix("=>").rstrip(_ENDS)
        return _cut(said, _VALUE if kind in _VALUES else _SIGNATURE)

    def _head_end(self, one: Definition, start: int) -> int:
        if one.head_end >= 0:
            return one.head_end
        node, kind = one.node, one.kind
        end = min(one.end, start + HEAD)
        if kind in _WHOLE or kind in _VALUES or node is None:
            return end
        if kind == "element":
            first = node.child(0) if node.child_count else None
            return min(end, first.end_byte) if first else end
        body = node.child_by_field_name("body")
        if body is None and kind in ("function", "method", "class"):
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            body = value.child_by_field_name("body") if value else None
        return min(end, body.start_byte) if body is not None and body.start_byte > start else end


def name_of(data: bytes, start: int, end: int) -> str:
    """A name as it is kept, however long it is."""
    return text(data[start : min(end, start + _NAME)])


def decoration(where: Source, start: int, end: int) -> str:
    """What a decorator says, without the sign before it and the brackets around it."""
    said = _joined(text(where.between(start, min(end, start + HEAD))))
    bracketed = said.startswith(("#[", "[")) and said.endswith("]")
    said = said.removeprefix("#")[1:-1].strip() if bracketed else said.lstrip("@").strip()
    return _cut(said, _SIGNATURE)


def headings(reading: Definitions) -> list[Tag]:
    """The headings of a document, each down to the next one of its level or above."""
    made: list[Tag] = []
    above: list[tuple[int, int]] = []  # level, and index in `made`
    for one in reading.read:
        level = int(one.kind.removeprefix("heading."))
        line, column = reading.where.spot(one.name_at)
        name = re.sub(r"\s+#+$", "", _plain(one.name))
        while above and above[-1][0] >= level:
            at = above.pop()[1]
            made[at] = made[at]._replace(end_line=max(made[at].line, line - 1))
        parent = made[above[-1][1]].path if above else ""
        last = reading.where.lines
        made.append(Tag(name, "heading", line, last, column, f"{'#' * level} {name}", parent, (), line))
        above.append((level, len(made) - 1))
    return made


def _joined(said: str) -> str:
    """Several lines as one, as it would be written."""
    said = said.strip()
    if "\n" not in said:
        return said
    made = ""
    for line in filter(None, map(str.strip, said.split("\n"))):
        if line[0] in ")]}":
            made = made.removesuffix(",") + line
        else:
            made += line if made[-1:] in "([{" else f" {line}"
    return made


def _cut(said: str, most: int) -> str:
    return said if len(said) <= most else f"{said[: most - 1]}…"


def _plain(name: str) -> str:
    return " ".join(name.split()) if not name.isidentifier() else name
