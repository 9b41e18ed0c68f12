"""What calls have changed, in words that are the same in every run."""

from __future__ import annotations

from collections.abc import Iterable

from toolroll.host.files.journal.entry import JournalEntry, PathState

_EXECUTABLE = 0o100


def changed_paths(entries: Iterable[JournalEntry]) -> dict[str, str]:
    """Each path that these entries changed: the kind and the digest of what is there then, empty for nothing."""
    found: dict[str, str] = {}
    for entry in entries:
        for change in entry.changes:
            if change.source is not None:
                found[change.source] = ""
            found[change.path] = _describe(change.after)
    return found


def _describe(state: PathState | None) -> str:
    if state is None:
        return ""
    content = "" if state.is_lost else state.content
    return f"{state.kind}{'*' if state.kind == 'file' and state.mode & _EXECUTABLE else ''} {content}".rstrip()
