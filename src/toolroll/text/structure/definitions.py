"""The definitions in a source: their names, what they are in, how they begin, what decorates them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

from toolroll.text.structure.languages import Language
from toolroll.text.structure.model import HOLDERS, KINDS, Tag
from toolroll.text.structure.source import Source, text

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNATURE = 200  # characters of a signature that are kept
_VALUE = 100  # the same of a variable, whose value may be long
_HEAD = 4096  # bytes of a definition in which its signature must end
_NAME = 200
_MOST = 50_000  # definitions of one source
_DEEP = 50  # parents that a definition is told with
_ENDS = " \t\r\n{[:=;,"  # what leads from a signature to what it is of
_BETWEEN = re.compile(rb"\s*(?:(?:export|default|declare|abstract|pub|public|async)\s+)*")
_FIXED = re.compile(r"\b(?:const|constexpr|static final|static readonly)\b")
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
_QUOTES = "\"'`<>"
_VALUES = frozenset({"variable", "constant", "key"})
_WHOLE = frozenset({"import", "decorator"})  # nothing of them is a body
_BRACED = frozenset({"class", "interface", "struct", "enum", "trait", "type", "module", "rule"})

# Of one node of several kinds, the kind that is listed first counts.
_EVENTS = (
    *(kind for kind in KINDS if kind not in ("variable", "heading")),
    "variable",
    *(f"heading.{level}" for level in range(1, 7)),
    "scope",
    "name",
)
_NAMED = len(_EVENTS) - 1
_Event = tuple[int, int, int, int, "Node"]
_PLACE = itemgetter(0, 1, 2, 3)


class Definition:
    """A definition that is being read: its name, and those of what it is in, may come later."""

    __slots__ = ("decorators", "end", "kind", "name", "name_at", "node", "parent", "start", "within")

    def __init__(self, kind: str, start: int, end: int, node: Node, parent: Definition | None) -> None:
        self.kind = kind
        self.node = node
        self.start = self.name_at = start
        self.end = end
        self.parent = parent
        self.name = ""
        self.decorators: tuple[Definition, ...] = ()
        self.within: tuple[str, ...] | None = None
        """The names that what is defined in it has above it, once they are known."""


class Definitions:
    """What a query found of definitions in one source."""

    def __init__(self, language: Language, where: Source, found: Mapping[str, Sequence[Node]]) -> None:
        self.where = where
        self._language = language.name
        self._found = found
        self._holders = HOLDERS | language.holders | {"scope"}

    def tags(self) -> list[Tag]:
        """The definitions in the order of the source; those without a name are left out."""
        made = (self._tag(one) for one in self.read if one.kind != "scope")
        return [tag for tag in made if tag.name]

    @cached_property
    def read(self) -> list[Definition]:
        """All that was found, each with its name, its parent and its decorators."""
        stack: list[Definition] = []
        waiting: list[Definition] = []
        read: list[Definition] = []
        for start, _, order, end, node in self._events():
            while stack and stack[-1].end <= start:
                stack.pop()
            if order == _NAMED:
                self._name(stack, start, end)
                continue
            one = Definition(_EVENTS[order], start, end, node, stack[-1] if stack else None)
            read.append(one)
            if one.kind == "decorator":
                self._decorate(one, stack, waiting)
                continue
            if waiting and one.kind != "import":
                self._take(one, waiting)
            stack.append(one)
            if len(read) >= _MOST:
                break
        return read

    def _events(self) -> list[_Event]:
        """Where definitions and names start, outer ones first, names after what starts with them."""
        events = [
            (start, 1 if order == _NAMED else -end, order, end, node)
            for order, kind in enumerate(_EVENTS)
            for node in self._found.get(kind, ())
            for start, end in (node.byte_range,)
        ]
        events.sort(key=_PLACE)
        kept: list[_Event] = []
        last = (-1, -1)
        for event in events:
            if event[2] == _NAMED or event[:2] != last:
                kept.append(event)
                last = last if event[2] == _NAMED else event[:2]
        return kept

    def _name(self, stack: list[Definition], start: int, end: int) -> None:
        for one in reversed(stack):
            if not one.name:
                one.name = text(self.where.data[start : min(end, start + _NAME)])
                one.name_at = start
                return

    def _decorate(self, one: Definition, stack: list[Definition], waiting: list[Definition]) -> None:
        said = _joined(text(self.where.between(one.start, min(one.end, one.start + _HEAD))))
        bracketed = said.startswith(("#[", "[")) and said.endswith("]")
        said = said.removeprefix("#")[1:-1].strip() if bracketed else said.lstrip("@").strip()
        one.name = _cut(said, _SIGNATURE)
        if stack and not stack[-1].name:
            stack[-1].decorators += (one,)  # among the modifiers of what it belongs to
        else:
            waiting.append(one)

    def _take(self, one: Definition, waiting: list[Definition]) -> None:
        """Give a definition the decorators before it, with nothing between but comments and each other."""
        start = one.start
        near: list[Definition] = []
        while waiting:
            last = waiting.pop()
            if _BETWEEN.fullmatch(self.where.between(last.end, start)) is None:
                break
            last.parent = one
            near.append(last)
            start = last.start
        waiting.clear()
        one.decorators = tuple(near[::-1])

    def _tag(self, one: Definition) -> Tag:
        start = one.start
        if one.decorators and one.decorators[-1].end > start:
            start = one.decorators[-1].end  # it stands within: what matters comes after it
            head = self.where.data[start : start + _HEAD]
            start += len(head) - len(head.lstrip())
        name, parents = self._named(one)
        signature = self._signature(one, start)
        name_line, column = self.where.spot(max(one.name_at, start))
        return Tag(
            name,
            self._kind(one, name, parents, signature),
            self.where.line(start),
            self.where.last_line(start, one.end),
            column,
            signature,
            ".".join(parents),
            tuple([inner.name for inner in one.decorators]) if one.decorators else (),
            name_line,
        )

    def _named(self, one: Definition) -> tuple[str, tuple[str, ...]]:
        """The name and those of the parents, also where a name holds some of them itself."""
        name = _plain(one.name)
        parents = self._within(one.parent)
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
            receiver = one.node.child_by_field_name("receiver")
            said = text(self.where.data[receiver.start_byte : receiver.end_byte]) if receiver else ""
            parents = (found[1],) if (found := _RECEIVER.search(said)) else ()
        return name, parents

    def _within(self, one: Definition | None) -> tuple[str, ...]:
        """The names above what is defined in this one: its own is the last of them."""
        unknown = []
        while one is not None and one.within is None:
            unknown.append(one)
            one = one.parent
        names = one.within or () if one is not None else ()
        for inner in reversed(unknown):
            # A struct within a typedef is not its member.
            hidden = inner.kind == "import" or (inner.kind == "type" and self._language in ("c", "cpp"))
            if inner.name and not hidden:
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
        node, kind = one.node, one.kind
        end = min(one.end, start + _HEAD)
        if kind in _WHOLE or kind in _VALUES:
            return end
        if kind == "element":
            first = node.child(0) if node.child_count else None
            return min(end, first.end_byte) if first else end
        body = node.child_by_field_name("body")
        if body is None and kind in ("function", "method", "class"):
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            body = value.child_by_field_name("body") if value else None
        return min(end, body.start_byte) if body is not None and body.start_byte > start else end


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
