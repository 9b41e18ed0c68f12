"""What an undo or a rewind put back, as tools show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolroll.host.files.journal.entry import JournalEntry
from toolroll.host.files.journal.journal import Journal
from toolroll.host.files.workspace import JUDGED, Workspace
from toolroll.text.lines import list_some

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
    """Where files do not parse any more, what could not be put back, and what became of branches."""

    def __str__(self) -> str:
        what = ", ".join(f"{tool} (entry {number})" for number, tool in zip(self.entries, self.tools, strict=True))
        back = f" Put back: {', '.join(self.paths)}." if self.paths else ""
        head = f"Undone: {what}.{back}" if self.entries else "There is nothing to undo."
        return "\n".join([head, *(f"{one.path}\n{one.diff}" for one in self.files)])


def finish_undo(chosen: Sequence[JournalEntry], files: Workspace, journal: Journal) -> Undone:
    """Move branches back too; what this call has put back by undoing these entries. Their files are no longer known."""
    paths = list(dict.fromkeys(one for entry in chosen for one in entry.paths()))
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
    )


def _name_lost(files: Workspace) -> list[str]:
    paths = files.recorder.lost if files.recorder is not None else []
    named = list_some(list(map(repr, paths)), _NAMED)
    return [f"Not put back, because the contents were not kept: {named}."] if paths else []
