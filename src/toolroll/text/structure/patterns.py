"""Structural search: code that looks like a pattern, whatever its blanks, by ast-grep."""

from __future__ import annotations

import re
from typing import NamedTuple

from toolroll.result import ErrorCode, ToolError
from toolroll.text.structure.languages import LANGUAGES
from toolroll.text.structure.source import BOM, text

_WILD = re.compile(r"\$+\w*")
_WORD = re.compile(r"[^\W\d]\w*")
_MOST = 5_000  # matches in one source
_SHOWN = 300  # characters of a match that are kept


class Match(NamedTuple):
    """Code that fits a pattern. Lines and columns count from 1, columns in characters."""

    line: int
    end_line: int
    column: int
    text: str


def literal(pattern: str) -> str:
    """The longest word that every match holds; empty if there is none."""
    return max(_WORD.findall(_WILD.sub(" ", pattern)), key=len, default="")


def matches(language: str, source: bytes, pattern: str) -> list[Match]:
    """All places that fit; a pattern that is no code of the language fits nowhere. Like `tags`, for a child."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        raise ToolError(
            ErrorCode.UNSUPPORTED, "Structural patterns need ast-grep. Add it with: pip install 'toolroll[code]'."
        ) from None

    root = SgRoot(text(source.removeprefix(BOM)), LANGUAGES[language].pattern).root()
    try:
        found = root.find_all(pattern=pattern)
    except RuntimeError:  # what ast-grep says of it is about rules, which the caller has not written
        raise refused(pattern) from None
    made = []
    for node in found[:_MOST]:
        span = node.range()
        said = " ".join(node.text().split())
        shown = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
        made.append(Match(span.start.line + 1, span.end.line + 1, span.start.column + 1, shown))
    return made


def refused(pattern: str) -> ToolError:
    """The error for a pattern that cannot be read."""
    return ToolError(
        ErrorCode.VALIDATION,
        f"The pattern {pattern!r} cannot be read. Write code of the language, with $NAME for one node and $$$ for "
        "any number of them, such as `open($PATH, $$$REST)`.",
    )
