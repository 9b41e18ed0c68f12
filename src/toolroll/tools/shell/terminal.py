"""Run commands that only look."""

from __future__ import annotations

import shlex
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.shell.command_result import CommandResult, build_result
from toolroll.schema import Field
from toolroll.tool import Effect, tool


@tool(Effect.READ, rare=True)
def terminal(
    ctx: Context,
    command: Annotated[str, "ls, cat, head, tail, find, grep, wc, sort, awk, sed, du, git log and the like."],
    *,
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds."] = 30,
    most: Annotated[int, "Characters of output to show."] = 30_000,
) -> CommandResult:
    """Run shell commands that only read; anything else is refused. `cd` alone stays in force."""
    here = ctx.shell.entered(ctx.session)
    if (target := _moved(command)) is not None:
        ctx.shell.authorise_look(command, here)
        ctx.shell.enter(ctx.session, target if target.startswith("/") else f"{here}/{target}")
        here, command = ctx.shell.entered(ctx.session), "pwd"
    ran = ctx.shell.look(command, cwd=here, seconds=timeout)
    return build_result(ran, most).checked()


def _moved(command: str) -> str | None:
    """Where a command that is nothing but a `cd` goes."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    plain = not set(command) & set("$`*?[;&|<>(){}\n")
    return words[-1] if plain and words[:1] == ["cd"] and len(words) == 2 else None
