"""Render profiler figures as short tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SAID = 1_000  # characters of what a program that failed has printed
_LIBRARY = re.compile(r".*/(?:site|dist)-packages/(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HotFunction:
    """A function and the time spent in it."""

    function: str
    file: str
    """Relative to the workspace; empty for what is built in."""
    line: int
    calls: int
    own: float
    """Seconds, without what it calls."""
    total: float
    """Seconds, with what it calls."""


@dataclass(frozen=True, slots=True)
class Hotspots:
    """Where the time goes, by function."""

    seconds: float
    calls: int
    functions: int
    rows: list[HotFunction]
    note: str = ""

    def __str__(self) -> str:
        head = f"{self.seconds:.3f} s under the profiler, {self.calls} calls of {self.functions} functions"
        rows = (
            f"{one.calls:>9}  {one.own:>8.3f}  {one.total:>8.3f}  {_where(one.file, one.line)}{one.function}"
            for one in self.rows
        )
        return "\n".join([head, f"{'calls':>9}  {'own s':>8}  {'total s':>8}  function", *rows])


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one loop takes, in seconds, over several runs."""

    best: float
    median: float
    worst: float
    deviation: float
    runs: list[float]
    number: int
    note: str = ""

    def __str__(self) -> str:
        spread = (self.worst - self.best) / self.best * 100 if self.best else 0.0
        return (
            f"best {span(self.best)}, median {span(self.median)}, worst {span(self.worst)} a loop "
            f"(spread {spread:.0f} %, standard deviation {span(self.deviation)}; "
            f"{len(self.runs)} runs of {self.number} loops)"
        )


@dataclass(frozen=True, slots=True)
class AllocationSite:
    """A line of code and what it has allocated that is still there."""

    file: str
    line: int
    bytes: int
    blocks: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryProfile:
    """What a program allocates: at most, and in the end by line."""

    peak: int
    held: int
    rows: list[AllocationSite]
    note: str = ""

    def __str__(self) -> str:
        rows = (
            f"{size(one.bytes):>10}  {one.blocks:>7} blocks  {_where(one.file, one.line)}{one.text}"
            for one in self.rows
        )
        return "\n".join([f"peak {size(self.peak)}, held in the end {size(self.held)}, by line:", *rows])


def figures(printed: str, mark: str) -> dict[str, Any] | None:
    """The figures that our driver printed last; None if it did not get that far."""
    at = printed.rfind(mark)
    if at < 0:
        return None
    try:
        found = json.loads(printed[at + len(mark) :].partition("\n")[0])
    except ValueError:
        return None
    return {**found, "printed": printed[:at].strip()[-_SAID:]} if isinstance(found, dict) else None


def hotspots(report: Mapping[str, Any], workspace: str) -> Hotspots:
    """The figures as a table."""
    rows = [
        HotFunction(
            row["function"], *_place(row, workspace), row["calls"], round(row["own"], 6), round(row["total"], 6)
        )
        for row in report["rows"]
    ]
    return Hotspots(round(report["seconds"], 6), report["calls"], report["functions"], rows, _ended(report))


def timing(report: Mapping[str, Any]) -> Timing | None:
    """The figures in one line; None when not one run came to its end."""
    from statistics import median, stdev

    runs: Sequence[float] = report["runs"]
    if not runs:
        return None
    deviation = stdev(runs) if len(runs) > 1 else 0.0
    noisy = max(runs) > 2 * min(runs)
    note = "(The runs differ much: trust the best one, or raise `repeat`.)" if noisy else ""
    return Timing(min(runs), median(runs), max(runs), deviation, list(runs), report["number"], note)


def memory(report: Mapping[str, Any], workspace: str) -> MemoryProfile:
    """The figures as a table."""
    rows = [
        AllocationSite(*_place(one, workspace), one["bytes"], one["blocks"], one["text"][:80]) for one in report["rows"]
    ]
    return MemoryProfile(report["peak"], report["held"], rows, _ended(report))


def span(seconds: float) -> str:
    """A time with the unit that suits it."""
    for unit, least in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= least:
            return f"{seconds / least:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def size(count: int) -> str:
    """A number of bytes with the unit that suits it."""
    for unit, least in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count} B"


def _ended(report: Mapping[str, Any]) -> str:
    code = report.get("exit")
    return f"(The program ended itself with exit code {code}.)\n{report.get('printed', '')}".rstrip() if code else ""


def _place(row: Mapping[str, Any], workspace: str) -> tuple[str, int]:
    """A file as it is best known: in the workspace, in a library, or by its last names."""
    file: str = row["file"]
    if file == "~":
        return "", 0
    inside, library = file.removeprefix(f"{workspace}/"), _LIBRARY.search(file)
    if inside == file and library:
        inside = library[1]
    elif inside.startswith("/"):
        inside = "/".join(inside.rsplit("/", 2)[-2:])
    return inside, row["line"]


def _where(file: str, line: int) -> str:
    return f"{file}:{line} " if file else ""
