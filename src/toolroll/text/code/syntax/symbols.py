"""Symbols of one source by kind and name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from toolroll.text import names
from toolroll.text.code.syntax.model import HOLDERS, KINDS, Tag, Tags
from toolroll.text.code.syntax.source import SourceText
from toolroll.text.code.syntax.uses import ends_with, receiver

Kind = Literal["any", "functions", "methods", "classes", "types", "variables", "imports", "calls", "decorators"]

_KINDS: Mapping[str, frozenset[str]] = {
    "any": frozenset(KINDS) - {"import", "decorator"},
    "functions": frozenset({"function", "method"}),
    "methods": frozenset({"method"}),
    "classes": HOLDERS,
    "types": HOLDERS | {"type"},
    "variables": frozenset({"variable", "constant"}),
    "imports": frozenset({"import"}),
    "decorators": frozenset({"decorator"}),
}
_HOLDING = frozenset({"function", "method"}) | HOLDERS
_GLOB = re.compile(r"[*?\[\]]")
_WORD = re.compile(r"\w+", re.ASCII)  # the bytes of other letters depend on how a file is written
_IMPORTED = re.compile(r"[\w./:@\\-]+")
_LINE_CHARS = 200


class SymbolRow(NamedTuple):
    """A symbol. Lines and columns count from 1."""

    path: str
    line: int
    end_line: int
    column: int
    kind: str
    name: str
    text: str
    """The signature, or of a call its line."""
    parent: str = ""
    """What it is defined in, called in, or decorates."""


class SymbolQuery:
    """A kind, and a name that may be a glob or dotted."""

    def __init__(self, kind: Kind, name: str | None = None) -> None:
        self._kind = kind
        self._name = name
        self._glob = name is not None and _GLOB.search(name) is not None

    def rows(self, path: str, tags: Tags, source: Callable[[], SourceText], room: int) -> list[SymbolRow]:
        """All that fits; of calls, only the first `room` have their text, which is read from the source."""
        if self._kind == "calls":
            return self._calls(path, tags, source, room)
        found = [tag for tag in tags.of(_KINDS[self._kind]) if self._matches(tag)]
        if self._kind == "imports":  # `import a, b` is two in one statement
            found = list({(tag.line, tag.signature): tag for tag in reversed(found)}.values())[::-1]
        return [
            SymbolRow(path, tag.line, tag.end_line, tag.column, tag.kind, tag.name, tag.signature, tag.parent)
            for tag in found
        ]

    def _matches(self, tag: Tag) -> bool:
        if self._name is None:
            return True
        if tag.kind == "import":
            return any(map(self._is_named, _IMPORTED.findall(tag.signature)))
        return self._is_named(tag.name) or ("." in self._name and self._is_named(tag.path))

    def _is_named(self, name: str) -> bool:
        if self._name is None:
            return True
        if self._glob:
            return fnmatchcase(name, self._name) or fnmatchcase(name, f"*.{self._name}")
        return ends_with(name, self._name)

    def _calls(self, path: str, tags: Tags, source: Callable[[], SourceText], room: int) -> list[SymbolRow]:
        dotted = self._name is not None and "." in self._name
        last = self._name.rpartition(".")[2] if self._name is not None else "*"
        uses = [use for use in tags.uses_of(lambda name: fnmatchcase(name, last)) if use.kind == "call"]
        where = source() if uses and (dotted or room > 0) else None
        made: list[SymbolRow] = []
        for use in uses:
            shown, name = "", use.name
            if where is not None and (dotted or len(made) < room):
                line = where.line_text(use.line)
                before = receiver(line[: use.column - 1])
                name = f"{before}.{use.name}" if before else use.name
                shown = line.strip()[:_LINE_CHARS]
            if not dotted or self._is_named(name):
                parent = _enclosing(tags, use.line) if len(made) < room else ""
                made.append(SymbolRow(path, use.line, use.line, use.column, "call", name, shown, parent))
        return made


def literal(name: str | None) -> str:
    """The longest word that a file must contain if something in it fits a name; empty if there is none."""
    return max(_WORD.findall(re.sub(r"\[[^\]]*\]", " ", name or "")), key=len, default="")


def format_row(row: SymbolRow) -> str:
    """A row as text: where it is, what it says, and what it belongs to."""
    joint = "on" if row.kind == "decorator" else "in"
    said = f"{row.name}: {row.text}" if row.kind == "call" else row.text or row.name
    return f"{names.show_name(row.path)}:{row.line}: {said}{f'  ({joint} {row.parent})' if row.parent else ''}"


def _enclosing(tags: Tags, line: int) -> str:
    """The innermost function or class that a line is in."""
    inner = ""
    for tag in tags.definitions:
        if tag.line > line:
            break
        if line <= tag.end_line and tag.kind in _HOLDING:
            inner = tag.path
    return inner
