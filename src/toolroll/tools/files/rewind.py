"""Take files back to a point of the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from toolroll.host.context import Context
from toolroll.host.files.journal.undone import RestoredFile, finish_undo
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.text.files.changes import change_rows, describe_changes
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Rewound:
    """The entries that were undone, newest first, what that changed, and the entry to rewind to for the way back."""

    to: str
    entries: list[int]
    back: int
    changes: list[dict[str, Any]]
    changed: str
    """The changes in one line."""
    files: list[RestoredFile]
    note: str = ""

    def __str__(self) -> str:
        if not self.entries:
            return f"Nothing to take back: no change was recorded since {self.to!r}."
        head = (
            f"Rewound to {self.to!r}, {counted(len(self.entries), 'change')} undone. `rewind` to {self.back} goes back."
        )
        return "\n".join([head, self.changed, *(f"{one.path}\n{one.diff}" for one in self.files)])


@tool(Effect.READ | Effect.WRITE | Effect.DELETE, rare=True)
def rewind(
    ctx: Context,
    to: Annotated[str, Field(min_length=1), "A checkpoint's name, or the number of a journal entry."],
    partial: Annotated[bool, "Leave alone what is not kept."] = False,
) -> Rewound:
    """Restore all files to a checkpoint, or to how they were after a journal entry; 0 is before the first.

    Refuses, with a list, if others changed some of them since or the old content of some is not kept.
    """
    recorder = ctx.files.recorder
    if recorder is None:
        raise ToolError(ErrorCode.UNSUPPORTED, "A rewind is itself recorded: call it through the kit.")
    chosen, last = ctx.journal.rewind(to, recorder, partial=partial)
    undone = finish_undo(chosen, ctx.files, ctx.journal)
    changes = [change for change, _ in ctx.journal.describe(recorder.changes)]
    shown = change_rows(changes), describe_changes(changes)
    return Rewound(to, undone.entries, last, *shown, undone.files, undone.note)
