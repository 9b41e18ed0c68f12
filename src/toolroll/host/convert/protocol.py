"""The output of a child: one line of JSON for each part, title, progress or error."""

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


class ConversionOutput:
    """Where a reader puts what it has found."""

    def __init__(self) -> None:
        self._bytes = 0

    def part(self, text: str, page: int = 0, title: str = "") -> None:
        """A page, sheet, slide or chapter."""
        if text.strip():
            self._write("part", text, page, " ".join(title.split())[:200])

    def title(self, title: str | None) -> None:
        """Of the whole document."""
        if title and title.strip():
            self._write("title", " ".join(title.split())[:500])

    def scanned(self, page: int) -> None:
        """A page that is a picture."""
        self._write("scanned", page)

    def progress(self, done: int, total: int) -> None:
        self._write("progress", done, total)

    def trouble(self, name: str, number: int = 0) -> None:
        self._write("trouble", name, number)

    def _write(self, *words: str | int) -> None:
        line = json.dumps(words, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._bytes += len(line)
        if self._bytes > limits.OUTPUT and words[0] != "trouble":
            raise TroubleError("output")
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
