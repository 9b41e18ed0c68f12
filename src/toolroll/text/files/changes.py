"""What a command, an edit or a fork changed: one row a path, and one line of text for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from toolroll.text.diff import count_lines
from toolroll.text.lines import counted
from toolroll.text.names import show_name

ChangeKind = Literal["created", "modified", "deleted", "renamed", "mode"]

MAX_ROWS = 100
"""Changes that a result lists; the others are counted."""
_MAX_NAMED = 10  # in the line of text
_WORDS = {"created": "new", "modified": "changed", "deleted": "deleted", "mode": "mode"}


class Change(NamedTuple):
    """What became of one path. `added` and `removed` count lines of text; None where there are none to count."""

    path: str
    kind: ChangeKind
    added: int | None = None
    removed: int | None = None
    origin: str | None = None
    """The path before, if it was renamed."""
    kept: bool = True
    """Whether `undo` can take it back: of large and of ignored files the old content is not kept."""

    @classmethod
    def of_contents(cls, path: str, before: bytes | None, after: bytes | None) -> Change:
        """The change from one content to another; None where there is no file."""
        counts = _count(before or b"", after or b"")
        kind: ChangeKind = "created" if before is None else "deleted" if after is None else "modified"
        return cls(path, kind, *(counts if counts is not None else (None, None)))

    def __str__(self) -> str:
        if self.kind == "renamed":
            what = f"from {show_name(self.origin or '')}"
        elif self.kind == "modified" and self.added is not None:
            what = f"+{self.added} -{self.removed}"
        else:
            what = _WORDS[self.kind]
        return f"{show_name(self.path)} ({what}{'' if self.kept else ', not kept'})"


def describe_changes(changes: Sequence[Change], total: int | None = None) -> str:
    """One line: "Changed 3 files: a.py (+2 -1), b.py (new), old.py (deleted)."; empty for none."""
    total = len(changes) if total is None else total
    if not total:
        return ""
    more = total - min(len(changes), _MAX_NAMED)
    named = ", ".join(map(str, changes[:_MAX_NAMED]))
    return f"Changed {counted(total, 'file')}: {named}{f' and {more} more' if more else ''}."


def change_rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """The changes as data for a result: `path`, `kind`, and what is known besides."""
    return [_row(one) for one in changes[:MAX_ROWS]]


def _row(change: Change) -> dict[str, Any]:
    known = {"added": change.added, "removed": change.removed, "from": change.origin}
    row = {
        "path": change.path,
        "kind": change.kind,
        **{name: value for name, value in known.items() if value is not None},
    }
    return row if change.kept else {**row, "kept": False}


def _count(before: bytes, after: bytes) -> tuple[int, int] | None:
    """The lines added and removed; None if one of the contents is not text."""
    if b"\0" in before or b"\0" in after:
        return None
    return count_lines(before.decode("utf-8", "replace"), after.decode("utf-8", "replace"))
