"""The definitions in a source: their names, what they are in, how they begin, what decorates them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from toolroll.text.code.syntax.languages import Language
from toolroll.text.code.syntax.model import HOLDERS, Tag
from toolroll.text.code.syntax.names import QUOTES, bare, name_of, plain, scoped, unquoted
from toolroll.text.code.syntax.source import Source, text

if TYPE_CHECKING:
    from tree_sitter import Node

HEAD = 4096
"""Bytes of a definition in which its signature must end."""
MOST = 50_000
"""Definitions of one source."""

_SIGNATURE = 200  # characters of a signature that are kept
_VALUE = 100  # the same of a variable, whose value may be long
_DEEP = 50  # parents that a definition is told with
_ENDS = " \t\r\n{[:=;,"  # what leads from a signature to what it is of
_FIXED = re.compile(r"\b(?:const|constexpr|static final|final static|static readonly)\b")
_LOUD = frozenset({"python", "javascript", "typescript", "tsx", "php", "bash"})
"""Languages in which a name in capitals is how a constant is told."""
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
_VALUES = frozenset({"variable", "constant", "key"})
_CODE = frozenset({"function", "method", "class", "variable"})
_WHOLE = frozenset({"import", "decorator"})  # nothing of them is a body
_READ_AS = {"method": "function", "constant": "variable"}  # until it is known what they are in, or called
_BRACED = frozenset({"class", "interface", "struct", "enum", "trait", "type", "module", "rule"})


class Definition:
    """A definition that is being read: its name, and those of what it is in, may come later."""

    __slots__ = (
        *("decorators", "end", "first", "head_end", "kind", "name", "name_at", "name_end", "node", "others"),
        *("parent", "start", "within"),
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
        self.others: tuple[Definition, ...] = ()
        """Those that further names in it make, as in `int a, b`."""
        self.first: Definition | None = None
        """The one whose further name this is."""
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
            start += len(head) - len(head.lstrip(b" \t\r\n],"))
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
        name = plain(self._name(one))
        parents = self._within(one.parent) if one.parent is not None else ()
        if one.kind in _CODE and self._language == "python":
            return name, parents
        if one.kind == "decorator":
            name = name.partition("(")[0]
        elif one.kind == "import" or (one.kind == "module" and name[:1] in ("'", '"')):
            name = name.strip(QUOTES)
        elif one.kind == "key" and (inner := unquoted(name)) != name:
            name, one.name_at = inner, one.name_at + 1
        elif one.kind == "rule" and not name:
            name = self._signature(one, one.start)
        elif self._language in ("cpp", "ruby"):
            name, parents = self._scoped(one, name, parents)
        elif self._language == "go" and one.kind == "method" and not parents:
            parents = self._receiver(one)
        elif self._language == "csharp" and one.node is not None and "operator" in one.node.type:
            name = f"operator {name}"
        return name, parents

    def _scoped(self, one: Definition, said: str, parents: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The same for a name that is written with what it is in: `A::f`; or as a symbol: `:f`."""
        scope, name = scoped(said)
        if scope:
            one.name_at += len(scope.encode()) + 2
            parents += tuple(bare(scope).split("::"))
        elif name.startswith(":"):
            name, one.name_at = name[1:], one.name_at + 1
        return name, parents

    def _receiver(self, one: Definition) -> tuple[str, ...]:
        """What a method of Go is of, which stands before its name."""
        receiver = one.node.child_by_field_name("receiver") if one.node is not None else None
        said = text(self.where.data[receiver.start_byte : receiver.end_byte]) if receiver else ""
        return (found[1],) if (found := _RECEIVER.search(said)) else ()

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
            if inner.kind == "method" and self._language == "go" and not names:
                names = self._receiver(inner)
            if self._name(inner) and not self._is_hidden(inner):
                above = plain(inner.name)
                above = unquoted(above) if inner.kind == "key" else above.strip(QUOTES).replace("::", ".")
                names = (*names, above)[-_DEEP:]
            inner.within = names
        return names

    def _is_hidden(self, one: Definition) -> bool:
        """Whether what is in it is not its own: of `typedef struct a {...} b`, only a has members."""
        if one.kind == "import" or (one.kind == "variable" and self._language == "python"):
            return True  # of `a = b = 1`, each is told for itself
        if one.kind == "scope":
            return one.name == "self"
        if one.kind not in ("type", "variable") or self._language not in ("c", "cpp") or one.node is None:
            return False
        made = one.node.child_by_field_name("type")
        return made is not None and made.child_by_field_name("name") is not None

    def _kind(self, one: Definition, name: str, parents: tuple[str, ...], signature: str) -> str:
        kind = one.kind
        if kind == "function" and parents:
            if one.parent is None or parents != self._within(one.parent):
                return "method"  # `A::f` outside of A; that A may be a namespace cannot be seen here
            return "method" if one.parent.kind in self._holders else "function"
        if kind == "variable" and name:
            return "constant" if self._is_fixed(one, name, signature) else "variable"
        return kind

    def _is_fixed(self, one: Definition, name: str, signature: str) -> bool:
        if self._language == "ruby":
            return name[0].isupper()
        if self._language in _LOUD and len(name) > 1 and name.isupper():
            return True
        first = one.first
        before = text(self.where.data[first.start : first.name_at]) if first else signature.partition(name)[0]
        return _FIXED.search(before) is not None

    def _signature(self, one: Definition, start: int) -> str:
        """What stands before the body, on one line."""
        kind = one.kind
        said = text(self.where.between(start, self._head_end(one, start)))
        if kind == "key" or (self._language == "ruby" and kind == "function"):
            said = said.partition("\n")[0]
        elif (kind in _BRACED or (self._language == "rust" and kind == "function")) and not _has_body(one):
            said = said.partition("{")[0]
        said = _joined(said)
        if kind != "decorator":
            said = said.rstrip(_ENDS)
            said = said.removesuffix("=>").rstrip(_ENDS)
        if kind == "type" and self._language in ("c", "cpp") and one.name not in said:
            said = f"{said} {one.name}"  # it stands after the body
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
        if body is not None and body.type == "ordered_field_declaration_list":
            return end
        return min(end, body.start_byte) if body is not None and body.start_byte > start else end


def _has_body(one: Definition) -> bool:
    """Whether its signature ends where its body begins; else a brace may tell."""
    return one.head_end >= 0 or (one.node is not None and one.node.child_by_field_name("body") is not None)


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
        name = re.sub(r"\s+#+$", "", plain(one.name))
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
