"""What journal entries did to paths, all steps together: rows with diffs, and the versions of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from toolroll.host.files.journal.entry import JournalEntry, PathChange, PathState
from toolroll.text import diff
from toolroll.text.files.changes import Change

ContentOf = Callable[[PathState | None], bytes | None]
"""Gives the content of a file; None where there is no file, or its content is not kept."""


class PathEffect(NamedTuple):
    """What stood at a path before some changes and after them, and the path that it came from."""

    before: PathState | None
    after: PathState | None
    origin: str | None = None


_NOTHING = PathEffect(None, None)


def net_effects(changes: Sequence[PathChange]) -> dict[str, PathEffect]:
    """What all of these changes together did to each path."""
    was: dict[str, PathState | None] = {}
    now: dict[str, tuple[PathState | None, str | None]] = {}
    for one in changes:
        if one.source is not None:
            was.setdefault(one.source, one.after)
            now[one.source] = None, None
        was.setdefault(one.path, one.before)
        now[one.path] = one.after, one.source
    effects = {path: PathEffect(was[path], *left) for path, left in now.items() if was[path] or left[0]}
    gone = {one.before.content: path for path, one in effects.items() if one.before and not one.after}
    for path, (before, after, origin) in effects.items():  # a command's rename is recorded as two changes
        if after and not before and not origin and after.kind == "file" and after.content in gone:
            effects[path] = PathEffect(None, after, gone.pop(after.content))
    return effects


def describe_effects(effects: dict[str, PathEffect], content: ContentOf) -> Iterator[tuple[Change, str]]:
    """A row and a diff for each path but folders; the diff is empty where a content is not text or not kept."""
    moved = {one.origin for one in effects.values()}
    for path, (before, after, origin) in effects.items():
        if origin is not None:
            yield Change(path, "renamed", origin=origin), ""
        elif (before or after) and path not in moved and not _are_folders(before, after):
            yield _describe(path, before, after, content)


def _are_folders(*states: PathState | None) -> bool:
    return all(one is None or one.kind == "directory" for one in states)


def _describe(path: str, before: PathState | None, after: PathState | None, content: ContentOf) -> tuple[Change, str]:
    if before and after and (before.kind, before.content) == (after.kind, after.content):
        return Change(path, "mode"), ""
    old, new = content(before), content(after)
    kept = before is None or before.kind != "file" or old is not None
    found = Change.of_contents(path, b"" if before and old is None else old, b"" if after and new is None else new)
    if not kept or (after and after.kind == "file" and new is None):
        return Change(path, found.kind, kept=kept), ""
    return found, "" if found.added is None else diff.unified_bytes(old or b"", new or b"", _decode)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def file_versions(entries: Sequence[JournalEntry], path: str) -> list[tuple[JournalEntry, PathChange]]:
    """The changes of one file, oldest first, also those under the names that it had before."""
    found = []
    for entry in reversed(entries):
        for change in reversed(entry.changes):
            if change.source is not None and f"{path}/".startswith(f"{change.path}/"):
                path = change.source + path.removeprefix(change.path)
            elif change.source is None and change.path == path:
                found.append((entry, change))
                if change.before is None:
                    path = net_effects(entry.changes).get(path, _NOTHING).origin or path
    return found[::-1]
