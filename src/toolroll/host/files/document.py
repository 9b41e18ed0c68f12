"""A text file as it was at one moment, and what a write made of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from toolroll.host.files.versions import Version
from toolroll.result import ToolError
from toolroll.text import diff
from toolroll.text.encoding import UTF8, Encoding

_EXACT = frozenset({"utf-8", "ascii", "iso8859-1"})  # one way to write a text, and decoding takes no other
_LINEWISE = ("utf-8", "ascii", "iso8859-", "cp125", "koi8-")  # a byte 10 is a line feed, wherever one looks


@dataclass(frozen=True)
class TextFile:
    """A text file as it was at one moment."""

    path: str
    data: bytes
    encoding: Encoding
    version: Version

    @cached_property
    def text(self) -> str:
        return self.encoding.decode(self.data)

    @cached_property
    def plain(self) -> bool:
        """Whether each of its bytes is a character, the same in every encoding of text that is in use."""
        return self.encoding == UTF8 and self.data.isascii()

    @property
    def round_trips(self) -> bool:
        """Whether writing the text gives these bytes again."""
        return self.plain or self.encoding.codec in _EXACT or self.encoding.encode(self.text) == self.data


@dataclass(frozen=True, slots=True)
class ContentChange:
    """What a write did. `before` is None for a new file."""

    path: str
    before: bytes | None
    after: bytes
    encoding: Encoding
    same: diff.Same = diff.NOTHING
    """What is known to be the same in both."""

    @property
    def created(self) -> bool:
        return self.before is None

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change for the eye; empty for a new file and for one that was no text."""
        if not self.before:
            return ""
        used = self.encoding
        try:
            if used.codec.startswith(_LINEWISE):
                mark = len(used.bom)
                before, after = (self.before[mark:], self.after[mark:]) if mark else (self.before, self.after)
                return diff.unified_bytes(before, after, Encoding(used.codec).decode, self.same)
            return diff.unified(used.decode(self.before), used.decode(self.after))
        except ToolError:
            return ""


def read_all(fd: int, size: int) -> bytes:
    """Every byte of an open file, also when it grew since its size was asked."""
    data = os.read(fd, size + 1)
    while len(data) > size and (more := os.read(fd, len(data))):
        data += more
    return data
