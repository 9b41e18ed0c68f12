"""Memories as Markdown, which a person reads and edits: a section for each type, an item for each memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge.memories import TYPES, Memory, Type, format_time

_HEAD = "# Memories\n\nAn item without an id is a new memory. Write further lines of an item indented by two blanks.\n"
_SECTION = re.compile(r"##\s+(\w+)\s*$")
_ITEM = re.compile(r"[-*]\s+(?:\*\*(m\d{1,15})\*\*\s*)?(?:\((?:importance\s+)?([0-9.]+)[^)]*\)\s*)?(.*)$")


class WrittenMemory(NamedTuple):
    """A memory as it stands in a file; without an id it is new."""

    id: str
    type: Type
    importance: float | None
    content: str


def write_markdown(memories: Sequence[Memory]) -> str:
    """All memories, by type."""
    parts = [_HEAD]
    for type in TYPES:
        if rows := [one for one in memories if one.type == type]:
            parts.append("\n".join([f"## {type}", "", *map(_write, rows)]) + "\n")
    return "\n".join(parts)


def _write(one: Memory) -> str:
    content = one.content.replace("\n", "\n  ")
    replaced = f", replaced by m{one.replaced}" if one.replaced else ""
    return f"- **{one.id}** (importance {one.importance:g}, {format_time(one.updated)[:10]}{replaced}) {content}"


def read_markdown(text: str) -> list[WrittenMemory]:
    """The memories of a file; ToolError, with the line, for what is none."""
    made: list[WrittenMemory] = []
    for number, type, lines in _items(text):
        found = _ITEM.match(lines[0])
        assert found is not None
        importance = _importance(found[2], number)
        content = "\n".join([found[3], *lines[1:]]).strip()
        if not content:
            raise _error(number, "an item without a text")
        made.append(WrittenMemory(found[1] or "", type, importance, content))
    return made


def _items(text: str) -> Iterator[tuple[int, Type, list[str]]]:
    """The number of its first line, its section and the lines of each item."""
    type: Type = "semantic"
    item: tuple[int, Type, list[str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        section = _SECTION.match(line)
        starts = _ITEM.match(line) is not None
        if item is not None and (section or starts):
            yield item
            item = None
        if section:
            if section[1] not in TYPES:
                raise _error(number, f"no type {section[1]!r}: there are {', '.join(TYPES)}")
            type = cast("Type", section[1])
        elif starts:
            item = (number, type, [line])
        elif item is not None:
            item[2].append(line.removeprefix("  "))
    if item is not None:
        yield item


def _importance(text: str | None, line: int) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        raise _error(line, f"{text!r} is no number") from None
    if not 0 <= value <= 1:
        raise _error(line, "importance is 0 to 1")
    return value


def _error(line: int, why: str) -> ToolError:
    return ToolError(ErrorCode.VALIDATION, f"Line {line}: {why}. Nothing was changed.")
