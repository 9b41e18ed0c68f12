"""Save a checkpoint of the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.schema import Field
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A point of the journal with a name."""

    name: str
    entry: int
    before: int | None = None
    """The last one of the same name."""

    def __str__(self) -> str:
        again = f" The name was used before, at entry {self.before}: `rewind` by the name goes to the new one."
        said = f"Checkpoint {self.name!r} is entry {self.entry} of the journal. `rewind` takes files back to it."
        return said + again * (self.before is not None)


@tool(Effect.STATE, rare=True)
def checkpoint(
    ctx: Context,
    name: Annotated[str, Field(min_length=1, max_length=100), "Its name, for `rewind`."],
) -> Checkpoint:
    """Save a checkpoint of the files under a name; `rewind` goes back to it."""
    before = ctx.journal.find_mark(name)
    return Checkpoint(name, ctx.journal.mark(name, ctx.session, ctx.message).number, before)
