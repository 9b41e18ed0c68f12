"""Results of the `tests` tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from toolroll.result import Status
from toolroll.text.lines import counted
from toolroll.text.names import show_names

if TYPE_CHECKING:
    from toolroll.text.dev.tests.model import Case, Covered, Failure, Run

_SLOWEST = 5
_LISTED = 500


@dataclass(frozen=True, slots=True)
class DiscoveredTests:
    """The tests that were found."""

    tests: list[Case]
    total: int
    failures: list[Failure]
    """Files that could not be loaded."""
    framework: str
    note: str = ""
    status: Status = "success"
    whole: Callable[[], str] | None = None

    def __str__(self) -> str:
        from toolroll.text.dev.tests import show

        files = len({one.path for one in self.tests})
        head = f"{counted(self.total, 'test')} in {counted(files, 'file')} ({self.framework})"
        return "\n".join(filter(None, [head, show.failures(self.failures), show.listed(self.tests, _LISTED)]))


@dataclass(frozen=True, slots=True)
class Tested:
    """How the tests ended. `failures` says why, with a place to look at for each."""

    framework: str
    passed: int
    failed: int
    errors: int
    skipped: int
    xfailed: int
    total: int
    seconds: float
    failures: list[Failure]
    slowest: list[Case]
    coverage: list[Covered] | None = None
    covered: float | None = None
    tests: list[Case] | None = None
    """Every test, when that was asked for."""
    note: str = ""
    status: Status = "success"
    engine: str = ""

    @property
    def meta(self) -> dict[str, int]:
        return {"exit_code": 1} if self.failed or self.errors or self.status != "success" else {}

    def __str__(self) -> str:
        from toolroll.text.dev.tests import show

        ended = show.counts(self.passed, self.failed, self.errors, self.skipped, self.xfailed)
        lines = [f"{ended} in {self.seconds:.2f} s ({self.framework})"]
        lines += [show.failures(self.failures)] if self.failures else []
        if self.coverage is not None:
            lines += [f"Coverage {int(self.covered or 0)}% ({self.engine})", show.coverage(self.coverage)]
        lines += [show.slowest(self.slowest), show.outcomes(self.tests) if self.tests else ""]
        return "\n".join(filter(None, lines))


def found(run: Run, note: str) -> DiscoveredTests:
    """The result of a run that only lists tests."""
    from toolroll.text.dev.tests import show

    whole = partial(show.listed, show_names(run.tests), len(run.tests)) if len(run.tests) > _LISTED else None
    return DiscoveredTests(run.tests, len(run.tests), run.failures, run.framework, note, "success", whole)


def report(run: Run, seconds: float, note: str, *, whole: bool, verbose: bool) -> Tested:
    """How a run ended; `whole` when it came to its own end."""
    from toolroll.text.dev.tests import show

    loading = sum(one.kind == "error" and not any(t.id == one.id for t in run.tests) for one in run.failures)
    slow = sorted(run.tests, key=lambda one: -one.seconds)[:_SLOWEST]
    tests_of = {one.path for one in run.tests} | {one.id for one in run.failures}
    files = run.coverage
    if files is not None:  # how much of the tests themselves ran is of no interest
        files = [one for one in files if one.path not in tests_of and not one.path.endswith("conftest.py")] or files
    return Tested(
        framework=run.framework,
        passed=run.count("passed"),
        failed=run.count("failed"),
        errors=run.count("error") + loading,
        skipped=run.count("skipped"),
        xfailed=run.count("xfailed"),
        total=len(run.tests) + loading,
        seconds=round(seconds, 2),
        failures=run.failures,
        slowest=[one for one in slow if one.seconds],
        coverage=files,
        covered=None if files is None else round(show.total(files), 1),
        tests=run.tests if verbose else None,
        note=note,
        status="success" if whole else "partial",
        engine=run.engine,
    )
