"""Parse the events of our Python test driver, one JSON object a line."""

from __future__ import annotations

from itertools import groupby
from typing import Literal

import msgspec

from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, Outcome, Raw, Run, identity

_FRAMES = 8  # of one failure to show; the innermost matter most


class _Event(msgspec.Struct):
    event: str
    file: str = ""
    line: int | None = None
    name: str = ""
    count: int = 0
    framework: str = ""
    version: str = ""
    outcome: Outcome = "passed"
    seconds: float = 0.0
    kind: Literal["failed", "error"] = "failed"
    message: str = ""
    frames: list[tuple[str, int, str, str]] = []
    output: str = ""
    files: dict[str, tuple[int, list[int]]] = {}
    touched: dict[str, list[str]] = {}


def read(raw: Raw) -> Run:
    """Parse the report. Lines that are not events are skipped: the tests can write there too."""
    run = Run()
    decoder = msgspec.json.Decoder(_Event)
    for line in raw.report.split("\n"):
        try:
            _take(run, decoder.decode(line), raw)
        except msgspec.MsgspecError:
            continue
    return run


def _take(run: Run, event: _Event, raw: Raw) -> None:
    path = raw.relative(event.file) if event.file else ""
    known = identity(path, event.name)
    match event.event:
        case "start":
            run.framework = f"{event.framework} {event.version}"
        case "found":
            run.found = (run.found or 0) + event.count
        case "deselected":
            run.deselected += event.count
        case "begin":
            run.running = known
        case "item" | "test":
            run.tests.append(Case(known, path, event.line, event.outcome, event.seconds))
            run.running = None
        case "failure":
            run.failures.append(_failure(event, known, path, raw))
        case "coverage":
            _cover(run, event, raw)
        case "missing":
            run.missing = event.name
        case "stop":
            run.ended, run.status = True, event.count


def _failure(event: _Event, known: str, path: str, raw: Raw) -> Failure:
    every = (Frame(raw.relative(file), line, where, code) for file, line, where, code in event.frames)
    frames = [one for one, _ in groupby(every)]  # a recursion is shown once
    own = [one for one in frames if raw.inside(one.path)]
    shown = own if own and own[-1] is frames[-1] else own + frames[-1:]
    if not path and own:  # what prepares a class has no place of its own
        path = own[-1].path
    line = next((one.line for one in reversed(own) if one.path == path), event.line)
    return Failure(known, path, line, event.kind, event.message, shown[-_FRAMES:], event.output)


def _cover(run: Run, event: _Event, raw: Raw) -> None:
    own = sorted((raw.relative(file), counts) for file, counts in event.files.items() if raw.inside(file))
    run.coverage = [Covered(path, statements, missing) for path, (statements, missing) in own]
    run.engine = event.name
    run.touched = {
        raw.relative(test): [raw.relative(file) for file in files if raw.inside(file)]
        for test, files in event.touched.items()
    }
