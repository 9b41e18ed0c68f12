"""Put what differs between two listings into the order in which the journal can take it back."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.host.capture.listing import CACHES, Differences, Listing, is_folder
from toolroll.host.files.journal.entry import NewFiles, PathChange, PathState
from toolroll.host.files.journal.restore import is_same_state
from toolroll.policy.paths import folders_above
from toolroll.result import ToolError
from toolroll.text.files.changes import MAX_ROWS, Change

if TYPE_CHECKING:
    from toolroll.host.files.journal.contents import Blobs

Pairs = Mapping[str, tuple[PathState | None, PathState | None]]
"""By path: what stood there before and what does now."""

FolderPairs = Mapping[str, tuple[PathState, PathState]]
_USER_RIGHTS = stat.S_IRWXU
_BYTECODE = ".pyc"


def order_steps(pairs: Pairs, moves: Mapping[str, str], timed: FolderPairs) -> tuple[PathChange, ...]:
    """The steps from the old state to the new one, such that each can be undone when those behind it have been.

    `moves` gives the old path of what has another name now and cannot be put back from its content; `timed` are
    folders whose times are put back last of all.
    """
    gone = set(moves.values())
    removed = {p: before for p, (before, _) in pairs.items() if before is not None and p not in gone}
    made = {p: after for p, (_, after) in pairs.items() if after is not None and p not in moves}
    same = {p for p in removed if p in made and _changes_in_place(removed[p], made[p])}
    old_folders = [p for p in sorted(removed, reverse=True) if p not in same and removed[p].kind == "directory"]
    new_folders = [p for p in sorted(made) if p not in same and made[p].kind == "directory"]
    steps = [PathChange(p, old, replace(new, mtime_ns=0)) for p, (old, new) in timed.items()]
    steps += [_narrowed(path, removed[path], first=True) for path in old_folders]
    steps += [PathChange(p, removed[p], made[p]) for p in same if _closes(removed[p])]
    steps += [
        PathChange(p, removed[p], None) for p in sorted(removed) if p not in same and removed[p].kind != "directory"
    ]
    steps += [PathChange(p, None, _opened(made[p])) for p in new_folders]
    steps += [PathChange(new, None, pairs[new][1], source=old) for new, old in sorted(moves.items())]
    steps += [PathChange(p, _opened(removed[p]), None) for p in old_folders]
    steps += [PathChange(p, None, made[p]) for p in sorted(made) if p not in same and made[p].kind != "directory"]
    steps += [PathChange(p, removed[p], made[p]) for p in sorted(same) if not _closes(removed[p])]
    steps += [_narrowed(path, made[path], first=False) for path in new_folders]
    return tuple(one for one in steps if one.before != one.after)


def _changes_in_place(before: PathState, after: PathState) -> bool:
    return before.kind == after.kind and before.kind in ("file", "directory")


def _closes(state: PathState) -> bool:
    """Whether it is a folder that nothing can be put into by its owner: its mode is put back last."""
    return state.kind == "directory" and state.mode & _USER_RIGHTS != _USER_RIGHTS


def _opened(state: PathState) -> PathState:
    """A folder as it is while things are put into it."""
    return replace(state, mode=state.mode | _USER_RIGHTS, mtime_ns=0)


def _narrowed(path: str, state: PathState, *, first: bool) -> PathChange:
    """The change of a folder's mode before it is removed, or after it is made and filled."""
    return PathChange(path, *((state, _opened(state)) if first else (_opened(state), state)))


def is_cache(path: str) -> bool:
    """Whether a path is in a folder of caches, or is one."""
    return path.endswith(_BYTECODE) or not CACHES.isdisjoint(path.split("/"))


def name_changes(
    pairs: Pairs, renamed: Mapping[str, str], counts: Mapping[str, Change], new_files: NewFiles
) -> list[Change]:
    """One row for each path, in order; folders only where nothing in them is named, caches never.

    `new_files` are further ones, behind the others.
    """
    rows: dict[str, Change] = {}
    gone = set(renamed.values())
    for path, (before, after) in sorted(pairs.items()):
        if path in gone or is_cache(path):
            continue
        if path in renamed:
            rows[path] = Change(path, "renamed", origin=renamed[path])
        else:
            rows[path] = counts.get(path) or _row(path, before, after)
    kinds = {path: (after or before) for path, (before, after) in pairs.items()}
    folders = {p for p, one in kinds.items() if one is not None and one.kind in ("directory", "ignored")}
    above = folders_above([*rows, *new_files])
    shown = (path for path in rows if path not in folders or path not in above)
    named = [rows[path]._replace(path=f"{path}/") if path in folders else rows[path] for path in shown]
    for folder, names in new_files.items():
        if not is_cache(folder):
            named += [Change(folder + name, "created") for name in sorted(names) if not name.endswith(_BYTECODE)]
    return named


def _row(path: str, before: PathState | None, after: PathState | None) -> Change:
    if before is None:
        return Change(path, "created")
    if after is None:
        return Change(path, "deleted", kept=not before.is_lost)
    same = (before.kind, before.content) == (after.kind, after.content)
    return Change(path, "mode" if same else "modified", kept=same or not before.is_lost)


def align_states(before: PathState | None, after: PathState | None) -> tuple[PathState | None, PathState | None]:
    """Both states; a folder that was there and still is, is never taken as a whole: that is for what came or went."""
    if before and after and {before.kind, after.kind} <= {"directory", "ignored"}:
        return replace(before, kind="directory"), replace(after, kind="directory")
    return before, after


def is_same(before: PathState | None, after: PathState | None, *, exact: bool) -> bool:
    """Whether nothing but the time differs; of what calls of ours have left, not all is known."""
    if before is None or after is None or not exact:
        return is_same_state(after, before)
    return replace(before, mtime_ns=0, names=()) == replace(after, mtime_ns=0, names=())


def find_renamed(found: Differences, now: Listing, is_whole: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """The new and old paths of files, and of folders taken as a whole, that have another name now."""
    gone = {
        (old[1:4], stat.S_IFMT(old[0])): path
        for path, (old, new) in found.items()
        if old is not None and new is None and (not is_folder(old) or is_whole(path))
    }
    for path, (old, new) in found.items() if gone else ():
        if old is None and new is not None and not (is_folder(new) and f"{path}/" in now):
            origin = gone.get((new[1:4], stat.S_IFMT(new[0])))
            if origin is not None:
                yield path, origin


def count_changes(pairs: Pairs, blobs: Blobs) -> dict[str, Change]:
    """The rows of files whose contents are there to be compared, of the first ones."""
    found: dict[str, Change] = {}
    for path, states in sorted(pairs.items()):
        if len(found) >= MAX_ROWS:
            break
        if any(one is not None and (one.kind != "file" or one.is_lost) for one in states):
            continue
        if states[0] and states[1] and states[0].content == states[1].content:
            continue
        with suppress(ToolError):
            before, after = (None if one is None else blobs.content(one.content) for one in states)
            found[path] = Change.of_contents(path, before, after)
    return found
