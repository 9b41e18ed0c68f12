"""Places in a text: as we count them (lines and characters from 1), and as a language server does.

A server counts from 0, in bytes, UTF-16 units or characters of a line, as was agreed with it. To it a lone
carriage return ends a line too; to us, as to most programs, only a line feed does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolroll.result import ErrorCode, ToolError
from toolroll.text.lines import counted

Units = Literal["utf-8", "utf-16", "utf-32"]

_FEED = re.compile(r"\n")
_ANY_END = re.compile(r"\r\n?|\n")
_WORD = re.compile(r"[^\W\d][\w$]*")
_DOLLAR_WORD = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_MOST_WORDS = 12


@dataclass(frozen=True, slots=True)
class Position:
    """A line and a character in it, both from 1; the character behind the last one is a place too."""

    line: int
    character: int


class Positions:
    """The places of one text, converted through offsets: characters from its start."""

    def __init__(self, text: str, units: Units = "utf-16", *, dollar: bool = False) -> None:
        """`dollar`: names may begin with `$`, which is a sign before a name elsewhere."""
        self._text = text
        self._units = units
        self._word = _DOLLAR_WORD if dollar else _WORD
        self._ours = [0, *(found.end() for found in _FEED.finditer(text))]
        lone = text.count("\r") != text.count("\r\n")
        self._theirs = [0, *(found.end() for found in _ANY_END.finditer(text))] if lone else self._ours

    def offset(self, line: int, character: int, first: int = 1) -> int:
        """Where our position is; ToolError when the text has no such place, counting characters from `first`."""
        count = len(self._ours) - (self._ours[-1] == len(self._text))  # nothing behind the last feed is no line
        if not 1 <= line <= count:
            raise ToolError(ErrorCode.VALIDATION, f"`line` is {line}, but the file has {counted(count, 'line')}.")
        content = self.line(line)
        if not 1 <= character <= len(content) + 1:
            raise ToolError(
                ErrorCode.VALIDATION,
                f"`character` is {character - 1 + first}, but line {line} has {len(content)} characters. "
                f"{self.hint(line, first)}",
            )
        return self._ours[line - 1] + character - 1

    def line(self, number: int) -> str:
        """The text of one line, without its end; empty when there is no such line."""
        if not 1 <= number <= len(self._ours):
            return ""
        end = self._ours[number] if number < len(self._ours) else len(self._text)
        return self._text[self._ours[number - 1] : end].removesuffix("\n").removesuffix("\r")

    def word(self, line: int, character: int) -> str:
        """The name that stands at a place or ends right before it; empty when there is none."""
        found = (word for word in self._word.finditer(self.line(line)) if word.start() < character <= word.end() + 1)
        return next((word[0] for word in found), "")

    def words(self, number: int) -> list[tuple[str, int]]:
        """The words of a line, each with the character it starts at."""
        return [(word[0], word.start() + 1) for word in self._word.finditer(self.line(number))]

    def hint(self, number: int, first: int = 1) -> str:
        """Which words a line has, and at which character each one starts: a hint after a wrong count."""
        found = [f"{word!r} at {at - 1 + first}" for word, at in self.words(number)]
        more = ", ..." if len(found) > _MOST_WORDS else ""
        return f"Its words: {', '.join(found[:_MOST_WORDS])}{more}." if found else "The line has no words."

    def position(self, offset: int) -> Position:
        """What we call the place at an offset."""
        line = bisect_right(self._ours, offset)
        return Position(line, offset - self._ours[line - 1] + 1)

    def to_server(self, offset: int) -> dict[str, int]:
        """What the server calls the place at an offset."""
        line = bisect_right(self._theirs, offset)
        before = self._text[self._theirs[line - 1] : offset]
        return {"line": line - 1, "character": _length(before, self._units)}

    def from_server(self, place: Mapping[str, int]) -> int:
        """The offset of a place of the server's; one behind the end of a line is the end of that line."""
        line = place["line"]
        if line >= len(self._theirs):
            return len(self._text)
        start = self._theirs[line]
        end = self._theirs[line + 1] if line + 1 < len(self._theirs) else len(self._text)
        content = self._text[start:end].rstrip("\r\n")
        return start + _characters(content, place["character"], self._units)


def _length(text: str, units: Units) -> int:
    if units == "utf-32" or text.isascii():
        return len(text)
    return len(text.encode("utf-8")) if units == "utf-8" else len(text.encode("utf-16-le")) // 2


def _characters(line: str, count: int, units: Units) -> int:
    """How many characters the first `count` units of a line are; one that is cut through does not count."""
    if units == "utf-32" or line.isascii():
        return max(0, min(count, len(line)))
    codec, size = ("utf-8", 1) if units == "utf-8" else ("utf-16-le", 2)
    return len(line.encode(codec)[: max(0, count) * size].decode(codec, "ignore"))
