"""Merge a fork into its workspace: all of it or nothing, as steps of one journal entry."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.host.files import atomic
from toolroll.host.files.journal.entry import PathState, look
from toolroll.host.files.journal.restore import put_state
from toolroll.host.forks.fork import new_repositories
from toolroll.result import ErrorCode, ToolError
from toolroll.text import diff
from toolroll.text.lines import list_some

if TYPE_CHECKING:
    from toolroll.host.files.journal.recorder import Recorder
    from toolroll.host.files.openat import PathHandle
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.forks.fork import ForkChange
    from toolroll.host.forks.views import Node

_MAX_SHOWN = 3  # conflicts that are shown as a diff
_MAX_NAMED = 10


def check_conflicts(rows: Sequence[ForkChange]) -> None:
    """ToolError with both sides where the workspace was changed since the fork."""
    found = [row for row in rows if row.conflict]
    if not found:
        return
    named = list_some([repr(row.path) for row in found], _MAX_NAMED)
    shown = "".join(f"\n{row.path} (- workspace, + fork)\n{_both_sides(row)}" for row in found[:_MAX_SHOWN])
    raise ToolError(
        ErrorCode.CONFLICT,
        f"Nothing was merged: {named} changed in the workspace since the fork was made, and in the fork too. "
        f"Make the change again in a new fork, or merge other paths only.{shown}",
        details={"paths": [row.path for row in found]},
    )


def _both_sides(row: ForkChange) -> str:
    ours, theirs = _text(row.base), _text(row.fork)
    return "Not text." if ours is None or theirs is None else diff.unified(ours, theirs)


def _text(node: Node | None) -> str | None:
    if node is None:
        return ""
    try:
        return node.state.content if node.data is None else node.data.decode()
    except UnicodeDecodeError:
        return None


class Merge:
    """Carries differences over to the files of one call, which records each step."""

    def __init__(self, files: Workspace) -> None:
        if files.recorder is None:
            raise ToolError(ErrorCode.UNSUPPORTED, "A merge is recorded in the journal: call it through the kit.")
        self._files = files
        self.recorder: Recorder = files.recorder
        self._repositories: tuple[str, ...] = ()

    def apply(self, rows: Sequence[ForkChange]) -> None:
        """Make the workspace what the fork is at these paths. An undo leaves new repositories alone."""
        check_conflicts(rows)
        self._repositories = new_repositories(rows)
        try:
            self._apply([row for row in rows if not self._is_in_repository(row)])
            with self.recorder.aside():
                self._apply([row for row in rows if self._is_in_repository(row)])
        except OSError as error:
            where = f" at {error.filename!r}" if error.filename else ""
            raise ToolError(ErrorCode.IO, f"Nothing was merged: {error.strerror}{where}.") from error

    def _apply(self, rows: Sequence[ForkChange]) -> None:
        for row in reversed(rows):
            if row.base is not None and (row.fork is None or _is_replaced(row.base.state, row.fork.state)):
                self._remove(row)
        for row in rows:
            if row.fork is not None:
                self._put(row, row.base, row.fork)
        for row in reversed(rows):  # last, for a folder may become read-only
            if row.fork is not None and row.fork.state.kind != "link":
                self._set_attributes(row, row.fork)
                self._set_mode(row, row.fork.state.mode)
            self._files.records.forget(row.path)

    def _remove(self, row: ForkChange) -> None:
        with self._place(row, row.base) as place:
            self.recorder.remove(place.fd, place.name, place.path)

    def _put(self, row: ForkChange, base: Node | None, fork: Node) -> None:
        if base is not None and _is_replaced(base.state, fork.state):
            base = None
        state = fork.state
        if state.kind == "file":
            self._put_file(row, base, fork)
        elif base is None:
            with self._place(row, None) as place:
                known = replace(state, mode=state.mode | 0o700) if state.kind == "directory" else state
                with self.recorder.making(place, known):
                    put_state(place, known, b"")

    def _put_file(self, row: ForkChange, base: Node | None, fork: Node) -> None:
        # It is writable at first, for attributes can be set only then; its mode comes last.
        data, mode, recorder = fork.data or b"", fork.state.mode | stat.S_IWUSR, self.recorder
        if base is None or base.state.content != fork.state.content:
            with self._place(row, base) as place, recorder.writing(place, data, base and base.data, mode):
                atomic.write(place, data, stage=None, create_only=base is None, mode=mode, sync=recorder.folders.add)

    def _set_attributes(self, row: ForkChange, fork: Node) -> None:
        with self._find(row) as place:
            now = atomic.read_attributes(f"/proc/self/fd/{place.fd}/{place.name}")
            if now != fork.attributes:
                self._set_mode(row, fork.state.mode | stat.S_IWUSR)  # else they cannot be set
                with self.recorder.setting_attributes(place, now, fork.attributes):
                    atomic.set_attributes(place, fork.attributes)

    def _set_mode(self, row: ForkChange, mode: int) -> None:
        with self._find(row) as place:
            if place.mode() & 0o7777 != mode:
                with self.recorder.setting_mode(place, mode):
                    os.chmod(place.name, mode, dir_fd=place.fd)

    def _find(self, row: ForkChange) -> PathHandle:
        """The place of a path; tools write to no repository, but one that the fork has made arrives as it is."""
        check = None if self._is_in_repository(row) else self._files.may_write
        return self._files.root.place_listed(row.path, check=check)

    def _is_in_repository(self, row: ForkChange) -> bool:
        return f"{row.path}/".startswith(self._repositories)

    @contextmanager
    def _place(self, row: ForkChange, known: Node | None) -> Iterator[PathHandle]:
        """The place of a path, if it is still as it was compared."""
        with self._find(row) as place:
            now, _ = look(place.fd, place.name)
            if now != (known and known.state):
                raise ToolError(
                    ErrorCode.CONFLICT, f"{row.path!r} was changed during the merge. Nothing was merged. Try again."
                )
            with self.recorder.opening(place):
                yield place


def _is_replaced(base: PathState, fork: PathState) -> bool:
    """Whether the old thing must go before the new one can come."""
    if base.kind != fork.kind:
        return True
    read_only = fork.kind == "file" and not base.mode & stat.S_IWUSR and os.geteuid() != 0
    return (fork.kind == "link" or read_only) and base.content != fork.content
