"""Take files back to a point of the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.host.files.journal.undone import Undone, describe_undone
from toolroll.result import ErrorCode, ToolError
from toolroll.schema import Field
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Rewound:
    """What was undone, and the entry to rewind to in order to bring it back."""

    to: str
    undone: Undone
    back: int
    note: str = ""

    def __str__(self) -> str:
        if not self.undone.entries:
            return f"Nothing to take back: no change was recorded since {self.to!r}."
        return f"Rewound to {self.to!r}; `rewind` to {self.back} brings it back.\n{self.undone}"


@tool(Effect.READ | Effect.WRITE | Effect.DELETE, rare=True)
def rewind(
    ctx: Context,
    to: Annotated[str, Field(min_length=1), "A checkpoint's name, or the number of a journal entry."],
) -> Rewound:
    """Take all files back to a checkpoint, or to how they were after a journal entry; 0 is before the first.

    Refuses, with a list, if others changed some of them since.
    """
    recorder = ctx.files.recorder
    if recorder is None:
        raise ToolError(ErrorCode.UNSUPPORTED, "A rewind is itself recorded: call it through the kit.")
    chosen, last = ctx.journal.rewind(to, recorder)
    undone = describe_undone(chosen, ctx.files)
    return Rewound(to, undone, last, undone.note)
