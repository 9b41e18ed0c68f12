"""A text file as it was at one moment, and what a write made of it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from toolroll.host.records import Version
from toolroll.result import ToolError
from toolroll.text import diff
from toolroll.text.encoding import Encoding


@dataclass(frozen=True, slots=True)
class Document:
    """A text file as it was at one moment."""

    path: str
    data: bytes
    text: str
    encoding: Encoding
    version: Version


@dataclass(frozen=True, slots=True)
class Change:
    """What a write did. `before` is None for a new file."""

    path: str
    before: bytes | None
    after: bytes
    encoding: Encoding

    @property
    def created(self) -> bool:
        return self.before is None

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change for the eye; empty for a new file and for one that was no text."""
        try:
            return (
                diff.unified(self.encoding.decode(self.before), self.encoding.decode(self.after)) if self.before else ""
            )
        except ToolError:
            return ""


def read_all(fd: int, size: int) -> bytes:
    """Every byte of an open file, also when it grew since its size was asked."""
    with os.fdopen(os.dup(fd), "rb", buffering=0) as file:
        data = file.read(size + 1) or b""
        return data if len(data) <= size else data + file.read()
