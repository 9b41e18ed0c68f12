"""Problems in code, as a language server sees them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Annotated, Literal

from toolroll.host.context import Context
from toolroll.host.lsp.answers import SEVERITIES, FileReport, Problem, Severity, looked, unchecked, why_unchecked
from toolroll.host.lsp.targets import find_new_problems, resolve_files
from toolroll.result import Looked, Status
from toolroll.schema import Field, FilePath
from toolroll.text import lines, names
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool

_MOST_FILES = 500
Wanted = Literal["error", "warning", "info", "hint", "all"]


@dataclass(frozen=True, slots=True)
class Row:
    """One problem. Lines and characters count from 1; the end is behind the last character."""

    path: str
    line: int
    character: int
    end_line: int
    end_character: int
    severity: Severity
    message: str
    code: str
    source: str
    snippet: str = ""

    def __str__(self) -> str:
        said = " ".join(self.message.split()) + (f" [{self.code}]" if self.code else "")
        source = f" ({self.source})" if self.source else ""
        snippet = f"\n{self.snippet}" if self.snippet else ""
        return f"{self.path}:{self.line}:{self.character} {self.severity}: {said}{source}{snippet}"


@dataclass(frozen=True, slots=True)
class Problems:
    """The worst first. `total` counts all that were asked for, `rows` are those shown."""

    rows: list[Row]
    total: int
    files: int
    counts: dict[Severity, int]
    """By severity: all that was found, also what is not shown."""
    unknown: dict[str, str]
    """Files that could not be checked, and why."""
    note: str
    status: Status = "success"
    looked: Looked | None = field(default=None, compare=False)
    whole: Callable[[], str] | None = None

    @property
    def shown(self) -> int:
        return len(self.rows)

    @property
    def by_file(self) -> dict[str, list[Row]]:
        ordered = sorted(self.rows, key=lambda row: row.path)
        return {path: list(group) for path, group in groupby(ordered, key=lambda row: row.path)}

    def __str__(self) -> str:
        found = ", ".join(counted(count, name) for name, count in self.counts.items() if count)
        return "\n".join([*map(str, self.rows), f"{counted(self.files, 'file')} checked: {found or 'no problems'}."])


@tool(Effect.READ, rare=True)
def diagnostics(
    ctx: Context,
    files: Annotated[list[str] | None, "Files, folders or globs, such as src/**/*.py."] = None,
    severity: Annotated[Wanted, "Show what is at least so bad."] = "warning",
    limit: Annotated[int, Field(ge=1), "Most problems to show."] = 100,
    new_only: Annotated[bool, "Only what the last call for these files did not report."] = False,
    symbol: Annotated[str | None, "Only the lines of this definition, such as Parser.parse."] = None,
    *,
    exactly: Annotated[bool, "Show this severity only, nothing worse."] = False,
    snippets: Annotated[bool, "Show the lines around each problem."] = False,
    language: Annotated[str | None, "Take all files to be of this language."] = None,
    folder: Annotated[FilePath, "Folder that relative names start from."] = ".",
) -> Problems:
    """Check files with a language server: the errors and warnings of the code as it is now."""
    span = range(1, sys.maxsize)
    if symbol is not None:
        target = ctx.lookup.locate("diagnostics", symbol, files[0] if files else None, None, None)
        files = [target.path]
        span = range(target.symbol.tag.line, target.symbol.tag.end_line + 1) if target.symbol else span
    paths = resolve_files(ctx.files, ctx.search, ctx.token, ["."] if files is None else files, language, folder)
    reports = ctx.servers.diagnose(paths[:_MOST_FILES], ctx.token, language)
    unknown = {one.path: one.reason for one in reports if one.problems is None}
    if len(unknown) == len(reports):
        raise unchecked(reports)
    last = {one.path: ctx.servers.previous(one.path) if new_only else None for one in reports}
    ctx.servers.remember(reports)
    rows = [row for one in reports for row in _rows(one, last[one.path], snippets) if row.line in span]
    least = len(SEVERITIES) if severity == "all" else SEVERITIES.index(severity)
    shown = SEVERITIES[least if exactly and severity != "all" else 0 : least + 1]
    wanted = sorted((row for row in rows if row.severity in shown), key=_order)
    return Problems(
        rows=wanted[:limit],
        total=len(wanted),
        files=len(reports) - len(unknown),
        counts={**dict.fromkeys(SEVERITIES, 0), **Counter(row.severity for row in rows)},
        unknown=unknown,
        note=_note(unknown, len(paths), len(wanted), limit, list(last.values()).count(None) if new_only else None),
        status="partial" if unknown or len(paths) > _MOST_FILES else "success",
        looked=looked(reports),
        whole=partial("\n".join, list(map(str, names.show_names(wanted)))) if limit < len(wanted) else None,
    )


def _order(row: Row) -> tuple[int, str, int, int]:
    return SEVERITIES.index(row.severity), row.path, row.line, row.character


def _rows(report: FileReport, last: FileReport | None, snippets: bool) -> list[Row]:
    found: Sequence[Problem] = find_new_problems(last, report) if last else report.problems or []
    made = []
    for one in found:
        at = one.range
        where = (report.path, at.line, at.character, at.end_line, at.end_character)
        snippet = lines.show_around(report.text, at.line, 1) if snippets else ""
        made.append(Row(*where, one.severity, one.message, one.code, one.source, snippet))
    return made


def _note(unknown: dict[str, str], paths: int, total: int, limit: int, unknown_before: int | None) -> str:
    notes = [why_unchecked(unknown)] if unknown else []
    notes += [f"{paths - _MOST_FILES} more files were not checked: name fewer at once."] * (paths > _MOST_FILES)
    if total > limit:
        notes.append(f"{limit} of {total} problems shown (limit reached).")
    if unknown_before is not None:
        late = f"Not checked before: {counted(unknown_before, 'file')}, all of whose problems count as new."
        notes.append(late if unknown_before else "Problems of the last check do not count.")
    return f"({' '.join(notes)})" if notes else ""
