"""From definitions as they were captured to tags: names, parents, kinds, signatures, decorators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.text.code.syntax.language import Language
from toolroll.text.code.syntax.model import HOLDERS, Tag
from toolroll.text.code.syntax.source import SourceText, text

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEFINITIONS = 50_000

_HEAD_BYTES = 4096  # of a definition, in which its signature must end
_SIGNATURE_CHARS = 200
_VALUE_CHARS = 100  # of the signature of a variable, whose value may be long
_MAX_PARENTS = 50
_ENDS = " \t\r\n{[:=;,"  # between a signature and the body
_VALUES = frozenset({"variable", "constant", "key"})
_WHOLE = frozenset({"import", "decorator"})  # without a body
_BRACED = frozenset({"class", "interface", "struct", "enum", "trait", "type", "module", "rule"})
_QUOTES = "\"'`<>"
_NAME_BYTES = 200
_ARGUMENTS = re.compile(r"<[^<>]*>")
_OPERATOR = re.compile(r"\boperator\b")
_CAST = re.compile(r"operator\s+\w[^(]*")
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1).)*)\1""")


def name_of(data: bytes, start: int, end: int) -> str:
    """The name between two bytes, cut if it is long."""
    return text(data[start : min(end, start + _NAME_BYTES)])


def on_one_line(name: str) -> str:
    """A name on one line."""
    return " ".join(name.split()) if not name.isidentifier() else name


def unquoted(name: str) -> str:
    """A key without the quotes around it; those around a part of it stay."""
    return found[2] if (found := _QUOTED.fullmatch(name)) else name


def split_scope(name: str) -> tuple[str, str]:
    """What stands before the last `::` of a name, and what after it."""
    operator = _OPERATOR.search(name)
    cut = without_arguments(name[: operator.start()] if operator else name, "_").rfind("::")
    above, last = ("", name) if cut < 0 else (name[:cut], name[cut + 2 :])
    if operator is None:
        return above, last.partition("<")[0] or last
    return above, found[0].strip() if (found := _CAST.match(last)) else last


def without_arguments(name: str, filler: str = "") -> str:
    """A name without the arguments of templates, or with a filler for each of their characters."""
    while (shorter := _ARGUMENTS.sub(lambda found: filler * len(found[0]), name)) != name:
        name = shorter
    return name


class Definition:
    """A definition as it is captured: names of it and of its parents may come later."""

    __slots__ = (
        *("decorators", "end", "first", "kind", "name", "name_at", "node", "others", "owner", "parent", "start"),
        "within",
    )

    def __init__(self, kind: str, start: int, end: int, node: Node | None, parent: Definition | None) -> None:
        self.kind = kind
        self.node = node
        self.start = self.name_at = start
        self.end = end
        self.parent = parent
        self.name = ""
        self.owner = ""
        """What it belongs to, where that is written beside its name."""
        self.decorators: tuple[Definition, ...] = ()
        self.others: tuple[Definition, ...] = ()
        """The definitions that further names make, as in `int a, b`."""
        self.first: Definition | None = None
        """The definition whose further name this is."""
        self.within: tuple[str, ...] | None = None
        """The names above the definitions inside it, once they are known."""


class TagBuilder:
    """Makes the tags of one source."""

    def __init__(self, language: Language, where: SourceText) -> None:
        self._where = where
        self._language = language
        self._holders = HOLDERS | language.holders | {"scope"}
        self._constants = re.compile(language.constants)

    def tags(self, read: Sequence[Definition]) -> list[Tag]:
        """The definitions that have a name, in the order of the source."""
        if read and read[0].kind.startswith("heading."):
            return self._headings(read)
        return [tag for one in read if one.kind != "scope" and (tag := self._tag(one)).name]

    def _tag(self, one: Definition) -> Tag:
        start = one.start
        if one.decorators and one.decorators[-1].end > start:
            start = one.decorators[-1].end  # a decorator inside the definition
            head = self._where.data[start : start + _HEAD_BYTES]
            start += len(head) - len(head.lstrip(b" \t\r\n],"))
        name, parents = self._named(one)
        signature = self._signature(one, start)
        line = self._where.line(start)
        end_line = self._where.last_line(start, one.end)
        name_line, column = self._where.spot(max(one.name_at, start))
        return Tag(
            name,
            self._kind(one, name, parents, signature),
            line,
            end_line,
            column,
            signature,
            ".".join(parents) if parents else "",
            tuple([inner.name for inner in one.decorators]),
            name_line,
        )

    def _named(self, one: Definition) -> tuple[str, tuple[str, ...]]:
        """The name and those of the parents, also where a name holds some of them itself."""
        name = on_one_line(one.name)
        parents = self._within(one.parent) if one.parent is not None else ()
        if one.owner:
            parents += _parts(one.owner)
        if one.kind == "decorator":
            name = name.partition("(")[0]
        elif one.kind == "import" and not name:
            name = self._signature(one, one.start).removeprefix("import").strip()
        elif one.kind == "import" or (one.kind == "module" and name[:1] in ("'", '"')):
            name = name.strip(_QUOTES)
        elif one.kind == "key" and (inner := unquoted(name)) != name:
            name, one.name_at = inner, one.name_at + 1
        elif one.kind == "rule" and not name:
            name = self._signature(one, one.start)
        elif name[:1] in ('"', "`") and one.kind != "key":
            name, one.name_at = name.strip(_QUOTES), one.name_at + 1
        elif self._language.scoped_names:
            name, parents = self._scoped(one, name, parents)
        elif one.node is not None and one.node.type.endswith("operator_declaration"):
            name = f"operator {name}"
        return name, parents

    def _scoped(self, one: Definition, said: str, parents: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The same for a name that is written with its scope, `A::f`, or as a symbol, `:f`."""
        scope, name = split_scope(said)
        if scope:
            one.name_at += len(scope.encode()) + 2
            parents += tuple(without_arguments(scope).split("::"))
        elif name.startswith(":"):
            name, one.name_at = name[1:], one.name_at + 1
        return name, parents

    def _within(self, inside: Definition) -> tuple[str, ...]:
        """The names above what is defined in this one: its own is the last of them."""
        unknown = []
        one: Definition | None = inside
        while one is not None and one.within is None:
            unknown.append(one)
            one = one.parent
        names = one.within or () if one is not None else ()
        for inner in reversed(unknown):
            if inner.name and not _is_hidden(inner):
                above = on_one_line(inner.name)
                above = unquoted(above) if inner.kind == "key" else above.strip(_QUOTES).replace("::", ".")
                names = (*names, *_parts(inner.owner), above)[-_MAX_PARENTS:]
            inner.within = names
        return names

    def _kind(self, one: Definition, name: str, parents: tuple[str, ...], signature: str) -> str:
        kind = one.kind
        if kind == "function" and parents and not one.owner:
            if one.parent is None or parents != self._within(one.parent):
                return "method"  # `A::f` outside of A; whether A is a namespace cannot be seen here
            return "method" if one.parent.kind in self._holders else "function"
        if kind == "variable" and name:
            return "constant" if self._is_constant(one, name, signature) else "variable"
        return kind

    def _is_constant(self, one: Definition, name: str, signature: str) -> bool:
        names = self._language.constant_names
        if names == "capitalised":
            return name[0].isupper()
        if names == "upper" and len(name) > 1 and name.isupper():
            return True
        first = one.first
        before = text(self._where.data[first.start : first.name_at]) if first else signature.partition(name)[0]
        return self._constants.search(before) is not None

    def _signature(self, one: Definition, start: int) -> str:
        """What stands before the body, on one line."""
        kind = one.kind
        said = text(self._where.between(start, self._head_end(one, start)))
        if kind == "key" or (kind == "function" and self._language.one_line_signatures):
            said = said.partition("\n")[0]
        elif (kind in _BRACED or _is_macro(one)) and (one.node is None or self._body(one.node) is None):
            said = said.partition("{")[0]
        said = _join_lines(said)
        if kind != "decorator":
            said = said.rstrip(_ENDS).removesuffix("=>").rstrip(_ENDS)
        if kind == "type" and one.name not in said:
            said = f"{said} {one.name}"  # a typedef has it after the body
        return _cut(said, _VALUE_CHARS if kind in _VALUES else _SIGNATURE_CHARS)

    def _head_end(self, one: Definition, start: int) -> int:
        node, kind = one.node, one.kind
        end = min(one.end, start + _HEAD_BYTES)
        if kind in _WHOLE or kind in _VALUES or node is None:
            return end
        if kind == "element":
            first = node.child(0) if node.child_count else None
            return min(end, first.end_byte) if first else end
        body = self._body(node)
        if body is None and kind in ("function", "method", "class"):
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            body = self._body(value) if value else None
        if body is not None and body.type == "ordered_field_declaration_list":
            return end
        return min(end, body.start_byte) if body is not None and body.start_byte > start else end

    def _body(self, node: Node) -> Node | None:
        if (body := node.child_by_field_name("body")) is not None or not self._language.bodies:
            return body
        return next((child for child in node.children if child.type in self._language.bodies), None)

    def _headings(self, read: Sequence[Definition]) -> list[Tag]:
        """The headings of a document, each down to the next one of its level or above."""
        made: list[Tag] = []
        above: list[tuple[int, int]] = []  # level, and index in `made`
        for one in read:
            level = int(one.kind.removeprefix("heading."))
            line, column = self._where.spot(one.name_at)
            name = re.sub(r"\s+#+$", "", on_one_line(one.name))
            while above and above[-1][0] >= level:
                at = above.pop()[1]
                made[at] = made[at]._replace(end_line=max(made[at].line, line - 1))
            parent = made[above[-1][1]].path if above else ""
            last = self._where.lines
            made.append(Tag(name, "heading", line, last, column, f"{'#' * level} {name}", parent, (), line))
            above.append((level, len(made) - 1))
        return made


def _parts(owner: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", without_arguments(owner)))


def _is_hidden(one: Definition) -> bool:
    """Whether what is in it is not its own: of `typedef struct a {...} b`, only a has members."""
    if one.kind == "import":
        return True
    if one.kind == "scope":
        return one.name == "self"
    made = one.node.child_by_field_name("type") if one.kind in ("type", "variable") and one.node is not None else None
    return made is not None and made.child_by_field_name("name") is not None


def _is_macro(one: Definition) -> bool:
    return one.node is not None and one.node.type == "macro_definition"


def decoration(where: SourceText, start: int, end: int) -> str:
    """The text of a decorator without the sign before it and the brackets around it."""
    said = _join_lines(text(where.between(start, min(end, start + _HEAD_BYTES))))
    bracketed = said.startswith(("#[", "[")) and said.endswith("]")
    said = said.removeprefix("#")[1:-1].strip() if bracketed else said.lstrip("@").strip()
    return _cut(said, _SIGNATURE_CHARS)


def _join_lines(said: str) -> str:
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
