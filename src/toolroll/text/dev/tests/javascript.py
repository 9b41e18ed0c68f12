"""Parse the reports of jest, vitest and node's own test runner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from toolroll.result import ErrorCode, ToolError
from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, Outcome, Raw, Run, identity, plain

_AT = re.compile(
    r"^\s+at (?:(?:async )?(?P<where>.+?) \()?(?:file://)?(?P<file>/[^()\n]+?):(?P<line>\d+):\d+\)?$", re.M
)
_TITLE = re.compile(r"""\b(?:test|it)(?:\.\w+)?\(\s*(["'`])(?P<title>.+?)\1""")
_OUTCOMES: dict[str, Outcome] = {"passed": "passed", "failed": "failed"}
_FRAMES = 8
_PARSE_HELP = re.compile(r"^\s*Jest failed to parse a file\..*?^\s*Details:\n", re.M | re.S)  # general advice of jest

REPORTER = """
export default async function* (source) {
  for await (const { type, data } of source) {
    if (!['test:start', 'test:pass', 'test:fail', 'test:stderr', 'test:coverage'].includes(type)) continue;
    if (String(data.skip).includes('does not match pattern')) continue;
    const error = data.details?.error, cause = error?.cause ?? error;
    const ended = error?.exitCode ? ` (exit code ${error.exitCode})` : error?.signal ? ` (${error.signal})` : '';
    const message = String(cause?.message ?? cause) + ended, stack = String(cause?.stack ?? '');
    const failure = error && { message, stack, kind: error.failureType ?? '' };
    const files = data.summary?.files.map((one) => ({
      path: one.path, total: one.totalLineCount,
      missing: one.uncoveredLineNumbers ?? one.lines.filter((line) => line.count === 0).map((line) => line.line),
    }));
    yield JSON.stringify({
      type, name: data.name ?? data.message ?? '', file: data.file ?? '', line: data.line ?? null,
      nesting: data.nesting ?? 0,
      seconds: (data.details?.duration_ms ?? 0) / 1000, suite: data.details?.type === 'suite',
      skip: data.skip !== undefined || data.todo !== undefined, error: failure ?? null, files: files ?? [],
    }) + '\\n';
  }
}
"""
"""For `node --test --test-reporter`: each event as a line of JSON."""


class _Location(msgspec.Struct):
    line: int


class _Assertion(msgspec.Struct):
    title: str
    status: str
    ancestorTitles: list[str] = []  # noqa: N815
    duration: float | None = None
    failureMessages: list[str] | None = None  # noqa: N815
    location: _Location | None = None


class _File(msgspec.Struct):
    name: str
    assertionResults: list[_Assertion] = []  # noqa: N815
    message: str = ""
    status: str = ""


class _Report(msgspec.Struct):
    testResults: list[_File] = []  # noqa: N815


def read(raw: Raw) -> Run:
    """Parse the JSON report of jest or vitest."""
    if raw.action == "discover":
        return _listed(raw)
    run = Run()
    if not raw.report.strip():
        return run
    for file in _decode(raw.report, _Report).testResults:
        path = raw.relative(file.name)
        for one in file.assertionResults:
            _take(run, one, path, raw)
        if file.status == "failed" and file.message and not any(one.failureMessages for one in file.assertionResults):
            run.failures.append(failure(raw, path, path, None, "error", file.message))
    run.ended = True
    run.coverage = _istanbul(raw) if raw.extra else None
    return run


def _take(run: Run, one: _Assertion, path: str, raw: Raw) -> None:
    if raw.named and one.status in ("pending", "skipped"):  # also what it skips for its name
        run.deselected += 1
        return
    known = identity(path, " > ".join([*(title for title in one.ancestorTitles if title), one.title]))
    line = one.location.line if one.location else None
    run.tests.append(Case(known, path, line, _OUTCOMES.get(one.status, "skipped"), (one.duration or 0.0) / 1000))
    if one.status == "failed":
        run.failures.append(failure(raw, known, path, line, "failed", "\n".join(one.failureMessages or [])))


def failure(raw: Raw, known: str, path: str, line: int | None, kind: Any, said: str) -> Failure:
    """A failure from the text of an error: the message, then lines that begin with `at`."""
    said = _PARSE_HELP.sub("", plain(said))
    first = re.search(r"^\s+at ", said, re.M)
    frames = [Frame(raw.relative(at["file"]), int(at["line"]), at["where"] or "") for at in _AT.finditer(said)]
    own = [one for one in frames if raw.inside(one.path)]
    shown = (own or frames[:1])[:_FRAMES][::-1]
    line = next((one.line for one in own if one.path == path), line)
    return Failure(known, path, line, kind, said[: first.start()].strip() if first else said.strip(), shown)


def _listed(raw: Raw) -> Run:
    """`jest --listTests --json` gives paths, `vitest list --json` objects with names."""
    try:
        found = msgspec.json.decode(raw.report or raw.output[raw.output.find("[") :], type=list[str | dict[str, Any]])
    except msgspec.MsgspecError:
        return Run()  # such as with a file that cannot be loaded: the caller has the output
    run = Run(ended=True, found=len(found))
    for one in found:
        path = raw.relative(one if isinstance(one, str) else str(one.get("file", "")))
        run.tests.append(Case(identity(path, "" if isinstance(one, str) else str(one.get("name", ""))), path))
    return run


class _Span(msgspec.Struct):
    start: _Location


class _Statements(msgspec.Struct):
    path: str
    statementMap: dict[str, _Span]  # noqa: N815
    s: dict[str, int]


def _istanbul(raw: Raw) -> list[Covered]:
    """Lines, from a report that counts statements: a line is missing when a statement that starts there is."""
    covered = []
    for one in _decode(raw.extra, dict[str, _Statements]).values():
        lines: dict[int, int] = {}
        for number, span in one.statementMap.items():
            lines[span.start.line] = min(lines.get(span.start.line, 1), one.s.get(number, 0))
        missing = sorted(line for line, count in lines.items() if not count)
        covered.append(Covered(raw.relative(one.path), len(lines), missing))
    return sorted(covered, key=lambda one: one.path)


def titles(raw: Raw, files: Mapping[str, str]) -> Run:
    """The tests of these files (path to text), found by their titles in the text: nothing is run."""
    found = []
    for path, text in files.items():
        for match in _TITLE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Case(identity(raw.relative(path), match["title"]), raw.relative(path), line))
    return Run(tests=found, found=len(found), ended=True)


class _Error(msgspec.Struct):
    message: str
    stack: str = ""
    kind: str = ""


class _NodeFile(msgspec.Struct):
    path: str
    total: int
    missing: list[int]


class _NodeEvent(msgspec.Struct):
    type: str
    name: str
    file: str = ""
    line: int | None = None
    nesting: int = 0
    seconds: float = 0.0
    suite: bool = False
    skip: bool = False
    error: _Error | None = None
    files: list[_NodeFile] = []


def read_node(raw: Raw) -> Run:
    """Parse the events of `REPORTER`. A suite ends after its tests, so the names come from the start events."""
    run = Run(engine="node")
    above: list[str] = []
    printed: dict[str, str] = {}
    decoder = msgspec.json.Decoder(_NodeEvent)
    for line in raw.report.split("\n"):
        try:
            event = decoder.decode(line)
        except msgspec.MsgspecError:
            continue  # the last one, when it was killed
        if event.type == "test:stderr":
            printed[event.file] = printed.get(event.file, "") + event.name
            continue
        if event.type == "test:coverage":
            files = [
                Covered(raw.relative(one.path), one.total, one.missing) for one in event.files if raw.inside(one.path)
            ]
            run.coverage = sorted(files, key=lambda one: one.path)
            continue
        del above[event.nesting :]
        above.append(event.name)
        if event.type != "test:start":
            run.ended = True
            _take_node(run, event, " > ".join(above), printed.get(event.file, ""), raw)
    return run


def _take_node(run: Run, event: _NodeEvent, name: str, printed: str, raw: Raw) -> None:
    path = raw.relative(event.file or (event.name if event.name.startswith("/") else ""))
    whole = event.name == event.file or raw.relative(event.name) == path  # the file itself, as a test of its own
    known = path if whole else identity(path, name)
    holds_others = event.suite or (event.error is not None and event.error.kind == "subtestsFailed")
    if event.error is not None and event.error.kind != "subtestsFailed":
        kind = "error" if whole or event.suite else "failed"
        said = event.error.stack if event.error.message in event.error.stack else event.error.message
        thrown = re.search(r"^\w*Error\b.*", printed, re.M | re.S) if whole else None
        run.failures.append(failure(raw, known, path, event.line, kind, thrown[0] if thrown else said))
    if not whole and not holds_others:
        outcome: Outcome = "skipped" if event.skip else "failed" if event.error else "passed"
        run.tests.append(Case(known, path, event.line, outcome, round(event.seconds, 4)))


def _decode(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise ToolError(ErrorCode.EXECUTION, f"The report of the test run cannot be read: {error}.") from error
