"""Try several commands, each in a copy of the workspace, and keep the one that passes a check."""

from __future__ import annotations

from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.forks.attempts import Attempts, run_attempts
from toolroll.schema import Field
from toolroll.tool import Effect, tool


@tool(Effect.SHELL, rare=True, holds=True)
def attempt(
    ctx: Context,
    candidates: Annotated[list[str], Field(min_length=1, max_length=8), "Commands, each tried in a copy of its own."],
    check: Annotated[str, "Command that judges each copy: exit code 0 passes."],
    merge: Annotated[bool, "Merge the first that passes; else all that pass are held for `commit`."] = True,
    timeout: Annotated[float, Field(ge=0.1, le=600), "Seconds for each command."] = 120,
) -> Attempts:
    """Try several commands side by side, each in a copy of the workspace, judged by a check. Only one lands."""
    return run_attempts(ctx, candidates, check, merge=merge, seconds=timeout)
