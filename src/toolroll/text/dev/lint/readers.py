"""Read what a linter or formatter printed. How each one answers is data; an answer in no known form is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from toolroll.result import CouldNotLookError
from toolroll.text.dev.lint.results import SYNTAX, Finding, LintOutput

_MAX_SAID_CHARS = 2000
_SAFE_FIXES = ("safe", "automatic", "always")
_SYNTAX_CODES = ("", "invalid-syntax", "E999", SYNTAX)


@dataclass(frozen=True, slots=True)
class JsonRows:
    """Where an answer in JSON has what; a dot leads into an object."""

    path: str
    line: str
    column: str
    said: str
    code: str = ""
    fix: str = ""
    rows: str = ""
    """The list of findings in each object, for a program that lists files."""
    text: str = ""
    """The new text of a file."""
    by_line: bool = False
    """An object on each line, and {"checked": N} on the last."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a program answers."""

    json: JsonRows | None = None
    listed: re.Pattern[str] | None = None
    """Of a formatter: the files that it would change."""
    faults: tuple[re.Pattern[str], ...] = ()
    """Findings at places: path, line, column, code and said, those that it gives."""
    code: str = SYNTAX
    """Of the files that are listed."""
    statuses: tuple[int, ...] = (0, 1)
    """The exit codes of a run that looked at all; another than 0 comes with findings."""
    ends: re.Pattern[str] | None = None
    """What it prints at the end of a run without findings; None where that is nothing."""


@dataclass(frozen=True, slots=True)
class LintReport:
    """What a program reported: findings, the files that it would change, and new texts where it gives them."""

    findings: list[Finding]
    stale: list[str]
    texts: dict[str, str]


def read_report(who: str, form: Form, printed: LintOutput) -> LintReport:
    """Read an answer; CouldNotLookError for an exit code or an output of a program that did not look."""
    report = _read_json(who, form.json, printed) if form.json is not None else _read_lines(form, printed)
    said = f"{printed.out}\n{printed.errors}"
    if printed.status not in form.statuses or (printed.status and not report.findings):
        raise refuse(who, printed)
    if not report.findings and form.ends is not None and not form.ends.search(said):
        raise refuse(who, printed)
    return report


def _read_lines(form: Form, printed: LintOutput) -> LintReport:
    said = f"{printed.out}\n{printed.errors}"
    faults = [_fault(printed, at.groupdict()) for pattern in form.faults for at in pattern.finditer(said)]
    found = form.listed.finditer(printed.out or printed.errors) if form.listed is not None else ()
    paths = dict.fromkeys(next(filter(None, at.groups())) for at in found)
    stale = [printed.relative(path) for path in paths]
    listed = [Finding(path, 1, 1, form.code, "Not formatted.", True) for path in stale]
    return LintReport([*listed, *dict.fromkeys(faults)], stale, {})


def _fault(printed: LintOutput, at: Mapping[str, str | None]) -> Finding:
    code = at.get("code") or ("E902" if "line" not in at else SYNTAX)
    line, column = int(at.get("line") or 1), int(at.get("column") or 1)
    return _finding(printed, at["path"] or "", line, column, code, at["said"] or "")


def _finding(
    printed: LintOutput, path: str, line: int, column: int, code: str, said: str, fixable: bool = False
) -> Finding:
    if code in _SYNTAX_CODES:
        said = said.removeprefix("SyntaxError: ").removeprefix("Parsing error: ")
        code, said = SYNTAX, f"Syntax error: {said}"
    return Finding(printed.relative(path), line, column, code, said, fixable)


def _read_json(who: str, form: JsonRows, printed: LintOutput) -> LintReport:
    try:
        if form.by_line:
            rows = [msgspec.json.decode(line) for line in printed.out.splitlines()]
            last = rows.pop()
            complete = "checked" in last
        else:
            rows, complete = msgspec.json.decode(printed.out), True
        findings = [_json_finding(form, printed, row, outer) for row, outer in _inner(form, rows)]
        texts = {printed.relative(row["filePath"]): row[form.text] for row in rows if form.text and form.text in row}
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise refuse(who, printed) from error
    if not complete:
        raise refuse(who, printed)
    stale = sorted({one.path for one in findings if one.fixable})
    return LintReport(findings, stale, {path: text for path, text in texts.items() if text is not None})


def _inner(form: JsonRows, rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for outer in rows:
        for row in outer[form.rows] if form.rows else (outer,):
            yield row, outer


def _json_finding(form: JsonRows, printed: LintOutput, row: dict[str, Any], outer: dict[str, Any]) -> Finding:
    def take(path: str, default: Any = None) -> Any:
        value: Any = row if path.partition(".")[0] in row else outer
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return default if value is None else value

    fix = take(form.fix) if form.fix else None
    fixable = fix is not None and (not isinstance(fix, str) or fix in _SAFE_FIXES)
    code = SYNTAX if row.get("fatal") else take(form.code, "eslint" if form.rows else "") if form.code else SYNTAX
    place = int(take(form.line, 1)), int(take(form.column, 1))
    return _finding(printed, str(take(form.path)), *place, str(code), str(take(form.said)), fixable)


def refuse(who: str, printed: LintOutput) -> CouldNotLookError:
    """The error for a run that is no answer, with what was printed."""
    said = (printed.errors.strip() or printed.out.strip())[-_MAX_SAID_CHARS:] or "it printed nothing that is an answer."
    remedy = "Run it with `bash` to see more, or have the user install it again."
    return CouldNotLookError(who, f"exit code {printed.status}.\n{said}\n", remedy)
