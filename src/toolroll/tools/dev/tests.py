"""Find, run and measure tests."""
# ruff: noqa: PT028 - it is called `tests`, and is none

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from toolroll.host.context import Context
from toolroll.result import CouldNotLookError, ErrorCode, Suggestion, ToolError, asking
from toolroll.schema import Field
from toolroll.text.dev.tests import results
from toolroll.text.dev.tests.model import Action, Run
from toolroll.text.dev.tests.results import DiscoveredTests, Tested
from toolroll.text.truncate import bound
from toolroll.tool import Effect, tool

if TYPE_CHECKING:
    from toolroll.host.dev.tests import Project, TestRun
    from toolroll.host.shell.command_result import CommandResult

Name = Literal["auto", "pytest", "unittest", "jest", "vitest", "node", "go", "cargo"]

_MAX_OUTPUT_CHARS = 3_000  # characters of the output of a run that could not be understood
_USAGE_ERROR = 4  # what pytest says of a target that it does not know
_USAGE = re.compile(r"^(ERROR: |not found: ).*", re.M | re.S)
_STOPPED = (2, 3)  # what pytest says when it was interrupted, and when it failed itself
_DISCOVER = Suggestion("tests", {"action": "discover"})


@tool(Effect.SHELL, asks=("the test runner", "the project"))
def tests(
    ctx: Context,
    action: Annotated[Action, "What to do."] = "run",
    path: Annotated[str, "File, folder, file::test."] = "",
    keyword: Annotated[str, "As for pytest -k."] = "",
    affected: Annotated[bool, "Only what uncommitted changes affect."] = False,
    timeout: Annotated[float, Field(ge=0, le=3600), "Seconds; 0: 120."] = 0,
    framework: Annotated[Name, "Found by itself."] = "auto",
    *,
    verbose: Annotated[bool, "List the tests that passed too."] = False,
) -> DiscoveredTests | Tested:
    """Discover or run tests, or measure coverage: counts, failures with their places, slowest tests."""
    from toolroll.host.dev import tests as test_runs
    from toolroll.host.shell.command_result import build_result
    from toolroll.host.shell.interpreter import name_python

    place, _, name = path.partition("::")
    projects = ctx.projects
    project = test_runs.find(projects, place or ".", framework)
    if action == "coverage" and not project.framework.covers:
        why = f"Coverage of {project.framework.name} is not measured here. Use a tool for it with `bash`."
        raise ToolError(ErrorCode.UNSUPPORTED, why)
    chosen = test_runs.ChosenTests(_targets(ctx, project.folder, place, name))
    if affected:
        chosen = test_runs.choose(projects, project, chosen.targets)
        if chosen.nothing:
            return results.report(test_runs.empty_run(project), 0.0, chosen.note, whole=True, verbose=False)
    notes = [*filter(None, [project.note, chosen.note])]
    if action == "discover" and project.framework.files:
        return results.found(test_runs.list_titles(projects, project, chosen, keyword), "\n".join(notes))
    done = test_runs.run(projects, project, action, chosen, keyword, timeout or ctx.limits.test_seconds)
    ended = build_result(done.ran, _MAX_OUTPUT_CHARS, "tail")
    if chosen.changed and done.run.ended and not (done.run.tests or done.run.failures or done.run.deselected):
        note = f"{chosen.note} There is no such test."
        return results.report(done.run, ended.seconds, note, whole=True, verbose=False)
    _check(done, ended, project, keyword, name)
    if done.run.touched:
        test_runs.store_reached(projects, done.run.touched)
    notes += _notes(done.run, ended)
    which = name_python(done.output, done.program, ctx.shell.environment)
    notes += filter(None, [test_runs.explain_failures(done), which])
    if action == "discover":
        return results.found(done.run, "\n".join(notes))
    whole = ended.outcome == "exited" and done.run.ended and done.run.status not in _STOPPED
    return results.report(done.run, ended.seconds, "\n".join(notes), whole=whole, verbose=verbose)


def _targets(ctx: Context, folder: str, place: str, name: str) -> tuple[tuple[str, str], ...]:
    """The path that was given, as the framework sees it from its folder."""
    where = "/".join(ctx.files.key(place)) if place else ""
    inner = where if folder == "." else where.removeprefix(folder).removeprefix("/")
    return ((inner or ".", name),) if inner or name else ()


def _check(done: TestRun, ended: CommandResult, project: Project, keyword: str, name: str) -> None:
    """Raise ToolError when the run reports no tests at all."""
    run = done.run
    if (run.tests or run.failures) and not run.missing:
        return
    with asking(run.engine):
        ended.checked()
    if run.status == _USAGE_ERROR or not (run.ended or run.missing):
        usage = _USAGE.search(ended.output) if run.status == _USAGE_ERROR else None
        said = usage[0].partition("\n\n")[0].strip() if usage else str(ended)
        if usage and name and "not found: " in said:
            message = f"There is no test {name!r} there. Discover them to see their names."
            raise ToolError(ErrorCode.NOT_FOUND, message, suggest=(_DISCOVER,))
        message = f"The tests could not be run. {said}"
        if run.status == _USAGE_ERROR:
            raise ToolError(ErrorCode.VALIDATION, message, suggest=(_DISCOVER,))
        raise CouldNotLookError(run.engine, said, message=message, suggest=(_DISCOVER,))
    wanted = keyword or name
    if run.deselected:
        raise ToolError(
            ErrorCode.NOT_FOUND,
            f"None of the {run.deselected} tests fits {wanted!r}. Discover them to see their names.",
            suggest=(_DISCOVER,),
        )
    if run.missing or (run.framework.startswith("unittest") and project.asked == "auto"):
        package = run.missing or "pytest"
        lacks = f"The project's Python has no {package}" + ("" if run.missing else ", and unittest finds no tests")
        add = f"{done.program} -m pip install {package}"
        message = f"{lacks}. Ask the user to add it: {add}"
        raise CouldNotLookError("pytest", f"{lacks}.", message=message, code=ErrorCode.UNSUPPORTED)
    fits = f" whose name fits {wanted!r}" if wanted else ""
    raise ToolError(ErrorCode.NOT_FOUND, f"No tests{fits} found in {project.folder!r} by {run.framework}.")


def _notes(run: Run, ended: CommandResult) -> list[str]:
    """What else there is to know of a run."""
    notes = [f"{run.deselected} deselected."] if run.deselected else []
    if ended.outcome != "exited" or not run.ended:
        at = f" while {run.running} was running" if run.running else ""
        of = f" of {run.found}" if run.found else ""
        how = f" ({ended.ending.rstrip('.')})" if ended.ending else ""
        notes.append(f"The run ended early{how}{at}: {len(run.tests)}{of} tests were over.")
    elif run.found and len(run.tests) < run.found:
        notes.append(f"{len(run.tests)} of {run.found} tests ran.")
    elif ended.exit_code and not run.failures:
        notes.append(f"The run itself failed ({ended.ending}):\n{bound(ended.output.strip(), 800, 'tail').text}")
    return notes
