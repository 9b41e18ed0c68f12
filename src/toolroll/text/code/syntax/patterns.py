"""Structural search: code that looks like a pattern, whatever its blanks, by ast-grep."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.syntax.languages import LANGUAGES
from toolroll.text.code.syntax.source import BOM, text

_WILD = re.compile(r"\$+\w*")
_WORD = re.compile(r"[^\W\d]\w*", re.ASCII)  # the bytes of other letters depend on how a file is written
_CALL = re.compile(r"[\w$:.>-]+\(.*\)", re.DOTALL)
_CALLING = {
    "c": "void f() {{ int x = {}; }}",
    "cpp": "void f() {{ int x = {}; }}",
    "go": "package p\nfunc f() {{ x = {} }}",
}
"""Where a call is one for sure: alone, `open(x)` may as well declare x in C, and be a conversion in Go."""
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
        found = root.find_all(any=_rules(language, pattern))
    except RuntimeError:  # what ast-grep says of it is about rules, which the caller has not written
        raise refused(pattern) from None
    made = []
    for node in found[:_MOST]:
        span = node.range()
        said = " ".join(node.text().split())
        shown = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
        made.append(Match(span.start.line + 1, span.end.line + 1, span.start.column + 1, shown))
    return made


def _rules(language: str, pattern: str) -> list[Any]:
    """What fits a pattern: what it says, and the call that it may be."""
    rules: list[Any] = [{"pattern": pattern}]
    if language in _CALLING and _CALL.fullmatch(pattern.strip()):
        context = _CALLING[language].format(pattern.strip())
        rules.append({"pattern": {"context": context, "selector": "call_expression"}})
    return rules


def refused(pattern: str) -> ToolError:
    """The error for a pattern that cannot be read."""
    return ToolError(
        ErrorCode.VALIDATION,
        f"The pattern {pattern!r} cannot be read. Write code of the language, with $NAME for one node and $$$ for "
        "any number of them, such as `open($PATH, $$$REST)`.",
    )
