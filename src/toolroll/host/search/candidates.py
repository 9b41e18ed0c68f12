"""Which files can match a query, as far as that is known before a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from toolroll.host.files.walk import Kind


@dataclass(slots=True)
class SkippedFiles:
    """Files that a search does not look into, for its report. All paths are relative to the searched folder."""

    searched: int
    """How many files are searched, binary ones included."""
    too_big: int = 0
    binary: list[str] = field(default_factory=list)
    """Binary files that can match."""
    left_out: list[tuple[str, Kind]] = field(default_factory=list)
    """Hidden and ignored entries; a folder stands for all that is in it."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Files to search in one folder. All paths are relative to that folder."""

    files: Sequence[str]
    complete: bool
    """No other file can match, so that no engine has to walk the tree. Else this only lists the newest files."""
    newest_first: bool = True
    all_text: bool = False
    """No file is binary or too big. Else each must be checked before it goes to an engine that takes all for text."""
    skipped: SkippedFiles | None = None

    def part(self, start: int, end: int) -> Candidates:
        """Some of these files."""
        return replace(self, files=self.files[start:end])
