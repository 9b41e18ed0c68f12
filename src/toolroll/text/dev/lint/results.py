"""Findings of linters, and files that formatters change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolroll.result import Looked, Status
from toolroll.text.lines import counted
from toolroll.text.names import show_names

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


_MOST = 100


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found, and for a fix or a format what was changed; the findings are those that are left."""

    action: str
    engines: list[str]
    checked: int
    findings: list[Finding]
    total: int
    counts: dict[str, int]
    changed: list[Rewritten]
    fixed: int = 0
    note: str = ""
    looked: Looked | None = None
    whole: Callable[[], str] | None = None

    @property
    def status(self) -> Status:
        return self.looked.status if self.looked else "success"

    @property
    def meta(self) -> dict[str, int]:
        return {"exit_code": 1} if self.total else {}

    def __str__(self) -> str:
        head = [self._did()] if self.action != "check" else []
        diffs = [f"{one.path}\n{one.diff}" for one in self.changed]
        return "\n".join([*head, *diffs, *self._found()])

    def _did(self) -> str:
        by = ", ".join(self.engines)
        if not self.changed:
            return f"Nothing to {self.action} in {counted(self.checked, 'file')} ({by})."
        done = {"fix": "Fixed", "format": "Formatted"}[self.action]
        many = f" {counted(self.fixed, 'finding')} in" if self.fixed else ""
        return f"{done}{many} {len(self.changed)} of {counted(self.checked, 'file')} ({by})."

    def _found(self) -> list[str]:
        by = ", ".join(self.engines)
        if not self.total:
            return [f"No findings in {counted(self.checked, 'file')} ({by})."] if self.action == "check" else []
        codes = ", ".join(f"{code} {count}" for code, count in self.counts.items())
        fixable = sum(one.fixable for one in self.findings)
        left = "Left: " if self.action != "check" else ""
        files = counted(len({one.path for one in self.findings}), "file")
        head = f"{left}{counted(self.total, 'finding')} in {files} ({by}): {codes}"
        more = [f"[and {self.total - _MOST} more]"] if self.total > _MOST else []
        return [head + (f"; {fixable} fixable" if fixable else ""), *map(str, self.findings[:_MOST]), *more]


def linted(
    action: str,
    looked: Looked,
    checked: int,
    findings: Sequence[Finding],
    changed: Sequence[Rewritten] = (),
    *,
    fixed: int = 0,
    note: str = "",
) -> Linted:
    """The result of a call: files that do not parse first, then by place."""
    unique = dict.fromkeys(findings)
    ordered = sorted(unique, key=lambda one: (one.code != "syntax", one.path, one.line, one.column, one.code))
    counts = dict(Counter(one.code for one in ordered).most_common())
    whole = (lambda: "\n".join(map(str, show_names(ordered)))) if len(ordered) > _MOST else None
    names = list(looked.by)
    return Linted(action, names, checked, ordered, len(ordered), counts, list(changed), fixed, note, looked, whole)
