"""Measure Python code."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from toolroll.host.context import Context
from toolroll.host.shell.command_launcher import SealedText
from toolroll.host.shell.command_result import build_result
from toolroll.result import CouldNotLookError, ErrorCode, ToolError, asking
from toolroll.schema import Field, FilePath
from toolroll.text.dev import profiles
from toolroll.text.dev.profiles import Hotspots, MemoryProfile, Timing
from toolroll.tool import Effect, tool

Action = Literal["hotspots", "time", "memory"]
Measurement = Hotspots | Timing | MemoryProfile

_TAIL_BYTES = 1_000_000  # bytes of the output in which the figures are looked for
_MAX_SHOWN_CHARS = 4_000
_GRACE_SECONDS = 3.0  # seconds in which a program that runs out of time can still tell its figures


@tool(Effect.SHELL, rare=True, asks=("the profiler", "the program"))
def profile(
    ctx: Context,
    action: Annotated[Action, "Time by function, time of a statement, or memory by line."],
    path: Annotated[FilePath | None, "Python file to run."] = None,
    code: Annotated[str | None, "Python code, instead of a file."] = None,
    setup: Annotated[str, "Code to run once before, for time."] = "pass",
    number: Annotated[int | None, Field(ge=1), "Loops a run, for time; chosen when left out."] = None,
    repeat: Annotated[int, Field(ge=1, le=1000), "Runs, for time."] = 5,
    top: Annotated[int, Field(ge=1, le=500), "Rows to show."] = 15,
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds."] = 60,
) -> Hotspots | Timing | MemoryProfile:
    """Run Python code in the workspace and measure it."""
    _check(action, path, code)
    import secrets

    from toolroll.host.dev.drivers import profile as driver_module

    mark = secrets.token_hex(16)
    given = {
        "action": action,
        "path": ctx.files.peek(path).path if path is not None else "",
        "code": code or "",
        "setup": setup,
        "number": number,
        "repeat": repeat,
        "top": top,
        "seconds": timeout,
        "workspace": ctx.files.root.path,
    }
    shell = ctx.shell
    with (
        SealedText(driver_module.source(), "<toolroll's profiler>", shown=False) as driver,
        SealedText(json.dumps(given), "<what to measure>") as asked,
    ):
        variables = {"PYTHONDONTWRITEBYTECODE": "1", driver_module.MARK: mark}
        ran = shell.words([shell.python(), driver, asked], seconds=timeout + _GRACE_SECONDS, extra=variables)
    output = ran.launched.running.output
    printed = output.read(max(0, output.total - _TAIL_BYTES), _TAIL_BYTES).decode("utf-8", "replace")
    report = profiles.figures(printed, mark)
    if report is None:
        with asking("Python"):
            done = build_result(ran, _MAX_SHOWN_CHARS, "tail").checked()
        message = f"The code ended Python before it could be measured.\n{done}"
        raise CouldNotLookError("Python", str(done), message=message)
    return _result(action, report, given["workspace"], timeout)


def _check(action: Action, path: str | None, code: str | None) -> None:
    if action == "time" and path is not None:
        raise ToolError(
            ErrorCode.VALIDATION,
            "The time is measured of `code`, not of a `path`: import what you want to time in `setup`.",
        )
    if (path is None) == (not code or not code.strip()):
        raise ToolError(ErrorCode.VALIDATION, "Give either the `path` of a Python file or some `code`.")


def _result(action: Action, report: dict[str, Any], workspace: Any, timeout: float) -> Measurement:
    """The figures, unless the code failed or took too long: then ToolError, with what is known."""
    if "error" in report:
        from toolroll.text.shell import tracebacks

        shown = tracebacks.compact(report["error"])[-_MAX_SHOWN_CHARS:].rstrip()
        raise ToolError(ErrorCode.EXECUTION, f"The code failed.\n{shown}")
    found: Measurement | None
    if action == "time":
        found = profiles.timing(report)
    else:
        found = (profiles.hotspots if action == "hotspots" else profiles.memory)(report, workspace)
    if report.get("stopped") or found is None:
        so_far = f" Until then:\n{found}" if found is not None else ""
        raise ToolError(
            ErrorCode.TIMEOUT,
            f"Still running after {timeout:g} s, and ended.{so_far or ' Give less to do, or a longer `timeout`.'}",
        )
    return found
