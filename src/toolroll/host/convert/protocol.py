"""What a child says while it converts: a line of JSON for each thing, and never a word of its own to the model."""

from __future__ import annotations

import json
import sys

from toolroll.host.convert import limits


class TroubleError(Exception):
    """A file cannot be converted: by the name that `troubles` knows it by, and a number that belongs to it."""

    def __init__(self, name: str, number: int = 0) -> None:
        super().__init__(name)
        self.name = name
        self.number = number


class Said:
    """Where a reader puts what it has found."""

    def __init__(self) -> None:
        self._bytes = 0

    def part(self, text: str, page: int = 0, title: str = "") -> None:
        """A page, sheet, slide or chapter."""
        if text.strip():
            self._say("part", text, page, " ".join(title.split())[:200])

    def title(self, title: str | None) -> None:
        """Of the whole document."""
        if title and title.strip():
            self._say("title", " ".join(title.split())[:500])

    def scanned(self, page: int) -> None:
        """A page that is a picture."""
        self._say("scanned", page)

    def progress(self, done: int, total: int) -> None:
        self._say("progress", done, total)

    def trouble(self, name: str, number: int = 0) -> None:
        self._say("trouble", name, number)

    def _say(self, *words: str | int) -> None:
        line = json.dumps(words, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._bytes += len(line)
        if self._bytes > limits.OUTPUT and words[0] != "trouble":
            raise TroubleError("output")
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
