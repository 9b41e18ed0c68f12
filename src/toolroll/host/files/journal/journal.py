"""The journal of a workspace: record the steps of each call, undo entries, recover after a kill.

Each step is written down before it is taken, and all steps of a call are taken back if the call fails.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from toolroll.host.files.journal.effects import describe_effects, file_versions, net_effects
from toolroll.host.files.journal.entry import REFS, UNKNOWN, JournalEntry, PathChange, PathState, look
from toolroll.host.files.journal.log import JournalLog, mark_undone
from toolroll.host.files.journal.points import CHECKPOINT, entries_after, find_point, left_by
from toolroll.host.files.journal.recorder import Recorder
from toolroll.host.files.journal.restore import (
    is_same_state,
    is_still,
    take_back,
)
from toolroll.host.files.openat import WriteTurn
from toolroll.host.files.root import Root
from toolroll.host.runtime.dir_entries import open_dir
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text import diff
from toolroll.text.files.blame import TextVersion, blame_lines
from toolroll.text.files.changes import Change
from toolroll.text.lines import counted, list_some

_LISTED = 10  # paths that an error names


class Journal:
    """Everything that tools did to one workspace, newest last."""

    def __init__(self, root: Root, state: State) -> None:
        self._root = root
        self._log = JournalLog(state)
        self.catch_up: Callable[[], None] = _nothing_to_do
        """Records what jobs have changed so far; called before entries are read or added."""
        self.move_refs_back: Callable[[Sequence[Mapping[str, Any]]], tuple[dict[str, Any], str]] | None = None
        """Moves back what commands moved in the repository, as notes of entries say; gives a note and a sentence."""

    @contextmanager
    def entry(self, tool: str, session: str, message: str) -> Iterator[Recorder]:
        """Record one call. If it fails, what it did is taken back; else it becomes an entry."""
        self.catch_up()
        with (
            WriteTurn(self._root, self._log.pending.find_holder) as turn,
            self._log.under_way(self._others, turn.take) as pending,
        ):
            recorder = Recorder(self._log, pending, self._root, turn.take)
            try:
                with recorder.folders:
                    yield recorder
                if recorder.changes or recorder.undoes or REFS in recorder.note:
                    done, undoes = tuple(recorder.changes), tuple(recorder.undoes)
                    made = JournalEntry(0, time.time(), tool, session, message, done, undoes, recorder.note)
                    self._log.append(made, pending)
            except BaseException:
                recorder.roll_back()
                raise
            finally:
                recorder.held.drop()

    @property
    def log(self) -> JournalLog:
        """The entries and contents on disk."""
        return self._log

    def entries(self) -> list[JournalEntry]:
        """Every entry, oldest first."""
        self.catch_up()
        return self._log.entries()

    def newest_first(self) -> Iterator[JournalEntry]:
        """The same, newest first, for a look at the last ones: a journal that others have changed is no error."""
        self.catch_up()
        return self._log.newest_first()

    def recover(self) -> list[str]:
        """Take back what calls that were killed had begun; the paths that stay as they are, each with the reason.

        A call in a further root that this workspace does not have is left for a kit that has it.
        """
        said = []
        for call, name in self._log.unfinished():
            used = {path.split("/", 1)[0] for step in call.steps for path in (step.path, step.source) if path}
            missing = [path for one, path in call.others.items() if one in used and self._others.get(one) != path]
            if missing:
                said += [f"{path} (open a kit with this root to take a killed call back)" for path in missing]
                continue
            left, failed = take_back(self._root, self._log, call.steps)
            said += left
            if call.damaged:
                said.append(f"{counted(call.damaged, 'step')} of a killed call: the record is damaged")
            if failed:
                self._log.pending.keep(name, call._replace(steps=failed))
            else:
                self._log.pending.forget(name)
            self._log.cut_torn_line()
        self._log.drop_held()  # also of a call that was killed before its first step was written down
        return said

    @property
    def _others(self) -> dict[str, str]:
        return {name: other.path for name, other in self._root.others.items()}

    def choose(self, steps: int, path: str | None, number: int | None) -> list[JournalEntry]:
        """The entries that an undo means, newest first."""
        found: list[JournalEntry] = []
        if path is None and number is None and self._log.unrecorded is not None:
            raise _unknown(self._log.unrecorded)
        for entry, is_undone in mark_undone(self.newest_first()):
            if number is not None:
                if entry.number <= number:
                    found = [entry] if entry.number == number and not is_undone else []
                    break
            elif path is None and UNKNOWN in entry.note and not is_undone:
                raise _unknown(entry)
            elif entry.has_effect and not entry.undoes and not is_undone and (path is None or _touches(entry, path)):
                found.append(entry)
                if len(found) == steps:
                    break
        if not found or (number is None and len(found) < steps):
            raise _nothing(f"change of {path!r}" if path else "change", len(found), number)
        return found

    def verify(self, *, repair: bool = False) -> list[str]:
        """What is damaged in the journal, a sentence each; with `repair` it is set right as far as that can be."""
        lines, contents = self._log.damaged(repair=repair), self._log.blobs.damaged(repair=repair)
        said = "it was removed" if repair else "`--repair` removes it"
        bad = f"{counted(lines, 'line')} of the log cannot be read: {said}; `undo` names the lost entries."
        return [bad] * bool(lines) + [f"The kept content {name[:12]} is damaged: {said}." for name in contents]

    def forget(self, path: str) -> int:
        """Remove all contents that a file, or the files of a folder, had; how many. Their changes cannot be undone."""
        names = {
            state.content
            for entry in self.entries()
            for change in entry.changes
            if f"{change.path}/".startswith(f"{path}/") or f"{change.source or change.path}/".startswith(f"{path}/")
            for state in (change.before, change.after)
            if state is not None and state.kind == "file" and not state.is_lost
        }
        return self._log.blobs.forget(names)

    def note_unknown(self, entry: JournalEntry) -> None:
        """Add an entry of which it is not known what it changed; without room for it, undo stops there all the same."""
        try:
            self._log.append(entry)
        except OSError:
            self._log.unrecorded = entry

    def last_undo(self) -> int:
        """The number of the last undo that was not taken back itself; ToolError if there is none."""
        entries = [(one, is_undone) for one, is_undone in mark_undone(self.newest_first()) if one.undoes]
        undos = {one.number for one, _ in entries}
        for one, is_undone in entries:
            if not is_undone and undos.isdisjoint(one.undoes):
                return one.number
        raise ToolError(ErrorCode.NOT_FOUND, "There is no undo to take back.")

    def find_mark(self, name: str) -> int | None:
        """The number of the last checkpoint of this name."""
        return next((one.number for one in self.newest_first() if one.note.get(CHECKPOINT) == name), None)

    def undo(self, entry: JournalEntry, recorder: Recorder) -> None:
        """Put everything that an entry touched back; ToolError, and nothing done, if others changed it since."""
        if UNKNOWN in entry.note:
            raise _unknown(entry)
        left = {path: change for path, (_, change) in left_by([entry]).items()}
        seen = {path: (change, *self._is_as_left(path, change, entry)) for path, change in left.items()}
        overtaken = {path: (change, data) for path, (change, same, data) in seen.items() if not same}
        if overtaken:
            raise self._conflict(entry, overtaken)
        recorder.undoes.append(entry.number)
        recorder.undo(entry.changes)

    def undo_refs(self, entries: Sequence[JournalEntry], recorder: Recorder) -> str:
        """Move back what entries, newest first, have moved in the repository; what is to be said of that.

        Nothing else of an undo may fail after it. ToolError if it cannot be done and was all that they did.
        """
        notes = [one.note for one in entries if REFS in one.note]
        if not notes or self.move_refs_back is None:
            return ""
        note, said = self.move_refs_back(notes)
        if not note and not any(one.changes for one in entries):
            raise ToolError(ErrorCode.CONFLICT, said)
        recorder.note |= note
        return said

    def mark(self, name: str, session: str, message: str) -> JournalEntry:
        """Add a checkpoint: a point of the journal with a name."""
        if not name.strip() or name.isdigit():
            raise ToolError(ErrorCode.VALIDATION, f"{name!r} is no name of a checkpoint: numbers mean entries.")
        return self._log.append(JournalEntry(0, time.time(), CHECKPOINT, session, message, (), (), {CHECKPOINT: name}))

    def rewind(self, to: str, recorder: Recorder, *, partial: bool) -> tuple[list[JournalEntry], int]:
        """Undo all that was recorded after a point; ToolError with a list, and nothing done, if some cannot be.

        With `partial`, what was never kept is left alone. Returns what was undone, newest first, and the number of
        the last entry before.
        """
        self.catch_up()
        recorder.take_turn()
        entries = self._log.entries()
        chosen = entries_after(entries, find_point(entries, to))
        refused = self._refusals(chosen, partial=partial)
        if refused:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"Nothing was changed: these cannot be taken back to {to!r}. "
                "Move aside what others changed; `partial` leaves alone what is not kept.\n" + "\n".join(refused),
                details={"refused": refused},
            )
        chosen = [entry for entry in chosen if UNKNOWN not in entry.note]
        for entry in chosen:
            self.undo(entry, recorder)
        return chosen, entries[-1].number if entries else 0

    def preview_rewind(self, to: str) -> tuple[list[JournalEntry], list[str]]:
        """What a rewind would undo, newest first, and the paths that it would refuse, each with the reason."""
        entries = self.entries()
        chosen = entries_after(entries, find_point(entries, to))
        return chosen, self._refusals(chosen, partial=False)

    def _refusals(self, chosen: Sequence[JournalEntry], *, partial: bool) -> list[str]:
        unknown = [f"entry {one.number}, {one.tool} ({one.note[UNKNOWN]})" for one in chosen if UNKNOWN in one.note]
        refused = [
            f"{path!r} (changed by others since entry {entry.number}, {entry.tool})"
            for path, (entry, change) in left_by(chosen[::-1]).items()
            if not self._is_as_left(path, change, entry)[0]
        ]
        refused += [] if partial else unknown
        return refused + [
            f"{change.path!r} (its content before entry {entry.number}, {entry.tool}, is not kept)"
            for entry in chosen
            for change in entry.changes
            if change.source is None and change.before is not None and not self._log.blobs.keeps(change.before)
            if not (partial and change.before.is_lost)
        ]

    def content(self, state: PathState | None) -> bytes | None:
        """The content of a file that an entry found or left; None where there was none, or it is not kept."""
        if state is None or state.kind != "file" or not self._log.blobs.keeps(state):
            return None
        return self._log.blobs.content(state.content)

    def describe(self, changes: Sequence[PathChange]) -> list[tuple[Change, str]]:
        """What changes did to each path, with its diff; that is empty where a content is not text or not kept."""
        return list(describe_effects(net_effects(changes), self.content))

    def blame(self, path: str, now: bytes, codec: str) -> list[tuple[int, str]]:
        """The lines of a file as it is now, each with the number of the entry that wrote it, or BEFORE or OTHERS."""
        versions = []
        for entry, change in file_versions(self.entries(), path):
            before, after = self.content(change.before), self.content(change.after)
            if after is not None or change.after is None:  # else it is not kept
                texts = (None if one is None else one.decode(codec, "replace") for one in (before, after))
                versions.append(TextVersion(entry.number, *texts))
        return blame_lines(versions, now.decode(codec, "replace"))

    def _is_as_left(self, path: str, change: PathChange, entry: JournalEntry) -> tuple[bool, bytes | None]:
        """Whether what an entry left at a path is still there, and the bytes that are there now."""
        known = change.after
        if change.before is not None and change.before.is_lost:
            return True, None  # an undo leaves it alone
        _, root, parts = self._root.owner(tuple(path.split("/")))
        try:  # not through a link that stands where there was a folder
            with open_dir(root.fd, parts[:-1]) as folder:
                if known is not None and known.is_lost:
                    since = entry.time if change.source is None else math.inf
                    return is_still(folder, parts[-1], known, since), None
                now, data = look(folder, parts[-1])
        except (FileNotFoundError, NotADirectoryError):
            now, data = None, None
        except OSError:  # a device, a socket
            return False, None
        if now is None and change.before is None:
            return True, None  # it is gone already
        moved_folder = change.source is not None and now is not None and now.kind == "directory"
        return is_same_state(now, known) or moved_folder, data

    def _conflict(self, entry: JournalEntry, overtaken: Mapping[str, tuple[PathChange, bytes | None]]) -> ToolError:
        path, (change, data) = next(iter(overtaken.items()))
        shown = ""
        if data is not None and change.after is not None and change.after.kind == "file":
            shown = _difference(self._log.blobs.content(change.after.content), data)
        others = [repr(one) for one in overtaken if one != path]
        also = f" So {'was' if len(others) == 1 else 'were'} {list_some(others, _LISTED)}." if others else ""
        return ToolError(
            ErrorCode.CONFLICT,
            f"{path!r} was changed since entry {entry.number} ({entry.tool}): undoing it would lose that."
            f"{also} "
            f"Undo later changes first, or move aside what others made there.{shown}",
            details={"path": path, "entry": entry.number, **({"paths": list(overtaken)} if others else {})},
        )


def _nothing_to_do() -> None:
    """There are no jobs that write."""


def _unknown(entry: JournalEntry) -> ToolError:
    """The error for an undo of an entry of which it is not known what it changed."""
    which = f"Entry {entry.number}" if entry.number else "The last command"
    return ToolError(
        ErrorCode.CONFLICT,
        f"{which} ({entry.tool}) cannot be undone: {entry.note[UNKNOWN]}. "
        "Look at the files. To undo an older change, name its entry or its path.",
        details={"entry": entry.number},
    )


def _nothing(what: str, found: int, number: int | None) -> ToolError:
    """The error for an undo of more than there is."""
    if found:
        return ToolError(ErrorCode.NOT_FOUND, f"Only {found} can be undone: give `steps` of {found} or less.")
    what = what if number is None else f"entry {number}"
    return ToolError(ErrorCode.NOT_FOUND, f"There is nothing to undo: the journal has no {what} that stands.")


def _touches(entry: JournalEntry, path: str) -> bool:
    return any(one == path or one.startswith(path + "/") for one in entry.paths())


def _difference(ours: bytes, now: bytes) -> str:
    try:
        return "\n" + diff.unified(ours.decode(), now.decode())
    except UnicodeDecodeError:
        return ""
