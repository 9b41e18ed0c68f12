"""Change a cell of a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toolroll.host.context import Context
from toolroll.schema import FilePath
from toolroll.text import notebook
from toolroll.tool import Effect, tool


@dataclass(frozen=True, slots=True)
class EditedCell:
    """The cell that was changed, with its source before and after."""

    path: str
    mode: notebook.CellChange
    cell: str
    type: str
    language: str
    source: str
    old: str | None

    def __str__(self) -> str:
        done = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}[self.mode]
        return f"{done} {self.type} cell {self.cell} of {self.path}."


@tool(Effect.READ | Effect.WRITE, rare=True)
def notebook_edit(
    ctx: Context,
    path: Annotated[FilePath, "Notebook (.ipynb)."],
    source: Annotated[str, "New source of the cell; empty to delete."],
    cell: Annotated[str | None, "Id of the cell, or its number from 1; insert puts the new one behind it."] = None,
    type: Annotated[notebook.CellType | None, "Of the cell; insert needs it."] = None,
    mode: Annotated[notebook.CellChange, "What to do with the cell."] = "replace",
) -> EditedCell:
    """Replace, insert or delete a cell of a Jupyter notebook. A changed cell loses its outputs."""
    draft = ctx.files.draft(path)
    made = notebook.change_cell(draft.text, mode, cell, source, type)
    change = ctx.files.save(draft, made.text)
    return EditedCell(change.path, mode, made.id, made.type, made.language, source, made.old)
