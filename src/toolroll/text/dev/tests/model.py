"""A test run: its tests, failures and coverage."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Action = Literal["discover", "run", "coverage"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Case:
    """One test. Its id, given as a path, runs it alone."""

    id: str
    path: str
    line: int | None = None
    outcome: Outcome = "passed"
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Frame:
    """One place of a traceback."""

    path: str
    line: int
    where: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test failed, or why it could not run at all ("error")."""

    id: str
    path: str
    line: int | None
    kind: Literal["failed", "error"]
    message: str
    trace: list[Frame] = field(default_factory=list)
    output: str = ""


@dataclass(frozen=True, slots=True)
class Covered:
    """How much of a file was reached."""

    path: str
    statements: int
    missing: list[int]

    @property
    def percent(self) -> float:
        return 100.0 * (self.statements - len(self.missing)) / self.statements if self.statements else 100.0


@dataclass(slots=True)
class Run:
    """All that is known of a run, also when it was cut short."""

    framework: str = ""
    """The name and version of what ran the tests."""
    tests: list[Case] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    coverage: list[Covered] | None = None
    engine: str = ""
    touched: dict[str, list[str]] = field(default_factory=dict)
    """Test file to the files that its tests reached."""
    found: int | None = None
    deselected: int = 0
    running: str | None = None
    """The test that was running when the run ended early."""
    ended: bool = False
    """Whether the run came to its own end."""
    status: int = 0
    """The exit status that the driver reports."""
    missing: str = ""
    """A package that the run needs and that is not installed."""

    def count(self, *outcomes: Outcome) -> int:
        return sum(one.outcome in outcomes for one in self.tests)


@dataclass(frozen=True, slots=True)
class Raw:
    """The raw output of a run, for the parser of its framework."""

    action: Action
    root: str
    folder: str
    """Where it ran, relative to the workspace; "." for itself."""
    report: str
    output: str
    extra: str = ""
    """The coverage report, where that is a file of its own."""
    manifest: str = ""
    """The file that describes the project, such as go.mod."""
    named: bool = False
    """Whether only tests of some names were asked for."""

    def relative(self, path: str) -> str:
        """A path from the workspace; one that is elsewhere stays absolute."""
        if path.startswith("/"):
            return path.removeprefix(f"{self.root}/")
        steps: list[str] = []
        for part in f"{self.folder}/{path}".split("/"):
            if part == ".." and steps:
                steps.pop()
            elif part not in ("", "."):
                steps.append(part)
        return "/".join(steps)

    def inside(self, path: str) -> bool:
        """Whether a path is the project's own."""
        inner = self.relative(path)
        foreign = ("site-packages", "node_modules", ".venv", "venv")
        return not inner.startswith("/") and not any(part in foreign for part in inner.split("/"))


def identity(path: str, name: str) -> str:
    """The id of a test: its file and its name there."""
    return f"{path}::{name}" if path and name else path or name


def plain(text: str) -> str:
    """A text without colours."""
    return _COLOURS.sub("", text)


def numbers(lines: list[int]) -> str:
    """Line numbers as ranges: 3-5, 9."""
    ranges: list[list[int]] = []
    for line in sorted(lines):
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)
