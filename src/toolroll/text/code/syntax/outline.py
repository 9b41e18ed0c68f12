"""Outlines: the definitions of a source as an indented list, of a folder file by file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.model import VALUES, Tags, format_lines
from toolroll.text.lines import counted, list_some
from toolroll.text.names import show_name

_MAX_IMPORTS = 20  # shown in one line
_MAX_NAMES = 12  # of definitions, shown in one line


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """One definition of an outline; `level` counts from 0."""

    name: str
    kind: str
    line: int
    end_line: int
    level: int
    text: str


def lines(tags: Tags, depth: int, *, values: bool = True) -> list[OutlineLine]:
    """The definitions down to a depth, with or without variables, each with its decorators and its signature."""
    return [
        OutlineLine(tag.name, tag.kind, tag.line, tag.end_line, level, tag.text)
        for level, tag in tags.by_level()
        if level < depth and (values or tag.kind not in VALUES)
    ]


def imports(tags: Tags) -> list[str]:
    """What a source imports, each name once."""
    return list(dict.fromkeys(tag.name for tag in tags.definitions if tag.kind == "import"))


def header(path: str, tags: Tags) -> str:
    """A source in one line: its name, its language and its length."""
    return f"{show_name(path)} ({languages.get(tags.language).title}, {counted(tags.lines, 'line')})"


def render(found: Sequence[OutlineLine], indent: str = "") -> list[str]:
    """The lines as text, their numbers first."""
    return format_lines([(one.line, one.end_line, one.level, one.text) for one in found], indent)


def text(tags: Tags, depth: int) -> str:
    """The definitions down to a depth without variables, as a part of the outline of many files."""
    return tags.sketch if depth == 1 else "\n".join(render(lines(tags, depth, values=False), "  "))


def summary(names: Sequence[str]) -> str:
    """Imports in one line."""
    return f"imports {list_some(names, _MAX_IMPORTS)}"


def names(found: Sequence[OutlineLine]) -> str:
    """The names of the upper definitions in one line."""
    upper = [one.name for one in found if one.level == 0]
    more = f", {len(upper) - _MAX_NAMES} more" if len(upper) > _MAX_NAMES else ""
    return f"{', '.join(upper[:_MAX_NAMES])}{more}"
