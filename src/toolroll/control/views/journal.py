"""The journal of a kit: its entries with their diffs, undo, rewind, checkpoints, and who wrote each line of a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from toolroll.control.views import check_digest, digest
from toolroll.control.views.files import show_files
from toolroll.host.approval.guard import run_changed
from toolroll.host.files.journal.effects import describe_effects, net_effects
from toolroll.host.files.journal.entry import JournalEntry
from toolroll.host.files.journal.log import undone_numbers
from toolroll.host.files.journal.points import CHECKPOINT, reverse_changes
from toolroll.host.knowledge.timeline import describe_note
from toolroll.kit import Kit
from toolroll.result import ErrorCode, Result, ToolError
from toolroll.text.names import show_name

_BY = "console"
"""The message of entries that are made from here."""
_MAX_PATHS = 20  # of an entry in the list
_MAX_LINES, _MAX_LINE_CHARS = 5_000, 500
Limit = Annotated[int, Meta(ge=1, le=500)]


def list_entries(kit: Kit, before: int | None = None, limit: Limit = 100) -> dict[str, Any]:
    """The entries, newest first: the last ones, or those before a number."""
    read, older = list[JournalEntry](), list[JournalEntry]()
    for entry in kit.journal.newest_first():
        read.append(entry)
        if before is None or entry.number < before:
            older.append(entry)
        if len(older) > limit:
            break
    gone = undone_numbers(read[::-1])  # what undoes an entry is newer than it
    rows = [_row(one, one.number in gone) for one in older[:limit]]
    return {"entries": rows, "more": len(older) > limit, "digest": _digest(read[0] if read else None)}


def _digest(entry: JournalEntry | None) -> str:
    """Of one entry; of the newest one it stands for the state of the files."""
    return digest(entry and (entry.number, entry.time, entry.tool, entry.session, entry.paths()))


def _row(entry: JournalEntry, undone: bool) -> dict[str, Any]:
    paths = entry.paths()
    return {
        "number": entry.number,
        "tool": entry.tool,
        "session": entry.session,
        "message": entry.message,
        "time": entry.time,
        "said": describe_note(entry),
        "paths": [show_name(one) for one in paths[:_MAX_PATHS]],
        "total": len(paths),
        "undone": undone,
        "checkpoint": entry.note.get(CHECKPOINT),
        "undo": bool(entry.undoes),
        "undoes": list(entry.undoes),
    }


def show_entry(kit: Kit, number: int) -> dict[str, Any]:
    """The files that an entry changed, each with its diff."""
    found = _find(kit, number)
    return {**show_files(describe_effects(net_effects(found.changes), kit.journal.content)), "digest": _digest(found)}


def _find(kit: Kit, number: int) -> JournalEntry:
    found = next((one for one in kit.journal.newest_first() if one.number == number), None)
    if found is None:
        raise ToolError(ErrorCode.NOT_FOUND, f"The journal has no entry {number}.")
    return found


def undo(kit: Kit, number: int, digest: str) -> dict[str, Any]:
    """Undo one entry, which is still the one that was shown."""
    check_digest(digest, _digest(_find(kit, number)), f"Entry {number}")
    return _run(partial(kit.undo, entry=number), {"steps": 1, "entry": number})


def rewind(kit: Kit, to: str | int, digest: str) -> dict[str, Any]:
    """Restore all files to a checkpoint, or to how they were after an entry, if nothing changed since the preview."""
    check_digest(digest, _digest(_newest(kit)), "The state of the files")
    return _run(partial(kit.rewind, to), {"to": str(to), "partial": False})


def checkpoint(kit: Kit, name: str, digest: str) -> dict[str, Any]:
    """Save a checkpoint, if the files are still as they were shown."""
    check_digest(digest, _digest(_newest(kit)), "The state of the files")
    return _run(partial(kit.checkpoint, name), {"name": name})


def _run(act: Callable[..., Result], arguments: dict[str, Any]) -> dict[str, Any]:
    """Make a call that a person asks for: where the policy asks about these arguments, that is the answer."""
    result = run_changed(arguments, partial(act, message=_BY))
    return {"ok": result.ok, "text": result.text}


def _newest(kit: Kit) -> JournalEntry | None:
    return next(kit.journal.newest_first(), None)


def preview_rewind(kit: Kit, to: str | int) -> dict[str, Any]:
    """What a rewind would change, which entries it would undo, and why it would refuse, if it would."""
    now = _digest(_newest(kit))
    chosen, refused = kit.journal.preview_rewind(str(to))
    effects = net_effects(reverse_changes(chosen))
    shown = show_files(describe_effects(effects, kit.journal.content))
    return {**shown, "entries": [one.number for one in chosen], "refused": refused[:_MAX_PATHS], "digest": now}


def blame(kit: Kit, path: str) -> dict[str, Any]:
    """The lines of a file, each with the number of the entry that wrote it: 0 is before the journal, -1 is others."""
    file = kit.context().files.peek(path)
    lines = kit.journal.blame(file.path, file.data, file.encoding.codec)
    shown = [
        {"line": at, "number": number, "text": text.rstrip("\r\n")[:_MAX_LINE_CHARS]}
        for at, (number, text) in enumerate(lines[:_MAX_LINES], 1)
    ]
    return {"lines": shown, "more": len(lines) > _MAX_LINES}
