"""What an undo or a rewind put back, as tools show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolroll.host.files.journal.entry import JournalEntry
from toolroll.host.files.journal.journal import Journal
from toolroll.host.files.workspace import JUDGED, Workspace
from toolroll.text.lines import list_some
from toolroll.text.truncate import bound

_NAMED = 10  # paths that a note lists
_MAX_CHARS = 1_800


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
    """Where files do not parse any more, what could not be put back, and what became of branches."""
    removed: list[str] = field(default_factory=list)
    """Those of the paths where nothing is now: the undone calls had made them."""

    def __str__(self) -> str:
        what = ", ".join(f"{tool} (entry {number})" for number, tool in zip(self.entries, self.tools, strict=True))
        back = list_some([one for one in self.paths if one not in set(self.removed)], _NAMED)
        gone = list_some(self.removed, _NAMED)
        done = "Redone" if set(self.tools) == {"undo"} else "Undone"
        head = f"{done}: {what}.{f' Put back: {back}.' * bool(back)}{f' Removed: {gone}.' * bool(gone)}"
        diffs = (f"{one.path}\n{one.diff}" for one in self.files)
        return (
            bound("\n".join([head, *diffs]), _MAX_CHARS, "head").text if self.entries else "There is nothing to undo."
        )


def finish_undo(chosen: Sequence[JournalEntry], files: Workspace, journal: Journal) -> Undone:
    """Move branches back too; what this call has put back by undoing these entries. Their files are no longer known."""
    stay = {*files.recorder.lost, *files.recorder.kept} if files.recorder is not None else ()
    paths = [one for one in dict.fromkeys(one for entry in chosen for one in entry.paths()) if one not in stay]
    for one in paths:
        files.records.forget(one)
    changes = files.rewritten()
    moved = journal.undo_refs(chosen, files.recorder) if files.recorder is not None else ""
    return Undone(
        [entry.number for entry in chosen],
        [entry.tool for entry in chosen],
        paths,
        [RestoredFile(change.path, shown) for change in changes if (shown := change.diff())],
        "\n".join(filter(None, [*(change.verdict for change in changes[:JUDGED]), *_name_lost(files), moved])),
        [one for one in _list_removed(chosen) if one not in stay],
    )


def _list_removed(chosen: Sequence[JournalEntry]) -> list[str]:
    """Where nothing is once these entries, newest first, are undone."""
    there: dict[str, bool] = {}
    for change in (change for entry in chosen for change in reversed(entry.changes)):
        there[change.path] = change.before is not None
        if change.source is not None:
            there[change.source] = True
    return [path for path, is_there in there.items() if not is_there][::-1]


def _name_lost(files: Workspace) -> list[str]:
    recorder = files.recorder
    if recorder is None:
        return []
    reasons = ("the contents were not kept", recorder.lost), ("others have changed them since", recorder.kept)
    return [
        f"Not put back, because {why}: {list_some(list(map(repr, paths)), _NAMED)}." for why, paths in reasons if paths
    ]
