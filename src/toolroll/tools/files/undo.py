"""Take back what tools changed."""

from __future__ import annotations

from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.files.journal.undone import Undone, finish_undo
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field, FilePath
from toolroll.tool import Effect, tool


@tool(Effect.READ | Effect.WRITE | Effect.DELETE, rare=True)
def undo(
    ctx: Context,
    path: Annotated[FilePath | None, "Only changes of this file or folder."] = None,
    steps: Annotated[int, Field(ge=1, le=100), "How many changes to undo."] = 1,
    entry: Annotated[
        int | None, Field(ge=1), "Only this entry of the journal; that of an undo takes the undo back."
    ] = None,
    *,
    redo: Annotated[bool, "Take back the last undo."] = False,
    once: Annotated[bool, "Only the last change: after an undo there is nothing to undo until the next."] = False,
) -> Undone:
    """Undo the last changes that tools made, byte for byte. Refuses if a file was changed by others since.

    `redo` takes the last undo back.
    """
    recorder = ctx.files.recorder
    if recorder is None:
        raise ToolError(ErrorCode.UNSUPPORTED, "An undo is itself recorded: call it through the kit.")
    real = "/".join(ctx.files.key(path)) if path is not None else None
    ctx.journal.catch_up()
    recorder.take_turn()  # so that no other call undoes the same
    last = next((one for one in reversed(ctx.journal.entries()) if real in one.paths()), None) if once else None
    if last is not None and last.undoes:
        raise ToolError(
            ErrorCode.NOT_FOUND, f"There is nothing to undo: the last change of {path!r} is undone already."
        )
    chosen = ctx.journal.choose(steps, real, ctx.journal.last_undo() if redo else entry)
    for one in chosen:
        ctx.journal.undo(one, recorder)
    return finish_undo(chosen, ctx.files, ctx.journal)
