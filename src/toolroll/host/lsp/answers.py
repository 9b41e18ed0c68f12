"""Answers of language servers in our terms: real paths, lines and characters from 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolroll.result import CouldNotLookError, ErrorCode, Looked
from toolroll.text.edit.text_edits import Edit
from toolroll.text.lines import counted

Severity = Literal["error", "warning", "info", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info", "hint")
"""In the order of the protocol, which counts from 1."""


@dataclass(frozen=True, slots=True)
class Range:
    """A range of characters; the end is exclusive."""

    line: int
    character: int
    end_line: int
    end_character: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One diagnostic."""

    range: Range
    severity: Severity
    message: str
    code: str
    source: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """The diagnostics of one file. Without an answer `problems` is None and `reason` says why."""

    path: str
    text: str
    """The text that was checked."""
    problems: list[Problem] | None
    reason: str = ""
    server: str = ""
    code: ErrorCode | None = None
    """The error code of the reason."""


@dataclass(frozen=True, slots=True)
class Location:
    """A range in a file; outside the workspace only the line is known."""

    path: str
    range: Range
    inside: bool = True


@dataclass(frozen=True, slots=True)
class LocationList:
    """Locations that a server found. `complete` is False when it may not know all files."""

    found: list[Location] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class HoverText:
    """The hover text of a position, as Markdown, and the range it is about."""

    markdown: str
    range: Range | None


@dataclass(frozen=True, slots=True)
class FileEdits:
    """Edits of one file, for exactly this text of it."""

    path: str
    text: str
    edits: list[Edit]


def why_unchecked(unknown: Mapping[str, str]) -> str:
    """Each reason once, with the files it is about."""
    by_reason = {reason: [path for path in unknown if unknown[path] == reason] for reason in unknown.values()}
    names = {reason: ", ".join(paths[:5]) + ", ..." * (len(paths) > 5) for reason, paths in by_reason.items()}
    return " ".join(f"Not checked: {names[reason]}: {reason.rstrip('.')}." for reason in by_reason)


def unchecked(reports: Sequence[FileReport]) -> CouldNotLookError:
    """The error where no file could be checked."""
    unknown = {one.path: one.reason for one in reports}
    why, code = why_unchecked(unknown), reports[0].code or ErrorCode.EXECUTION
    error = CouldNotLookError(reports[0].server or "The language server", why, message=why, code=code)
    error.details |= unknown
    return error


def looked(reports: Sequence[FileReport]) -> Looked:
    """The servers that checked files, and why others were not checked."""
    checked = [one for one in reports if one.problems is not None]
    reasons = {one.reason: one for one in reports if one.problems is None}
    failed = tuple(
        CouldNotLookError(one.server or "The language server", reason, code=one.code or ErrorCode.EXECUTION)
        for reason, one in reasons.items()
    )
    return Looked(counted(len(checked), "file"), tuple(dict.fromkeys(one.server for one in checked)), failed, told=True)
