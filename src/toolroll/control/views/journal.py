"""The journal of a kit: its entries with their diffs, undo, rewind, checkpoints, and who wrote each line of a file."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from toolroll.control.views.files import show_files
from toolroll.host.files.journal.effects import describe_effects, net_effects
from toolroll.host.files.journal.entry import JournalEntry
from toolroll.host.files.journal.log import undone_numbers
from toolroll.host.files.journal.points import CHECKPOINT, reverse_changes
from toolroll.host.knowledge.timeline import describe_note
from toolroll.kit import Kit
from toolroll.result import ErrorCode, Result, ToolError

_BY = "console"
"""The message of entries that are made from here."""
_MAX_PATHS = 20  # of an entry in the list
_MAX_LINES, _MAX_LINE_CHARS = 5_000, 500
Limit = Annotated[int, Meta(ge=1, le=500)]


def list_entries(kit: Kit, before: int | None = None, limit: Limit = 100) -> dict[str, Any]:
    """The entries, newest first: the last ones, or those before a number."""
    entries = kit.journal.entries()
    gone = undone_numbers(entries)
    older = [one for one in reversed(entries) if before is None or one.number < before]
    return {"entries": [_row(one, one.number in gone) for one in older[:limit]], "more": len(older) > limit}


def _row(entry: JournalEntry, undone: bool) -> dict[str, Any]:
    paths = entry.paths()
    return {
        "number": entry.number,
        "tool": entry.tool,
        "session": entry.session,
        "message": entry.message,
        "time": entry.time,
        "said": describe_note(entry),
        "paths": paths[:_MAX_PATHS],
        "total": len(paths),
        "undone": undone,
        "checkpoint": entry.note.get(CHECKPOINT),
        "undo": bool(entry.undoes),
        "undoes": list(entry.undoes),
    }


def show_entry(kit: Kit, number: int) -> dict[str, Any]:
    """The files that an entry changed, each with its diff."""
    found = next((one for one in kit.journal.entries() if one.number == number), None)
    if found is None:
        raise ToolError(ErrorCode.NOT_FOUND, f"The journal has no entry {number}.")
    return show_files(describe_effects(net_effects(found.changes), kit.journal.content))


def undo(kit: Kit, number: int) -> dict[str, Any]:
    """Undo one entry."""
    return _answer(kit.undo(entry=number, message=_BY))


def rewind(kit: Kit, to: str | int) -> dict[str, Any]:
    """Take all files back to a checkpoint, or to how they were after an entry."""
    return _answer(kit.rewind(to, message=_BY))


def checkpoint(kit: Kit, name: str) -> dict[str, Any]:
    """Name the present state of the files."""
    return _answer(kit.checkpoint(name, message=_BY))


def _answer(result: Result) -> dict[str, Any]:
    return {"ok": result.ok, "text": result.text}


def preview_rewind(kit: Kit, to: str | int) -> dict[str, Any]:
    """What a rewind would change, which entries it would undo, and why it would refuse, if it would."""
    chosen, refused = kit.journal.preview_rewind(str(to))
    effects = net_effects(reverse_changes(chosen))
    shown = show_files(describe_effects(effects, kit.journal.content))
    return {**shown, "entries": [one.number for one in chosen], "refused": refused[:_MAX_PATHS]}


def blame(kit: Kit, path: str) -> dict[str, Any]:
    """The lines of a file, each with the number of the entry that wrote it: 0 is before the journal, -1 is others."""
    file = kit.context().files.peek(path)
    lines = kit.journal.blame(file.path, file.data, file.encoding.codec)
    shown = [
        {"line": at, "number": number, "text": text.rstrip("\r\n")[:_MAX_LINE_CHARS]}
        for at, (number, text) in enumerate(lines[:_MAX_LINES], 1)
    ]
    return {"lines": shown, "more": len(lines) > _MAX_LINES}
