"""Find and replace every occurrence of a text or a regular expression, in linear time for any pattern."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import NOTHING, Same
from toolroll.text.lines import adapt, ending

_GROUP = re.compile(r"\$(?:(\d+)|\{(\w+)\}|\$)")
_FOREIGN = re.compile(r"\\([1-9])")  # a group as other programs write it


@dataclass(frozen=True, slots=True)
class ReplaceResult:
    """The new text, and where in the old one the occurrences were."""

    text: str
    spans: list[tuple[int, int]]
    places: list[tuple[int, int]]
    """Line and column of each, from 1."""

    def same(self, text: str) -> Same:
        """What the new text has in common with the old one, which this is."""
        if not self.spans:
            return NOTHING
        return Same(self.spans[0][0], len(text) - self.spans[-1][1], self.places[0][0] - 1)


class Expression(Protocol):
    """A regular expression whose time is linear, in one of the engines."""

    groups: int
    names: Collection[str]
    """Of groups that have one."""

    def found(self, text: str, template: str) -> Iterator[tuple[int, int, str]]:
        """Where the matches begin and end, and the template for each, with $1, ${1}, ${name} and $$ filled in."""


Compile = Callable[[str, bool], Expression]
"""Gives the expression of a source, which heeds the case or does not; ToolError for a source that is none."""


class Linear:
    """An `Expression` of RE2, which may not be installed: then to make one raises ImportError."""

    def __init__(self, source: str, case: bool) -> None:
        import re2

        options = re2.Options()
        options.case_sensitive = case
        options.log_errors = False
        try:
            self._pattern = re2.compile(f"(?m){source}", options)
        except re2.error as error:
            reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
            raise refused(reason.replace("(?m)", "")) from None  # which is ours
        self.groups: int = self._pattern.groups
        self.names: Collection[str] = frozenset(self._pattern.groupindex)

    def found(self, text: str, template: str) -> Iterator[tuple[int, int, str]]:
        """As `Expression` has it."""
        for match in self._pattern.finditer(text):
            check_groups(self, template)
            yield match.start(), match.end(), _GROUP.sub(partial(_filled, match), template)


class Finder:
    """Finds a text, or with `regex` a regular expression of the linear kind: no look-around, no back-references."""

    def __init__(self, find: str, *, regex: bool, case: bool, words: bool, compiled: Compile = Linear) -> None:
        self._words = regex and words
        self._endings = "\r" in find or (regex and r"\r" in find)  # a pattern that names them means them
        self._plain = find if case and not regex and not words else ""
        source = find if regex else re.escape(find)
        if words:
            source = rf"\b(?:{source})\b" if regex else rf"{_edge(find[0])}{source}{_edge(find[-1])}"
        self._expression = compiled(source, case) if regex else None
        self._pattern = re.compile("" if regex else source, 0 if case else re.IGNORECASE)

    def replace(self, text: str, replacement: str) -> ReplaceResult:
        """The text with each occurrence replaced. A line feed in `find` is any line ending."""
        self._check(replacement)
        pieces, spans, end = [], [], 0
        line_end = ending(text)
        view, place = (text, int) if self._endings else _with_feeds(text)
        for first, last, written in self._found(view, replacement):
            if first == last:
                raise ToolError(ErrorCode.VALIDATION, "`find` matches the empty text. Make it match something.")
            start, stop = place(first), place(last)
            pieces += [text[end:start], written if self._endings else adapt(written, line_end)]
            end = stop
            spans.append((start, stop))
        return ReplaceResult("".join([*pieces, text[end:]]), spans, _places(text, spans))

    def places(self, text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The span of each occurrence that is not empty, with its line and column."""
        spans = [(start, end) for start, end, _ in self._found(text, "") if start < end]
        return list(zip(spans, _places(text, spans), strict=True))

    def _check(self, replacement: str) -> None:
        """Raise for a group that is written as elsewhere: it would end up in the files as it is."""
        if self._expression and (found := _FOREIGN.search(replacement)) and int(found[1]) <= self._expression.groups:
            raise ToolError(
                ErrorCode.VALIDATION,
                f"`replace` has {found[0]!r}. Write the group as ${found[1]}; if the characters themselves are meant, "
                "use groups of the kind (?:...) in `find`.",
            )

    def _found(self, text: str, replacement: str) -> Iterator[tuple[int, int, str]]:
        """Where the occurrences begin and end, and what is to stand there."""
        if self._expression is not None:
            for start, end, written in self._expression.found(text, replacement):
                if not (self._words and _within(text, start, end)):
                    yield start, end, written
            return
        if not self._plain:
            for match in self._pattern.finditer(text):
                yield match.start(), match.end(), replacement
            return
        size = len(self._plain)  # a text is found much sooner than by a pattern
        at = text.find(self._plain)
        while at >= 0:
            yield at, at + size, replacement
            at = text.find(self._plain, at + size)


def _with_feeds(text: str) -> tuple[str, Callable[[int], int]]:
    """The text with plain line feeds, and where its places are in the text itself."""
    if "\r\n" not in text:
        return text, int
    ends: list[int] = []
    for found in re.finditer("\r\n", text):
        ends.append(found.start() - len(ends))
    return text.replace("\r\n", "\n"), lambda at: at + bisect_left(ends, at)


def _within(text: str, start: int, end: int) -> bool:
    """Whether a word goes on beyond an end of this piece; the engine knows ASCII letters alone."""
    return any(re.fullmatch(r"\w\w", text[max(0, at - 1) : at + 1]) for at in (start, end))


def _places(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Line and column of each, from 1."""
    places, line, at, begin = [], 1, 0, 0
    for start, _ in spans:
        if passed := text.count("\n", at, start):
            line += passed
            begin = text.rfind("\n", at, start) + 1
        places.append((line, start - begin + 1))
        at = start
    return places


def _edge(char: str) -> str:
    """A word's edge, where there can be one: beside a letter, not beside a bracket."""
    return r"\b" if char.isalnum() or char == "_" else ""


def refused(reason: str) -> ToolError:
    """The error for an expression that an engine cannot read."""
    return ToolError(
        ErrorCode.VALIDATION,
        f"`find` is not a regular expression that can be used: {reason}. Look-around and back-references are not "
        "known; for plain text leave `regex` off.",
    )


def check_groups(expression: Expression, template: str) -> None:
    """Raise for a group in the template that the expression does not have."""
    for found in _GROUP.finditer(template):
        name = found[1] or found[2]
        if name and not (int(name) <= expression.groups if name.isdigit() else name in expression.names):
            raise ToolError(
                ErrorCode.VALIDATION,
                f"`replace` names the group {name!r}, which `find` does not have. Before a digit, write ${{1}}.",
            )


def for_ripgrep(template: str) -> str:
    """A template as ripgrep spells it: a name in braces, and a dollar that is none twice."""
    pieces, end = [], 0
    for found in _GROUP.finditer(template):
        name = found[1] or found[2]
        pieces += [template[end : found.start()].replace("$", "$$"), f"${{{name}}}" if name else "$$"]
        end = found.end()
    return "".join([*pieces, template[end:].replace("$", "$$")])


def _filled(match: Any, found: re.Match[str]) -> str:
    name = found[1] or found[2]
    if name is None:
        return "$"
    return match.group(int(name) if name.isdigit() else name) or ""
