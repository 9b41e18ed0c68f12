"""Definitions as lines of text, their places first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from toolroll.text.code.syntax.model import Tag


class Shown(NamedTuple):
    """A definition that is shown; `level` counts from 0."""

    line: int
    end_line: int
    level: int
    text: str


def said(tag: Tag) -> str:
    """A definition with the names of its decorators."""
    text = tag.signature or tag.name
    if not tag.decorators:
        return text
    return "".join([f"@{one.partition('(')[0]} " for one in tag.decorators]) + text


def rendered(found: Sequence[Shown], indent: str = "") -> list[str]:
    """The definitions as text, a line each."""
    spans = [str(line) if line == end else f"{line}-{end}" for line, end, _, _ in found]
    width = max(map(len, spans), default=0)
    return [f"{indent}{span:<{width}}  {'  ' * one.level}{one.text}" for span, one in zip(spans, found, strict=True)]
