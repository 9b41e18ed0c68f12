"""Render a test run as text: counts, every failure, then the rest within bounds."""

from __future__ import annotations

from collections.abc import Sequence

from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, numbers
from toolroll.text.truncate import bound

_DETAILED = 12_000  # characters for failures with their details; further ones get one line each
_LINES = 500  # of one part
_MESSAGE = 1_500
_PRINTED = 600
_NAMES = 2_000  # of tests that failed for one reason
_COVERED = 60


def counts(passed: int, failed: int, errors: int, skipped: int, xfailed: int) -> str:
    """How many tests ended how: what went wrong comes first."""
    named = (("failed", failed), ("errors", errors), ("passed", passed), ("skipped", skipped), ("xfailed", xfailed))
    said = [f"{count} {'error' if name == 'errors' and count == 1 else name}" for name, count in named if count]
    return ", ".join(said) or "0 passed"


def failures(found: Sequence[Failure]) -> str:
    """Every cause: in detail while there is room, and never less than its first line; with the names of all tests."""
    causes: dict[tuple[str, Frame | str], list[Failure]] = {}
    for one in found:  # a failed assertion whose place is not known may be another one
        place = one.trace[-1] if one.trace else "" if one.kind == "error" else one.id
        causes.setdefault((one.message, place), []).append(one)
    parts, room = [], _DETAILED
    for index, same in enumerate(causes.values()):
        text = _detailed(same[0]) + _others(same)
        if len(text) > room or index >= _LINES:
            rest = list(causes.values())[index:]
            parts.append("\n".join(_brief(each) for each in rest[:_LINES]))
            if len(rest) > _LINES:
                parts.append(f"[and {len(rest) - _LINES} more]")
            break
        room -= len(text)
        parts.append(text)
    return "\n\n".join(parts)


def _brief(same: Sequence[Failure]) -> str:
    first = same[0].message.partition("\n")[0][:200]
    return f"{same[0].kind.upper()} {same[0].id}: {first}{_others(same)}"


def _others(same: Sequence[Failure]) -> str:
    """A line with the names of further tests that failed for the same reason."""
    if len(same) == 1:
        return ""
    names = bound(", ".join(one.id for one in same[1:]), _NAMES, "head").text
    return f"\n  the same in {len(same) - 1} more: {names}"


def _detailed(one: Failure) -> str:
    place = f" ({one.path}:{one.line})" if one.line is not None and one.path else ""
    lines = [f"{one.kind.upper()} {one.id}{place}", _indented(bound(one.message, _MESSAGE, "middle").text)]
    lines += [f"    at {_frame(frame)}" for frame in one.trace]
    if one.output.strip():
        lines += ["    printed:", _indented(bound(one.output.strip(), _PRINTED, "tail").text, 6)]
    return "\n".join(lines)


def _frame(frame: Frame) -> str:
    where = f" in {frame.where}" if frame.where else ""
    return f"{frame.path}:{frame.line}{where}{f': {frame.code}' if frame.code else ''}"


def _indented(text: str, by: int = 2) -> str:
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.splitlines())


def slowest(tests: Sequence[Case]) -> str:
    """The tests that took longest, if any took long enough to speak of."""
    slow = [f"{one.id} {one.seconds:.2f} s" for one in tests if one.seconds >= 0.01]
    return f"Slowest: {'; '.join(slow)}" if slow else ""


def listed(tests: Sequence[Case], most: int = _LINES) -> str:
    """Names by file."""
    by_file: dict[str, list[str]] = {}
    for one in tests[:most]:
        by_file.setdefault(one.path, []).append(one.id.removeprefix(one.path).removeprefix("::"))
    lines = [line for path, names in by_file.items() for line in (path, *(f"  {name}" for name in names if name))]
    return "\n".join([*lines, *([f"[and {len(tests) - most} more]"] if len(tests) > most else [])])


def outcomes(tests: Sequence[Case], most: int = _LINES) -> str:
    """Every test that did not fail, with how it ended."""
    shown = [one for one in tests if one.outcome not in ("failed", "error")]
    lines = [f"{one.outcome.upper()} {one.id}" for one in shown[:most]]
    return "\n".join([*lines, *([f"[and {len(shown) - most} more]"] if len(shown) > most else [])])


def total(files: Sequence[Covered]) -> float:
    """The percentage of all statements that were reached."""
    statements = sum(one.statements for one in files)
    return 100.0 * (1 - sum(len(one.missing) for one in files) / statements) if statements else 100.0


def coverage(files: Sequence[Covered]) -> str:
    """A line for each file that is not reached entirely, the worst first, and one for the others."""
    partly = sorted((one for one in files if one.missing), key=lambda one: (one.percent, one.path))
    lines = [f"{int(one.percent):4d}%  {one.path}  missing {_few(one.missing)}" for one in partly[:_COVERED]]
    if len(partly) > _COVERED:
        lines.append(f"[and {len(partly) - _COVERED} more that are not covered entirely]")
    if whole := [one.path for one in files if not one.missing]:
        more = f" and {len(whole) - _COVERED} more" if len(whole) > _COVERED else ""
        lines.append(f" 100%  {', '.join(whole[:_COVERED])}{more}")
    return "\n".join(lines)


def _few(lines: list[int]) -> str:
    text = numbers(lines)
    return text if len(text) <= 120 else f"{text[:120].rpartition(',')[0]}, ..."
