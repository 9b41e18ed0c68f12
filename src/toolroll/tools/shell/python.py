"""Run Python code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.shell.command_launcher import SealedText, Word
from toolroll.host.shell.command_result import CommandResult, CommandRun, On, build_result
from toolroll.host.shell.interpreter import name_python
from toolroll.policy.code import reads_stdin
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.shell import tracebacks
from toolroll.text.truncate import Keep
from toolroll.tool import Effect, tool

_USAGE_ERROR, _UNKNOWN_OPTION = 2, "nknown option: -P"


@tool(Effect.SHELL, rare=True)
def python(
    ctx: Context,
    code: Annotated[str, "The program."],
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds."] = 30,
    *,
    most: Annotated[int, "Characters of output to show."] = 30_000,
    fresh: Annotated[bool, "Without the names that earlier programs have left."] = False,
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

    if ctx.call.is_inner:
        raise ToolError(ErrorCode.UNSUPPORTED, "A program cannot call `python`. Put the code into the program.")

    interpreter = ctx.shell.python(ctx.files.where(".")[1])
    # Write nothing into the workspace that was not asked for: no compiled files of what the code imports.
    variables: dict[str, Word] = {"PYTHONPATH": ctx.files.root.path, "PYTHONDONTWRITEBYTECODE": "1"}
    calls = ctx.code_calls(fresh=fresh)
    with ExitStack() as stack:
        program = SealedText(code, "<code>", main=True) if calls is None else calls.program(code)
        stack.enter_context(program)
        if calls is not None:
            variables |= stack.enter_context(calls).variables(ctx.files.root.path)
        # -P keeps the script's own folder off the path; the workspace takes its place.
        ran = _run(ctx, [interpreter, "-P", program], timeout, variables)
        if ran.status == _USAGE_ERROR and _UNKNOWN_OPTION in ran.show(1000).text:  # before Python 3.11
            ran = _run(ctx, [interpreter, program], timeout, variables)
    done = build_result(replace(ran, python=interpreter), most, keep)
    acted = ""
    if calls is not None:
        meta = {**done.meta, **({"calls": dict(calls.made)} if calls.made else {})}
        done = replace(done, output=calls.relabelled(done.output), images=calls.images, meta=meta)
        acted = f"Until then it had called: {calls.describe()}." if calls.made and done.failed else ""
    done = replace(done, output=tracebacks.compact(program.relabelled(done.output)))
    said = (done.note, acted, name_python("", interpreter, ctx.shell.environment))
    note = "\n".join(filter(None, dict.fromkeys(said)))
    return replace(done, note=note).checked(on_failure=on_failure)


def _run(ctx: Context, argv: Sequence[Word], timeout: float, extra: Mapping[str, Word]) -> CommandRun:
    return ctx.shell.words(argv, cwd=ctx.cwd, seconds=timeout, extra=extra)
