"""Take back what tools changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.files.workspace import JUDGED
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field, FilePath
from toolroll.tool import Effect, tool

_NAMED = 10  # paths that a note lists


@dataclass(frozen=True, slots=True)
class RestoredFile:
    """What was put back in one file."""

    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class Undone:
    """The entries of the journal that were undone, newest first, and the paths they had touched."""

    entries: list[int]
    tools: list[str]
    paths: list[str]
    files: list[RestoredFile] = field(default_factory=list)
    """Those that have another content now."""
    note: str = ""
    """Where files do not parse any more."""

    def __str__(self) -> str:
        what = ", ".join(f"{tool} (entry {number})" for number, tool in zip(self.entries, self.tools, strict=True))
        head = f"Undone: {what}. Put back: {', '.join(self.paths)}."
        return "\n".join([head, *(f"{one.path}\n{one.diff}" for one in self.files)])


@tool(Effect.READ | Effect.WRITE | Effect.DELETE, rare=True)
def undo(
    ctx: Context,
    path: Annotated[FilePath | None, "Only changes of this file or folder."] = None,
    steps: Annotated[int, Field(ge=1, le=100), "How many changes to undo."] = 1,
    *,
    call: Annotated[int | None, "The number of one entry of the journal."] = None,
    once: Annotated[bool, "Only the last change: after an undo there is nothing to undo until the next."] = False,
) -> Undone:
    """Undo the last changes that tools made, byte for byte. Refuses if a file was changed by others since."""
    recorder = ctx.files.recorder
    if recorder is None:
        raise ToolError(ErrorCode.UNSUPPORTED, "An undo is itself recorded: call it through the kit.")
    real = "/".join(ctx.files.key(path)) if path is not None else None
    last = next((one for one in reversed(ctx.journal.entries()) if real in one.paths()), None) if once else None
    if last is not None and last.undoes:
        raise ToolError(
            ErrorCode.NOT_FOUND, f"There is nothing to undo: the last change of {path!r} is undone already."
        )
    chosen = ctx.journal.choose(steps, real, call)
    for entry in chosen:
        ctx.journal.undo(entry, recorder)
    paths = list(dict.fromkeys(one for entry in chosen for one in entry.paths()))
    for one in paths:
        ctx.files.records.forget(one)
    changes = ctx.files.rewritten()
    return Undone(
        [entry.number for entry in chosen],
        [entry.tool for entry in chosen],
        paths,
        [RestoredFile(change.path, shown) for change in changes if (shown := change.diff())],
        "\n".join([*(said for change in changes[:JUDGED] if (said := change.verdict)), *_name_lost(recorder.lost)]),
    )


def _name_lost(paths: list[str]) -> list[str]:
    named = ", ".join(map(repr, paths[:_NAMED])) + (f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else "")
    return [f"Not put back, because the contents were not kept: {named}."] if paths else []
