"""Definitions as a query finds them: nodes of many kinds, in no order, put together by where they stand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from toolroll.text.structure.definitions import MOST, Definition, decoration, name_of
from toolroll.text.structure.model import KINDS
from toolroll.text.structure.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_BETWEEN = re.compile(rb"\s*(?:(?:export|default|declare|abstract|pub|public|async)\s+)*")

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


def read(where: Source, found: Mapping[str, Sequence[Node]]) -> list[Definition]:
    """All that was found, each with its name, its parent and its decorators."""
    stack: list[Definition] = []
    waiting: list[Definition] = []
    made: list[Definition] = []
    for start, _, order, end, node in _events(found):
        while stack and stack[-1].end <= start:
            stack.pop()
        if order == _NAMED:
            _name(where, stack, start, end)
            continue
        one = Definition(_EVENTS[order], start, end, node, stack[-1] if stack else None)
        made.append(one)
        if one.kind == "decorator":
            _decorate(where, one, stack, waiting)
            continue
        if waiting and one.kind != "import":
            _take(where, one, waiting)
        stack.append(one)
        if len(made) >= MOST:
            break
    return made


def _events(found: Mapping[str, Sequence[Node]]) -> list[_Event]:
    """Where definitions and names start, outer ones first, names after what starts with them."""
    events = [
        (start, 1 if order == _NAMED else -end, order, end, node)
        for order, kind in enumerate(_EVENTS)
        for node in found.get(kind, ())
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


def _name(where: Source, stack: list[Definition], start: int, end: int) -> None:
    for one in reversed(stack):
        if not one.name:
            one.name = name_of(where.data, start, end)
            one.name_at = start
            return


def _decorate(where: Source, one: Definition, stack: list[Definition], waiting: list[Definition]) -> None:
    one.name = decoration(where, one.start, one.end)
    if stack and not stack[-1].name:
        stack[-1].decorators += (one,)  # among the modifiers of what it belongs to
    else:
        waiting.append(one)


def _take(where: Source, one: Definition, waiting: list[Definition]) -> None:
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
