"""Run Python code."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.shell.command_launcher import SealedText
from toolroll.host.shell.command_result import CommandResult, On, build_result
from toolroll.policy.code import reads_stdin
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.shell import tracebacks
from toolroll.text.truncate import Keep
from toolroll.tool import Effect, tool


@tool(Effect.SHELL, rare=True)
def python(
    ctx: Context,
    code: Annotated[str, "The program."],
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds."] = 30,
    *,
    most: Annotated[int, "Characters of output to show."] = 30_000,
    keep: Annotated[Keep, "Which part of a long output is shown."] = "middle",
    on_failure: Annotated[On, "Whether an exit code other than 0 is an error."] = "say",
) -> CommandResult:
    """Run Python code in a fresh interpreter in the workspace, confined like `bash`."""
    if not code.strip():
        raise ToolError(ErrorCode.VALIDATION, "The `code` is empty. Give a program to run.")
    if reads_stdin(code):
        raise ToolError(
            ErrorCode.VALIDATION,
            "This code reads from standard input (stdin), and there is none: put the values into the code.",
        )

    interpreter = ctx.shell.python(ctx.files.where(".")[1])
    with SealedText(code, "<code>", main=True) as program:
        ran = ctx.shell.words(
            # -P keeps the script's own folder off the path; the workspace takes its place.
            [interpreter, "-P", program],
            cwd=ctx.cwd,
            seconds=timeout,
            # Write nothing into the workspace that was not asked for: no compiled files of what the code imports.
            extra={"PYTHONPATH": ctx.files.root.path, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    done = build_result(replace(ran, python=interpreter), most, keep)
    done = replace(done, output=tracebacks.compact(program.relabelled(done.output)))
    return done.checked(on_failure=on_failure)
