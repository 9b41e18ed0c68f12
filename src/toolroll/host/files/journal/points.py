"""Points of the journal: checkpoints and numbers, and which entries lie between a point and now."""

from __future__ import annotations

from collections.abc import Sequence

from toolroll.host.files.journal.entry import JournalEntry, PathChange
from toolroll.result import ErrorCode, ToolError
from toolroll.text.names import suggest_name

CHECKPOINT = "checkpoint"  # in the note of an entry: the name of the point after it


def checkpoints(entries: Sequence[JournalEntry]) -> dict[str, int]:
    """The number of the entry of each checkpoint; a name that was used again means the last one."""
    return {str(one.note[CHECKPOINT]): one.number for one in entries if CHECKPOINT in one.note}


def find_point(entries: Sequence[JournalEntry], to: str) -> int:
    """The entry that a checkpoint's name or a number means; 0 is before the first. ToolError if there is none."""
    last, named = entries[-1].number if entries else 0, checkpoints(entries)
    if to in named:
        return named[to]
    if to.isascii() and to.isdigit() and len(to) <= len(str(last)) and int(to) <= last:
        return int(to)
    known = f"Checkpoints: {', '.join(map(repr, named))}." if named else "There are no checkpoints."
    raise ToolError(
        ErrorCode.NOT_FOUND,
        f"The journal has no point {to!r}.{suggest_name(to, list(named))} {known} Or give an entry, 0 to {last}.",
    )


def entries_after(entries: Sequence[JournalEntry], point: int) -> list[JournalEntry]:
    """What must be undone, newest first, to have the files as they were after an entry.

    An undo since then and what it undid cancel each other. An undo of something older is undone as well.
    """
    found: list[JournalEntry] = []
    cancelled: set[int] = set()
    for entry in reversed(entries):
        if entry.number <= point:
            break
        if entry.number in cancelled or not entry.has_effect:
            continue
        if entry.undoes and min(entry.undoes) > point:
            cancelled.update(entry.undoes)
        else:
            found.append(entry)
    return found


def reverse_changes(entries: Sequence[JournalEntry]) -> list[PathChange]:
    """The steps that undo these entries, newest first."""
    return [
        PathChange(step.path, step.after, step.before)
        if step.source is None
        else PathChange(step.source, None, step.after, source=step.path)
        for entry in entries
        for step in reversed(entry.changes)
    ]


def left_by(entries: Sequence[JournalEntry]) -> dict[str, tuple[JournalEntry, PathChange]]:
    """What entries, oldest first, have left at each path they touched, and the last one that touched it."""
    left: dict[str, tuple[JournalEntry, PathChange]] = {}
    for entry in entries:
        for change in entry.changes:
            if change.source is not None:
                below = [one for one in left if one.startswith(change.source + "/")]
                for path in below:
                    left[change.path + path.removeprefix(change.source)] = left.pop(path)
                left[change.source] = entry, PathChange(change.source, None, None)
            left[change.path] = entry, change
    return left
