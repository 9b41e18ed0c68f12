"""The journal as calls use it: an entry for each, undo, and what the next start does after a kill."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from toolroll.host.files.journal.entry import JournalEntry, PathChange, look
from toolroll.host.files.journal.log import JournalLog, undone_numbers
from toolroll.host.files.journal.recorder import Recorder, is_same_state, take_back
from toolroll.host.files.root import Root
from toolroll.host.runtime.state import State as Folder
from toolroll.result import ErrorCode, ToolError
from toolroll.text import diff


class Journal:
    """Everything that tools did to one workspace, newest last."""

    def __init__(self, root: Root, state: Folder) -> None:
        self._root = root
        self._log = JournalLog(state)

    @contextmanager
    def entry(self, tool: str, session: str, message: str) -> Iterator[Recorder]:
        """Record one call. If it fails, what it did is taken back; else it becomes an entry."""
        with self._log.under_way() as pending:
            recorder = Recorder(self._log, pending, self._root)
            try:
                with recorder.folders:
                    yield recorder
                if recorder.changes:
                    done, undoes = tuple(recorder.changes), tuple(recorder.undoes)
                    self._log.append(JournalEntry(0, time.time(), tool, session, message, done, undoes, recorder.note))
            except BaseException:
                recorder.roll_back()
                raise

    def entries(self) -> list[JournalEntry]:
        """Every entry, oldest first."""
        return self._log.entries()

    def recover(self) -> list[str]:
        """Take back what calls that were killed had begun; the paths that others have changed since."""
        left = []
        for steps, name in self._log.cut_off():
            left += take_back(self._root, self._log, steps)
            self._log.forget(name)
        return left

    def choose(self, steps: int, path: str | None, number: int | None) -> list[JournalEntry]:
        """The entries that an undo means, newest first."""
        entries = self.entries()
        gone = undone_numbers(entries)
        if number is not None:
            found = [one for one in entries if one.number == number and number not in gone]
        else:
            open_ones = [one for one in reversed(entries) if not one.undoes and one.number not in gone]
            touching = [one for one in open_ones if path is None or _touches(one, path)]
            found = touching[:steps]
        if not found or (number is None and len(found) < steps):
            raise _nothing(f"change of {path!r}" if path else "change", len(found), number)
        return found

    def undo(self, entry: JournalEntry, recorder: Recorder) -> None:
        """Put everything that an entry touched back; ToolError, and nothing done, if others changed it since."""
        for path, change in _final(entry).items():
            self._check(path, change, entry)
        recorder.undoes.append(entry.number)
        recorder.undo(entry.changes)

    def _check(self, path: str, change: PathChange, entry: JournalEntry) -> None:
        try:
            with self._root.place(path, follow=False) as place:
                now, data = look(place.fd, place.name)
        except (FileNotFoundError, NotADirectoryError):
            now, data = None, None
        moved_folder = change.source is not None and now is not None and now.kind == "directory"
        if is_same_state(now, change.after) or moved_folder:
            return
        shown = ""
        if data is not None and change.after is not None and change.after.kind == "file":
            shown = "\n" + _difference(self._log.blobs.content(change.after.content), data)
        raise ToolError(
            ErrorCode.CONFLICT,
            f"{path!r} was changed since entry {entry.number} ({entry.tool}): undoing it would lose that. "
            f"Undo later changes first, or move aside what others made there.{shown}",
            details={"path": path, "entry": entry.number},
        )


def _nothing(what: str, found: int, number: int | None) -> ToolError:
    """The error for an undo of more than there is."""
    if found:
        return ToolError(ErrorCode.NOT_FOUND, f"Only {found} can be undone: give `steps` of {found} or less.")
    what = what if number is None else f"entry {number}"
    return ToolError(ErrorCode.NOT_FOUND, f"There is nothing to undo: the journal has no {what} that stands.")


def _touches(entry: JournalEntry, path: str) -> bool:
    return any(one == path or one.startswith(path + "/") for one in entry.paths())


def _final(entry: JournalEntry) -> dict[str, PathChange]:
    """What the entry left at each path it touched."""
    final: dict[str, PathChange] = {}
    for change in entry.changes:
        if change.source is not None:
            final[change.source] = PathChange(change.source, None, None)
        final[change.path] = change
    return final


def _difference(ours: bytes, now: bytes) -> str:
    try:
        return diff.unified(ours.decode(), now.decode())
    except UnicodeDecodeError:
        return ""
