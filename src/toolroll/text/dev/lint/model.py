"""Findings of linters, and files that formatters change."""

from __future__ import annotations

from dataclasses import dataclass

SYNTAX = "syntax"  # the code of a finding that a file does not parse


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a linter in a file."""

    path: str
    line: int
    column: int
    code: str
    message: str
    fixable: bool = False

    def __str__(self) -> str:
        mark = " [fixable]" if self.fixable else ""
        return f"{self.path}:{self.line}:{self.column} {self.code}{mark} {self.message}"


@dataclass(frozen=True, slots=True)
class LintOutput:
    """What a linter printed and how it ended."""

    out: str
    errors: str
    status: int
    root: str
    """The workspace, where it ran."""

    def relative(self, path: str) -> str:
        return path.removeprefix(f"{self.root}/").removeprefix("./")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file that was changed, or would be."""

    path: str
    diff: str
