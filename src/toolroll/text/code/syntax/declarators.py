"""Declarations of C and C++, whose names stand within their types, as deep as these go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {"function_definition": "function", "type_definition": "type"}
_NAMES = frozenset(
    {
        *("identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name"),
        *("operator_name", "operator_cast"),
    }
)
_BRACE = re.compile(
    rb"""^[ \t]*\#[ \t]*(?:ifdef[ \t]+|if[ \t]+defined[ \t(]*)__cplusplus[^\n]*\n  # only for C++:
    ([^#]*?(?:extern[ \t]*"C"[ \t\r\n]*\{|\}[ \t]*;?)(?:[^\n#{}]*\n)*?)         # a brace that opens or closes
    (?=[ \t]*\#[ \t]*endif)""",
    re.MULTILINE | re.VERBOSE,
)
_EXPORTED = re.compile(rb"\b(?:class|struct)[ \t]+([A-Z][A-Z0-9_]+)(?=[ \t]+[A-Za-z_]\w*\s*(?:final\s*)?[:{])")
_INK = re.compile(rb"[^\r\n]")
_MAX_DEPTH = 20  # of a declarator


def blank_macros(source: bytes) -> bytes:
    """A source that parses without macros being expanded: what depends on them is replaced by blanks.

    That is `extern "C" {` and its closing brace, each for C++ alone, and the export macro of a class, as in
    `class API Name {`.
    """
    if b"__cplusplus" in source:
        source = _BRACE.sub(_blank, source)
    return _EXPORTED.sub(_blank, source)


def _blank(found: re.Match[bytes]) -> bytes:
    at, end = found.start(1) - found.start(), found.end(1) - found.start()
    return found[0][:at] + _INK.sub(b" ", found[1]) + found[0][end:]


def resolve(found: Mapping[str, Sequence[Node]]) -> Mapping[str, Sequence[Node]]:
    """The captures, with each declaration as a function, a type or a variable, and with its names."""
    if "declared" not in found:
        return found
    made = {kind: list(nodes) for kind, nodes in found.items()}
    for node in made.pop("declared"):
        names = list(_names(node))
        if names:
            kind = _KINDS.get(node.type) or ("function" if names[0][1] else "variable")
            made.setdefault(kind, []).append(node)
            made.setdefault("name", []).extend([name for name, _ in names])
    return made


def _names(node: Node) -> Iterator[tuple[Node, bool]]:
    names = _NAMES | {"primitive_type"} if node.type == "type_definition" else _NAMES  # `typedef long ptrdiff_t`
    for one in node.children_by_field_name("declarator"):
        name, called = one, False
        for _ in range(_MAX_DEPTH):
            kind = name.type
            if kind in names:
                if name.end_byte > name.start_byte:
                    yield name, called or _is_cast(name)
                break
            inner = _inner(name, kind)
            if inner is None:
                break
            called = kind == "function_declarator" or (called and kind == "template_function")
            name = inner


def _inner(node: Node, kind: str) -> Node | None:
    """What a declarator is about: a name, or another declarator."""
    if kind == "template_function":
        return node.child_by_field_name("name")
    found = node.child_by_field_name("declarator")
    if found is None and kind in ("parenthesized_declarator", "reference_declarator", "attributed_declarator"):
        every = [one for one in node.named_children if one.type.endswith(("declarator", "identifier", "_name"))]
        return every[0] if every else None
    return found


def _is_cast(name: Node) -> bool:
    """Whether a name is that of a conversion, which holds its parameters itself."""
    while name.type == "qualified_identifier":
        inner = name.child_by_field_name("name")
        if inner is None:
            return False
        name = inner
    return name.type == "operator_cast"
