"""The lines of a definition, with its decorators and comments, and texts put in, before, behind or away from it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import NamedTuple

from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.syntax.model import Tag, Tags

_COMMENTS = {
    **dict.fromkeys(("python", "ruby", "bash"), ("#",)), "php": ("//", "/*", "*", "#"), "rust": ("//", "/*", "*", "#["),
    "lua": ("--",), "sql": ("--",),
}  # fmt: skip
_MARKS = ("//", "/*", "*")  # of comments in other languages


class SymbolSpan(NamedTuple):
    """Lines from 1, both inclusive: from `start` with its comments, from `decorated` with its decorators."""

    start: int
    decorated: int
    line: int
    end: int


class MoveRequest(NamedTuple):
    """A definition that goes to another file, and the texts of the files that have its name."""

    name: str
    span: SymbolSpan
    source: str
    source_text: str
    target: str
    target_text: str
    others: Mapping[str, str]

    def cut(self) -> tuple[str, str]:
        """The text of the definition, and the source without it."""
        lines = self.source_text.splitlines(keepends=True)
        piece = "".join(lines[self.span.start - 1 : self.span.end])
        return piece if piece.endswith("\n") else f"{piece}\n", delete(self.source_text, self.span)


def find_span(tag: Tag, tags: Tags, text: str) -> SymbolSpan:
    """The lines of a definition; ToolError if it shares them with another."""
    lines = text.splitlines()
    for other in tags.definitions:
        apart = other.end_line < tag.line or other.line > tag.end_line
        around = other.line <= tag.line and tag.end_line <= other.end_line and tag.parent.startswith(other.path)
        inside = other.parent.startswith(tag.path) or other.kind in ("import", "decorator")
        if other != tag and not apart and not inside and (not around or other.line == tag.line):
            message = f"{tag.path!r} shares line {tag.line} with {other.path!r}. Use `edit` there."
            raise ToolError(ErrorCode.UNSUPPORTED, message)
    own = [one.line for one in tags.of({"decorator"}) if one.parent == tag.path and one.line <= tag.line]
    decorated = tag.line
    while (
        own and decorated > 1 and any(line < decorated for line in own)
    ):  # the last ones, if the name is defined twice
        nearest = max(line for line in own if line < decorated)
        if any(
            one.path == tag.path and nearest < one.line < tag.line
            for one in tags.definitions
            if one.kind != "decorator"
        ):
            break
        decorated = nearest
    start, marks = decorated, _COMMENTS.get(tags.language, _MARKS)
    while start > 1 and lines[start - 2].strip().startswith(marks):
        start -= 1
    return SymbolSpan(start, decorated, tag.line, tag.end_line)


def replace(text: str, span: SymbolSpan, new: str, language: str) -> str:
    """The text with a new definition. Decorators and comments stay unless the new one begins with some."""
    lines = text.splitlines(keepends=True)
    first = new.lstrip()
    start = span.line
    if first.startswith(_COMMENTS.get(language, _MARKS)):
        start = span.start
    elif first.startswith(("@", "#[")):
        start = span.decorated
    return "".join([*lines[: start - 1], _fit(new, lines[span.line - 1]), *lines[span.end :]])


def insert(text: str, span: SymbolSpan, new: str, *, before: bool) -> str:
    """The text with a new piece before or behind a definition, as far from it as definitions are here."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    piece, gap = _fit(new, lines[span.line - 1]), "\n" * _gap(lines, span)
    at = span.start - 1 if before else span.end
    return "".join([*lines[:at], *([piece, gap] if before else [gap, piece]), *lines[at:]])


def delete(text: str, span: SymbolSpan) -> str:
    """The text without a definition and the blank lines behind it."""
    lines = text.splitlines(keepends=True)
    start, end = span.start - 1, span.end
    while end < len(lines) and not lines[end].strip():
        end += 1
    if end == len(lines) or (start and len(_indent(lines[end])) < len(_indent(lines[span.line - 1]))):
        end = span.end  # the last one of its kind: the blank lines before it go
        while start and not lines[start - 1].strip():
            start -= 1
    return "".join([*lines[:start], *lines[end:]])


def join_pieces(text: str, piece: str) -> str:
    """A text with a definition at its end."""
    piece = textwrap.dedent(piece)
    if not text.strip():
        return piece
    gap = "\n\n\n" if piece.lstrip().startswith(("def ", "class ", "async ", "@", "#")) else "\n\n"
    return text.rstrip("\n") + gap + piece


def _fit(new: str, line: str) -> str:
    """A piece with the indentation and line end of a line."""
    indent, end = _indent(line), "\r\n" if line.endswith("\r\n") else "\n"
    piece = new.strip("\n")
    if _indent(piece) != indent:
        piece = textwrap.indent(textwrap.dedent(piece), indent)
    return piece.replace("\r\n", "\n").replace("\n", end) + end


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _gap(lines: list[str], span: SymbolSpan) -> int:
    """The blank lines between definitions here: before this one, else behind it, else one."""
    before = 0
    while span.start - 2 - before >= 0 and not lines[span.start - 2 - before].strip():
        before += 1
    if before and before < span.start - 1:
        return before
    behind = 0
    while span.end + behind < len(lines) and not lines[span.end + behind].strip():
        behind += 1
    return behind if behind and span.end + behind < len(lines) else 1
