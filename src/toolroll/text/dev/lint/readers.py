"""Parse the output of linters and formatters."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from toolroll.result import ErrorCode, ToolError
from toolroll.text.dev.lint.results import SYNTAX, Finding, LintOutput

_PLACE = re.compile(r"^(?P<path>.+?):(?P<line>\d+):(?P<column>\d+):? (?P<rest>.+)$", re.M)
_POINTED = re.compile(
    r"^(?P<kind>error|invalid-syntax)\S*: (?P<said>.+)\n +--> (?P<path>.+):(?P<line>\d+):(?P<column>\d+)$", re.M
)
_RUFF_FORMAT = re.compile(
    r"^(?:Would reformat: (?P<old>.+)|unformatted: .+\n +--> (?P<new>.+?)(?::cell \d+)?:\d+:\d+)$", re.M
)
_RUFF_READ = re.compile(r"^io: (?P<said>.+)\n *--> (?P<path>.+):\d+:\d+$", re.M)
_RUFF_PARSE = re.compile(r"^error: Failed to parse (?P<path>.+?):(?P<line>\d+):(?P<column>\d+): (?P<said>.+)$", re.M)
_PRETTIER = re.compile(r"^\[error\] (?P<path>.+?): SyntaxError: (?P<said>.+?) \((?P<line>\d+):(?P<column>\d+)\)", re.M)
_BLACK = re.compile(
    r"^error: cannot format (?P<path>.+?): (?P<said>Cannot parse.*?: (?P<line>\d+):(?P<column>\d+).*)$", re.M
)


class _Spot(msgspec.Struct):
    row: int
    column: int


class _Fix(msgspec.Struct):
    applicability: str = "safe"


class _Ruff(msgspec.Struct):
    filename: str
    location: _Spot
    message: str
    code: str | None = None
    fix: _Fix | None = None


def ruff(printed: LintOutput) -> list[Finding]:
    """`ruff check --output-format=json`; what it would not fix by itself is not fixable here."""
    found = []
    for one in decode(printed, list[_Ruff]):
        code = SYNTAX if one.code in (None, "invalid-syntax", "E999") else one.code
        said = one.message if code != SYNTAX else f"Syntax error: {one.message.removeprefix('SyntaxError: ')}"
        fixable = one.fix is not None and one.fix.applicability in ("safe", "automatic", "always")
        path = printed.relative(one.filename)
        found.append(Finding(path, one.location.row, one.location.column, code or SYNTAX, said, fixable))
    return found


def ruff_fixable(printed: LintOutput) -> list[str]:
    """The files with a finding that `ruff check` would fix."""
    return sorted({one.path for one in ruff(printed) if one.fixable})


def flake8(printed: LintOutput) -> list[Finding]:
    """flake8's own lines: path:line:column: code message."""
    found = []
    for at in _PLACE.finditer(printed.out):
        code, _, said = at["rest"].partition(" ")
        if code == "E999":
            code, said = SYNTAX, f"Syntax error: {said.removeprefix('SyntaxError: ')}"
        found.append(Finding(printed.relative(at["path"]), int(at["line"]), int(at["column"]), code, said))
    return found


class _Compiled(msgspec.Struct):
    path: str
    line: int
    column: int
    message: str


def compiled(printed: LintOutput) -> list[Finding]:
    """The lines of our own driver, which only compiles."""
    lines = [msgspec.json.decode(line, type=_Compiled) for line in printed.out.splitlines()]
    return [
        Finding(printed.relative(one.path), one.line, one.column, SYNTAX, f"Syntax error: {one.message}")
        for one in lines
    ]


class _Message(msgspec.Struct):
    message: str
    ruleId: str | None = None  # noqa: N815
    line: int = 1
    column: int = 1
    fix: dict[str, Any] | None = None
    fatal: bool = False


class _Linted(msgspec.Struct):
    filePath: str  # noqa: N815
    messages: list[_Message] = []
    output: str | None = None


def eslint(printed: LintOutput) -> list[Finding]:
    """`eslint --format json`."""
    found = []
    for file in decode(printed, list[_Linted]):
        for one in file.messages:
            code = SYNTAX if one.fatal else one.ruleId or "eslint"
            said = f"Syntax error: {one.message.removeprefix('Parsing error: ')}" if one.fatal else one.message
            path = printed.relative(file.filePath)
            found.append(Finding(path, one.line, one.column, code, said, one.fix is not None))
    return found


def eslint_texts(printed: LintOutput) -> dict[str, str]:
    """`eslint --fix-dry-run --format json`: the files that would change, with their new texts."""
    files = decode(printed, list[_Linted])
    return {printed.relative(one.filePath): one.output for one in files if one.output is not None}


def unformatted(code: str) -> Any:
    """A reader for programs that list the files they would format, one a line."""

    def read(printed: LintOutput) -> list[Finding]:
        names = [line for line in printed.out.splitlines() if line.strip() and not _PLACE.match(line)]
        listed = [
            Finding(printed.relative(name), 1, 1, code, "Not formatted.", True)
            for name in names
            if "[error]" not in name
        ]
        return listed + faults(printed)

    return read


def faults(printed: LintOutput) -> list[Finding]:
    """The files that a formatter could not parse."""
    said = f"{printed.out}\n{printed.errors}"
    found = []
    for pattern in (_PRETTIER, _POINTED, _RUFF_PARSE, _BLACK):
        for at in pattern.finditer(said):
            path = printed.relative(at["path"])
            found.append(Finding(path, int(at["line"]), int(at["column"]), SYNTAX, f"Syntax error: {at['said']}"))
    found += [Finding(printed.relative(at["path"]), 1, 1, "E902", at["said"]) for at in _RUFF_READ.finditer(said)]
    if not found and printed.status:
        for at in _PLACE.finditer(printed.errors):  # gofmt
            path = printed.relative(at["path"])
            found.append(Finding(path, int(at["line"]), int(at["column"]), SYNTAX, f"Syntax error: {at['rest']}"))
    return found


def ruff_stale(printed: LintOutput) -> list[str]:
    """`ruff format --check`, in the words of old and new versions."""
    return list(dict.fromkeys(printed.relative(at["old"] or at["new"]) for at in _RUFF_FORMAT.finditer(printed.out)))


def black_stale(printed: LintOutput) -> list[str]:
    """`black --check`."""
    return [printed.relative(path) for path in re.findall(r"^would reformat (.+)$", printed.errors, re.M)]


def decode(printed: LintOutput, kind: Any) -> Any:
    """Its JSON; raises ToolError with what it said instead."""
    try:
        return msgspec.json.decode(printed.out, type=kind)
    except msgspec.MsgspecError as error:
        said = (printed.errors.strip() or printed.out.strip())[-2000:] or str(error)
        raise ToolError(ErrorCode.EXECUTION, f"The linter failed (exit code {printed.status}):\n{said}") from error
