"""Changed files as views list them: bounded in number and in the length of their diffs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from toolroll.text.files.changes import Change
from toolroll.text.names import show_name
from toolroll.text.truncate import bound

_MAX_FILES = 200
_MAX_DIFF_CHARS = 20_000
_MAX_CHARS = 1_000_000  # of all diffs of one answer


def show_files(changes: Iterable[tuple[Change, str]], max_chars: int = _MAX_CHARS) -> dict[str, Any]:
    """`files` with their diffs, and whether there are `more`. A diff that is cut says so."""
    rest = iter(changes)
    files, chars = [], 0
    for change, diff in islice(rest, _MAX_FILES):
        shown = bound(diff, _MAX_DIFF_CHARS).text if chars < max_chars else "[Left out: the answer is full.]"
        chars += len(shown)
        files.append(
            {
                "path": show_name(change.path),
                "kind": change.kind,
                "diff": shown,
                "binary": change.kept and change.added is None and change.kind in ("created", "modified", "deleted"),
                "origin": show_name(change.origin) if change.origin else None,
                "kept": change.kept,
            }
        )
    return {"files": files, "more": next(rest, None) is not None}
