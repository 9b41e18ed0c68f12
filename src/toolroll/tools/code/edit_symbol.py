"""Edit code by symbol."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from toolroll.host.code.symbol_edits import Action, SymbolChange, SymbolEditor
from toolroll.host.code.symbol_lookup import SymbolLookup
from toolroll.host.context import Context
from toolroll.host.files.reader import TextFile
from toolroll.result import ErrorCode, Looked, ToolError
from toolroll.schema import Field, FilePath
from toolroll.text import diff
from toolroll.text.lines import counted
from toolroll.tool import Effect, tool

_DONE: dict[Action, str] = {"move": "moved", "delete": "deleted"}  # what is checked for new errors


@dataclass(frozen=True, slots=True)
class SymbolFileDiff:
    """What changes in one file."""

    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class EditedSymbol:
    """The files that an edit of a symbol has changed, or would."""

    symbol: str
    action: Action
    files: list[SymbolFileDiff]
    preview: bool
    note: str
    looked: Looked | None = field(default=None, compare=False)

    def __str__(self) -> str:
        done = "Would do" if self.preview else "Done"
        head = f"{done}: {self.action.replace('_', ' ')} {self.symbol}."
        return "\n".join([head, *(f"{one.path}\n{one.diff}" for one in self.files)])


@tool(Effect.READ | Effect.WRITE, rare=True)
def edit_symbol(
    ctx: Context,
    action: Annotated[Action, "What to do; a move takes the imports along, only what is unused is deleted."],
    symbol: Annotated[str | None, Field(min_length=1, max_length=500), "Definition, such as Parser.parse."] = None,
    path: Annotated[FilePath | None, "File or folder that has it."] = None,
    line: Annotated[int | None, Field(ge=1), "A line of the file that has it."] = None,
    text: Annotated[str | None, "New code: for replace the whole definition."] = None,
    to: Annotated[FilePath | None, "File to move it to."] = None,
    *,
    preview: Annotated[bool, "Show what would change, and change nothing."] = False,
) -> EditedSymbol:
    """Replace, move or delete a definition, or insert code beside it. All files change, or none."""
    lookup = ctx.lookup
    target = lookup.locate("edit_symbol", symbol, path, line, None, action=action, text=text, to=to)
    found = lookup.define(target)
    if not found:
        raise ToolError(ErrorCode.NOT_FOUND, f"There is no definition of {target.name!r} in the workspace.")
    change = SymbolEditor(lookup).plan(action, found[0], text, to)
    files = [SymbolFileDiff(one, diff.unified(*texts)) for one, texts in change.texts.items()]
    notes = change.notes if preview else [*change.notes, *_save(ctx, lookup, action, change)]
    looked = lookup.looked(counted(len(change.users), "file"))
    return EditedSymbol(found[0].tag.path, action, files, preview, "\n".join(notes), looked)


def _save(ctx: Context, lookup: SymbolLookup, action: Action, change: SymbolChange) -> list[str]:
    """Write all files, unless a move or deletion causes errors; the notes about them."""
    files, texts = ctx.files.at("."), change.texts
    drafts: list[tuple[TextFile, str, dict[str, Any]]] = []
    new = [path for path, (old, _) in texts.items() if not old and not ctx.tree.exists(path)]
    for path, (old, made) in texts.items():
        if path not in new:
            drafts.append((files.draft(path), made, {}))
            if drafts[-1][0].text != old:
                raise ToolError(ErrorCode.CONFLICT, f"{path!r} was changed meanwhile. Nothing was done: do it again.")
    check = partial(lookup.check_changes, texts, {}, change.users)
    notes = check(_DONE[action]) if action in _DONE and not new else []
    for path in new:
        files.write(path, texts[path][1], overwrite=False)
    said = files.save_all(drafts)
    if new:  # servers see no file that is not there; a call that fails or is killed is taken back whole
        notes = check(_DONE[action])
    return [*notes, *said]
