"""Assemble definitions from the nodes that a query captured, by the places of these nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from toolroll.text.code.syntax import declarators
from toolroll.text.code.syntax.definitions import MAX_DEFINITIONS, Definition, decoration, name_of
from toolroll.text.code.syntax.model import KINDS
from toolroll.text.code.syntax.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node

_BETWEEN = re.compile(rb"\s*(?:(?:export|default|declare|abstract|pub|public|async)\s+)*")

# Of one node of several kinds, the kind that is listed first counts.
_EVENTS = (
    *(kind for kind in KINDS if kind not in ("class", "variable", "heading")),
    "class",
    "variable",
    *(f"heading.{level}" for level in range(1, 7)),
    "scope",
    "owner",
    "name",
)
_OWNER, _NAME = _EVENTS.index("owner"), _EVENTS.index("name")
_VARIABLE = _EVENTS.index("variable")
_PROMOTED = frozenset({"property_promotion_parameter", "required_parameter", "optional_parameter"})
"""Parameters of constructors that are members of the class too."""
_MEMBERS = frozenset({"property_signature", "field_declaration"})
_SEVERAL = frozenset({"variable", "constant", "type", "import"})  # what may have several names, as in `int a, b`
_Event = tuple[int, int, int, int, "Node"]
_PLACE = itemgetter(0, 1, 2, 3)


def assemble(where: SourceText, found: Mapping[str, Sequence[Node]]) -> list[Definition]:
    """The definitions in the order of the source, each with its name, its parent and its decorators."""
    stack: list[Definition] = []
    waiting: list[Definition] = []
    made: list[Definition] = []
    for start, _, order, end, node in _events(declarators.resolve(found)):
        while stack and stack[-1].end <= start:
            stack.pop()
        if order == _NAME:
            made += _name(where, stack, start, end)
        elif order == _OWNER:
            if stack and not stack[-1].owner:
                stack[-1].owner = name_of(where.data, start, end)
        elif not _is_local(stack, order, node):
            made.append(_put(where, Definition(_EVENTS[order], start, end, node, _holder(stack, node)), stack, waiting))
        if len(made) >= MAX_DEFINITIONS:
            break
    for one in made:
        if one.others:
            _part(where, one)
    return made


def _put(where: SourceText, one: Definition, stack: list[Definition], waiting: list[Definition]) -> Definition:
    """Put a definition among those that the next ones may be in; a decorator, to what it belongs to."""
    if one.kind == "decorator":
        _decorate(where, one, stack, waiting)
        return one
    if waiting and one.kind != "import":
        _take(where, one, waiting)
    stack.append(one)
    return one


def _holder(stack: Sequence[Definition], node: Node) -> Definition | None:
    inner = stack[-1] if stack else None
    if inner is None or inner.node is None:
        return inner
    chained = node.type == inner.node.type == "assignment"  # of `a = b = 1`, neither is in the other
    return inner.parent if chained or node.type in _PROMOTED else inner


def _events(found: Mapping[str, Sequence[Node]]) -> list[_Event]:
    """Where definitions and names start, outer ones first, names after what starts with them."""
    events = [
        (start, 1 if order >= _OWNER else -end, order, end, node)
        for order, kind in enumerate(_EVENTS)
        for node in found.get(kind, ())
        for start, end in (node.byte_range,)
    ]
    events.sort(key=_PLACE)
    kept: list[_Event] = []
    last = (-1, -1)
    for event in events:
        if event[2] >= _OWNER or event[:2] != last:
            kept.append(event)
            last = last if event[2] >= _OWNER else event[:2]
    return kept


def _name(where: SourceText, stack: list[Definition], start: int, end: int) -> tuple[Definition, ...]:
    """Name the innermost definition without a name; a further name of one makes the definition that is returned."""
    if stack and (one := stack[-1]).name and _has_several(one) and not _is_importing(stack):
        last = one.others[-1] if one.others else one
        if start < last.name_at + len(last.name.encode()):
            return ()  # captured twice, or a part of the last name
        other = Definition(one.kind, one.start, one.end, one.node, one.parent)
        other.name, other.name_at = name_of(where.data, start, end), start
        other.first, other.decorators = one, one.decorators
        one.others = (*one.others, other)
        return (other,)
    for one in reversed(stack):
        if not one.name:
            one.name = name_of(where.data, start, end)
            one.name_at = start
            break
    return ()


def _is_local(stack: Sequence[Definition], order: int, node: Node) -> bool:
    """Whether a value is a function's own, or of the type of what it takes."""
    if not stack or (order != _VARIABLE and node.type != "declaration"):
        return False
    return stack[-1].kind == "function" or (stack[-1].kind == "method" and node.type in _MEMBERS)


def _has_several(one: Definition) -> bool:
    """Whether it may have several names; a call that defines, such as Ruby's `attr_reader :a, :b`, may too."""
    return one.kind in _SEVERAL or (one.node is not None and one.node.type == "call")


def _is_importing(stack: Sequence[Definition]) -> bool:
    """Whether an import waits for its name, as in `const fs = require("fs")`."""
    return any(one.kind == "import" and not one.name for one in stack)


def _part(where: SourceText, one: Definition) -> None:
    """Give each name of a declaration its own lines, if there are several."""
    every = (one, *one.others)
    if one.kind != "import" and b"\n" in where.data[one.name_at : every[-1].name_at]:
        for upper, lower in pairwise(every):
            upper.end = lower.start = lower.name_at


def _decorate(where: SourceText, one: Definition, stack: list[Definition], waiting: list[Definition]) -> None:
    one.name = decoration(where, one.start, one.end)
    if stack and not stack[-1].name:
        stack[-1].decorators += (one,)  # among the modifiers of what it belongs to
    else:
        waiting.append(one)


def _take(where: SourceText, one: Definition, waiting: list[Definition]) -> None:
    """Give a definition the decorators before it, with nothing between but comments and each other."""
    start = one.start
    near: list[Definition] = []
    while waiting:
        last = waiting.pop()
        if _BETWEEN.fullmatch(where.between(last.end, start)) is None:
            break
        last.parent = one
        near.append(last)
        start = last.start
    waiting.clear()
    one.decorators = tuple(near[::-1])
