"""Finding and replacing every occurrence of a text or a regular expression, in time that no pattern can stretch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import NOTHING, Same
from toolroll.text.lines import adapt, ending

_GROUP = re.compile(r"\$(?:(\d+)|\{(\w+)\}|\$)")


@dataclass(frozen=True, slots=True)
class Made:
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


class Finder:
    """Finds a text, or with `regex` a regular expression of the linear kind: no look-around, no back-references."""

    def __init__(self, find: str, *, regex: bool, case: bool, words: bool) -> None:
        self._regex = regex
        self._plain = find if case and not regex and not words else ""
        source = find if regex else re.escape(find)
        if words:
            source = rf"\b(?:{source})\b" if regex else rf"{_edge(find[0])}{source}{_edge(find[-1])}"
        self._pattern = _linear(source, case) if regex else re.compile(source, 0 if case else re.IGNORECASE)

    def replace(self, text: str, replacement: str) -> Made:
        """The text with each occurrence replaced."""
        pieces, spans, end = [], [], 0
        line_end = ending(text)
        for start, stop, written in self._found(text, replacement):
            if start == stop:
                raise ToolError(ErrorCode.VALIDATION, "`find` matches the empty text. Make it match something.")
            pieces += [text[end:start], adapt(written, line_end)]
            end = stop
            spans.append((start, stop))
        return Made("".join([*pieces, text[end:]]), spans, _places(text, spans))

    def _found(self, text: str, replacement: str) -> Iterator[tuple[int, int, str]]:
        """Where the occurrences begin and end, and what is to stand there."""
        if not self._plain:
            for match in self._pattern.finditer(text):
                yield match.start(), match.end(), _expanded(match, replacement) if self._regex else replacement
            return
        size = len(self._plain)  # a text is found much sooner than by a pattern
        at = text.find(self._plain)
        while at >= 0:
            yield at, at + size, replacement
            at = text.find(self._plain, at + size)


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


def _linear(source: str, case: bool) -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = case
    options.log_errors = False
    try:
        return re2.compile(f"(?m){source}", options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ToolError(
            ErrorCode.VALIDATION,
            f"`find` is not a regular expression that can be used: {reason}. Look-around and back-references are not "
            "known; for plain text leave `regex` off.",
        ) from None


def _expanded(match: Any, replacement: str) -> str:
    """The replacement with $1, ${1} and ${name} filled in; $$ is a dollar."""

    def filled(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name is None:
            return "$"
        try:
            return match.group(int(name) if name.isdigit() else name) or ""
        except (IndexError, re.error, KeyError):
            raise ToolError(
                ErrorCode.VALIDATION, f"`replace` names the group {name!r}, which `find` does not have."
            ) from None

    return _GROUP.sub(filled, replacement)
