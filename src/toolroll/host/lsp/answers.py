"""What language servers tell, in our own terms: real paths, lines and characters from 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from toolroll.result import ErrorCode
from toolroll.text.edit.text_edits import Edit

Severity = Literal["error", "warning", "info", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info", "hint")
"""As the protocol numbers them, from 1."""


@dataclass(frozen=True, slots=True)
class Range:
    """From one character to the one behind the last."""

    line: int
    character: int
    end_line: int
    end_character: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that a server finds wrong."""

    range: Range
    severity: Severity
    message: str
    code: str
    source: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a server thinks of one file. Without an answer `problems` is None and `reason` says why."""

    path: str
    text: str
    """The very text that was judged."""
    problems: list[Problem] | None
    reason: str = ""
    server: str = ""
    code: ErrorCode | None = None
    """What kind of error that is."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; of files outside the workspace only the line is known."""

    path: str
    range: Range
    inside: bool = True


@dataclass(frozen=True, slots=True)
class Places:
    """Places that a server names. `complete` is False when it may not know of all files."""

    found: list[Location] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Hovered:
    """What a server tells of a place, as Markdown, and which text that is about."""

    markdown: str
    range: Range | None


@dataclass(frozen=True, slots=True)
class FileEdits:
    """Edits of one file, for exactly this text of it."""

    path: str
    text: str
    edits: list[Edit]
