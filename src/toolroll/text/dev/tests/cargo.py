"""Parse the output of `cargo test`."""

from __future__ import annotations

import re

from toolroll.text.dev.tests.model import Case, Failure, Frame, Outcome, Raw, Run, identity

_BINARY = re.compile(r"^\s+(?:Running (?:unittests )?(?P<file>\S+)(?: \(.*\))?|Doc-tests (?P<doc>\S+))$")
_DOC = re.compile(r"(?P<file>\S+) - (?P<item>.*?) ?\(line (?P<line>\d+)\)")
_TEST = re.compile(r"^test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<end>ok|FAILED|ignored)\b")
_LISTED = re.compile(r"^(?P<name>.+): test$")
_SECTION = re.compile(r"^---- (?P<name>.+?) stdout ----$")
_PANIC = re.compile(
    r"^thread '.*?'(?: \(\d+\))? panicked at (?:'(?P<old>.*)', )?(?P<file>[^:\s]+):(?P<line>\d+):\d+:?$"
)
_COUNT = re.compile(r"^running (?P<count>\d+) tests?$")
_BROKEN = re.compile(r"^ *process didn't exit successfully: .* \((?P<how>.+?)\)$")
_TOTAL = re.compile(r"^test result: .*?(?P<out>\d+) filtered out")
_NOTE = re.compile(r"^(note: run with `RUST_BACKTRACE|stack backtrace:|failures:$|test result: )")
_ENDS: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def read(raw: Raw) -> Run:
    """Parse the output; without tests the build failed, and the caller shows the output."""
    run = Run()
    file, section, left = "", "", 0
    broken: list[Failure] = []
    said: dict[tuple[str, str], list[str]] = {}
    for line in raw.output.splitlines():
        if match := _BINARY.match(line):
            file, section = raw.relative(match["file"]) if match["file"] else "", ""
        elif match := _TEST.match(line):
            run.tests.append(_test(file, match["name"], raw, _ENDS[match["end"]]))
        elif raw.action == "discover" and (match := _LISTED.match(line)):
            run.tests.append(_test(file, match["name"], raw))
        elif match := _SECTION.match(line):
            section = match["name"]
        elif match := _COUNT.match(line):
            left = len(run.tests) + int(match["count"])
        elif match := _TOTAL.match(line):
            run.deselected += int(match["out"])
            run.ended, section, left = True, "", 0
        elif left and (match := _BROKEN.match(line)):
            why = f"Its program ended ({match['how']}) with {left - len(run.tests)} tests not over."
            broken.append(Failure(file, file, None, "error", why))
            run.ended, left = True, 0
        elif section and not _NOTE.match(line):
            said.setdefault((file, section), []).append(line)
        else:
            section = ""
    run.failures = [_failure(file, name, lines, raw) for (file, name), lines in said.items()] + broken
    run.ended = (run.ended and not left) or raw.action == "discover"
    run.found = len(run.tests)
    return run


def _test(file: str, name: str, raw: Raw, outcome: Outcome = "passed") -> Case:
    """A test of a binary that was built from this file, or without one an example in a comment."""
    if file or not (doc := _DOC.fullmatch(name)):
        return Case(identity(file, name), file, None, outcome)
    path = raw.relative(doc["file"])
    return Case(identity(path, f"{doc['item']} (line {doc['line']})".strip()), path, int(doc["line"]), outcome)


def _failure(file: str, name: str, lines: list[str], raw: Raw) -> Failure:
    test = _test(file, name, raw)
    at = next(((index, match) for index, line in enumerate(lines) if (match := _PANIC.match(line))), None)
    if at is None:
        return Failure(test.id, test.path, test.line, "failed", "\n".join(lines).strip())
    index, match = at
    message = "\n".join([match["old"] or "", *lines[index + 1 :]]).strip()
    path, line = raw.relative(match["file"]), int(match["line"])
    printed = "\n".join(lines[:index]).strip()
    return Failure(test.id, path, line, "failed", message, [Frame(path, line)], printed)
