"""A source by its bytes: which line a byte is in, and what is written between two of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, islice

BOM = b"\xef\xbb\xbf"


class SourceText:
    """The bytes of a source, in UTF-8 without a mark, and the spans of its comments."""

    def __init__(self, data: bytes, comments: Iterable[tuple[int, int]] = ()) -> None:
        self.data = data
        self.comments = sorted(comments)
        self._ascii = data.isascii()

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts; the last one after the last line's end."""
        return [0, *islice(accumulate(map((1).__add__, map(len, self.data.split(b"\n")))), self.data.count(b"\n"))]

    @property
    def lines(self) -> int:
        return self.data.count(b"\n") + (not self.data.endswith(b"\n") and bool(self.data))

    def spot(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte, both from 1, the column in characters."""
        line = self.line(offset)
        start = self.starts[line - 1]
        return line, (offset - start if self._ascii else len(text(self.data[start:offset]))) + 1

    def line(self, offset: int) -> int:
        return bisect_right(self.starts, offset)

    def last_line(self, start: int, end: int) -> int:
        """The last line between two bytes that holds more than blanks and comments."""
        data, comments = self.data, self.comments
        at = bisect_left(comments, (end, 0)) if comments else 0
        while end > start + 1:
            if data[end - 1] in b" \t\r\n":
                end -= 1
            elif at and comments[at - 1][1] >= end and comments[at - 1][0] > start:
                at -= 1
                end = comments[at][0]
            else:
                break
        return self.line(max(start, end - 1))

    def line_text(self, line: int) -> str:
        if not 1 <= line <= len(self.starts):
            return ""
        end = self.starts[line] if line < len(self.starts) else len(self.data)
        return text(self.data[self.starts[line - 1] : end]).rstrip("\r\n")

    def between(self, start: int, end: int) -> bytes:
        """What is written there, without comments."""
        at = bisect_left(self.comments, (start, 0)) if self.comments else 0
        kept: list[bytes] = []
        while at < len(self.comments) and self.comments[at][0] < end:
            kept.append(self.data[start : self.comments[at][0]])
            start = self.comments[at][1]
            at += 1
        return b" ".join((*kept, self.data[start:end])) if kept else self.data[start:end]


def text(data: bytes) -> str:
    """The bytes as text; what is none shows as such."""
    return data.decode("utf-8", "replace")
