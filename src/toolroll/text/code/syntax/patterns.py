"""Structural search: code that looks like a pattern, whatever its blanks, by ast-grep."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from toolroll.result import ErrorCode, ToolError
from toolroll.text.code.syntax import languages
from toolroll.text.code.syntax.language import Language
from toolroll.text.code.syntax.source import BOM, text

_WILD = re.compile(r"\$+\w*")
_WORD = re.compile(r"[^\W\d]\w*", re.ASCII)  # the bytes of other letters depend on how a file is written
_CALL = re.compile(r"[\w$:.>-]+\(.*\)", re.DOTALL)
_STRINGS = re.compile(r"""(['"`])(?:\\.|(?!\1).)*\1""", re.DOTALL)
_BRACKETS = {")": "(", "]": "[", "}": "{"}
# Where code may stand that is none alone.
_AROUND = (
    "{}",
    "{};",
    "func _() {{ {} }}",
    "fn _() {{ {}; }}",
    "void _() {{ {}; }}",
    "class _ {{ {} }}",
    "{}\n    x",
    "{}:\n    x",
)
_MAX_MATCHES = 5_000  # in one source
_MATCH_CHARS = 300


class PatternMatch(NamedTuple):
    """Code that fits a pattern. Lines and columns count from 1, columns in characters."""

    line: int
    end_line: int
    column: int
    text: str


def literal(pattern: str) -> str:
    """The longest word that every match contains; empty if there is none."""
    return max(_WORD.findall(_WILD.sub(" ", pattern)), key=len, default="")


def check(pattern: str) -> None:
    """ToolError for a pattern that is code of no language: its brackets do not close each other."""
    unclosed: list[str] = []
    for char in _STRINGS.sub("", pattern):
        if char in _BRACKETS.values():
            unclosed.append(char)
        elif char in _BRACKETS and (not unclosed or unclosed.pop() != _BRACKETS[char]):
            raise _unreadable(pattern)
    if unclosed:
        raise _unreadable(pattern)


def check_parsed(pattern: str, names: Collection[str]) -> None:
    """ToolError for a pattern that is code of none of these languages, so that it can fit nowhere."""
    from toolroll.text.code.syntax import grammars

    code = _WILD.sub("x", pattern).strip()
    try:
        broken = [
            name
            for name in sorted(names)
            if all(grammars.parser(name).parse(around.format(code).encode()).root_node.has_error for around in _AROUND)
        ]
    except ToolError:  # there is no grammar to ask
        return
    if names and len(broken) == len(names):
        titles = ", ".join(languages.get(name).title for name in broken)
        raise ToolError(ErrorCode.VALIDATION, f"{_unreadable(pattern).message} It is no whole code of: {titles}.")


def matches(language: str, source: bytes, pattern: str) -> list[PatternMatch]:
    """All places that fit; a pattern that is no code of the language fits nowhere. Runs in a child, like `tags`."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        raise ToolError(ErrorCode.UNSUPPORTED, "structural patterns need ast-grep, which is not installed.") from None

    known = languages.get(language)
    root = SgRoot(text(source.removeprefix(BOM)), language).root()
    try:
        found = root.find_all(any=_rules(known, pattern))
    except RuntimeError:  # its message is about rules, which the caller has not written
        raise _unreadable(pattern) from None
    made = []
    for node in found[:_MAX_MATCHES]:
        span = node.range()
        said = " ".join(node.text().split())
        shown = said if len(said) <= _MATCH_CHARS else f"{said[: _MATCH_CHARS - 1]}…"
        made.append(PatternMatch(span.start.line + 1, span.end.line + 1, span.start.column + 1, shown))
    return made


def _rules(language: Language, pattern: str) -> list[Any]:
    """The pattern itself, and the call that it may be."""
    rules: list[Any] = [{"pattern": pattern}]
    if language.call_context and _CALL.fullmatch(pattern.strip()):
        context = language.call_context.format(pattern.strip())
        rules.append({"pattern": {"context": context, "selector": "call_expression"}})
    return rules


def _unreadable(pattern: str) -> ToolError:
    """The error for a pattern that cannot be read."""
    return ToolError(
        ErrorCode.VALIDATION,
        f"The pattern {pattern!r} cannot be read. Write code of the language, with $NAME for one node and $$$ for "
        "any number of them, such as `open($PATH, $$$REST)`.",
    )
