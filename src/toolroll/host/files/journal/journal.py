"""The journal of a workspace: record the steps of each call, undo entries, recover after a kill.

Each step is written down before it is taken, and all steps of a call are taken back if the call fails.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from toolroll.host.files.atomic import read_attributes
from toolroll.host.files.journal.effects import describe_effects, file_versions, net_effects
from toolroll.host.files.journal.entry import REFS, JournalEntry, PathChange, PathState, look
from toolroll.host.files.journal.log import JournalLog, PendingSteps, undone_numbers
from toolroll.host.files.journal.points import CHECKPOINT, entries_after, find_point, left_by
from toolroll.host.files.journal.restore import (
    is_folder,
    is_removable,
    is_same_state,
    is_still,
    link_again,
    put_state,
    remove_entry,
    take_back,
    writable,
)
from toolroll.host.files.openat import FolderSync, PathHandle
from toolroll.host.files.root import Root
from toolroll.host.runtime.dir_entries import open_dir
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text import diff
from toolroll.text.files.blame import TextVersion, blame_lines
from toolroll.text.files.changes import Change
from toolroll.text.lines import list_some

_LISTED = 10  # paths that an error names


class Recorder:
    """Records what a call does to the names and contents of the workspace."""

    def __init__(self, log: JournalLog, pending: PendingSteps, root: Root) -> None:
        self._log = log
        self._pending = pending
        self._root = root
        self.folders = FolderSync()
        self.changes: list[PathChange] = []
        self._made: set[str] = set()
        self.undoes: list[int] = []
        self.lost: list[str] = []
        """What an undo could not put back, because its content was not kept."""
        self.note: dict[str, Any] = {}
        self._aside: list[PathChange] = []

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around steps that are taken back if the call fails or is killed, but that no undo takes back."""
        start = len(self.changes)
        yield
        self._aside += self.changes[start:]
        del self.changes[start:]

    @contextmanager
    def writing(
        self,
        place: PathHandle,
        data: bytes,
        before: bytes | None,
        mode: int | None,
        digests: tuple[bytes | None, bytes | None] = (None, None),
    ) -> Iterator[None]:
        """Around a write of `data`: what is there now, and what will be. Digests of both may be known."""
        step = self.plan(place, data, before, mode, digests)
        self.about_to(step)
        yield
        self.written(step, place.status())

    def plan(
        self,
        place: PathHandle,
        data: bytes,
        before: bytes | None,
        mode: int | None,
        digests: tuple[bytes | None, bytes | None],
    ) -> PathChange:
        """The step that a write will be; what undoing it needs is kept."""
        state = self._kept(place, before, digests[0])
        known = state.mode if state is not None and state.kind == "file" else mode
        like = (state.content, before) if state is not None and before is not None else None
        kept = self._log.blobs.keep(data, digests[1], like)
        return PathChange(place.path, state, PathState("file", known if known is not None else -1, kept))

    def about_to(self, *steps: PathChange) -> None:
        """Planned steps are going to be taken, in this order: they are taken back if we are killed."""
        self._pending.about_to(*steps)

    def written(self, step: PathChange, status: os.stat_result) -> None:
        """A planned write was done, and this stands there now."""
        if step.after is not None:
            before, after = step.before, PathState("file", stat.S_IMODE(status.st_mode), step.after.content)
            if before is None or (before.kind, before.mode, before.content) != ("file", after.mode, after.content):
                self.changes.append(PathChange(step.path, before, after))

    @contextmanager
    def setting_mode(self, place: PathHandle, mode: int) -> Iterator[None]:
        """Around a change of a file's permissions."""
        state = self._kept(place, None, None)
        step = PathChange(place.path, state, None if state is None else replace(state, mode=mode))
        self._pending.about_to(step)
        yield
        if step.after != step.before:
            self.changes.append(step)

    def setting_attributes(
        self, place: PathHandle, before: Mapping[str, bytes], after: Mapping[str, bytes]
    ) -> AbstractContextManager[None]:
        """Around a change of the extended attributes of a file or folder."""
        state, time_ns = self._kept(place, None, None), place.status().st_mtime_ns
        if state is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.path)
        old, new = (replace(state, mtime_ns=time_ns, attributes=one) for one in (before, after))
        return self._taking(PathChange(place.path, old, new))

    def removing(self, fd: int, name: str, path: str) -> AbstractContextManager[None]:
        """Around the removal of one file, link or empty folder."""
        state, data = look(fd, name)
        if data is not None:
            self._log.blobs.keep(data)
        return self._taking(PathChange(path, _with_attributes(state, fd, name), None))

    def making(self, place: PathHandle, state: PathState) -> AbstractContextManager[None]:
        """Around the making of a folder or a link."""
        return self._taking(PathChange(place.path, None, state))

    def moving(self, old: PathHandle, new: PathHandle) -> AbstractContextManager[None]:
        """Around a rename to a name that is free, or will be replaced and was recorded as removed."""
        state, _ = look(old.fd, old.name)
        return self._taking(PathChange(new.path, None, state, source=old.path))

    @contextmanager
    def _taking(self, step: PathChange) -> Iterator[None]:
        """Around one step, which is written down before it is taken."""
        self._pending.about_to(step)
        yield
        self.changes.append(step)

    def expect(self, parts: tuple[str, ...]) -> None:
        """Before a place is made ready: the folders that are missing on the way to it will be made."""
        missing: list[str] = []
        for depth in range(len(parts) - 1, 0, -1):
            path = "/".join(parts[:depth])
            if path in self._made or path in self._root.others or is_folder(self._root, path):
                break
            missing.append(path)
        for path in reversed(missing):
            self._made.add(path)
            step = PathChange(path, None, PathState("directory", -1))
            self._pending.about_to(step)
            self.changes.append(step)

    def _kept(self, place: PathHandle, data: bytes | None, known: bytes | None) -> PathState | None:
        if data is None:
            state, data = look(place.fd, place.name)
            if data is not None:
                self._log.blobs.keep(data)
        else:
            state = PathState("file", stat.S_IMODE(place.status().st_mode), self._log.blobs.keep(data, known))
        return _with_attributes(state, place.fd, place.name)

    def roll_back(self) -> None:
        """Take back everything, the last step first."""
        steps, self.changes, self._aside = [*self.changes, *self._aside], [], []
        take_back(self._root, self._log, steps)

    def contents(self) -> Iterator[tuple[str, bytes | None, bytes]]:
        """Files that are new or got another content, as they were before this call and are now; not moved ones."""
        for path, (before, after, origin) in net_effects(self.changes).items():
            if origin or after is None or after.kind != "file" or (before and before.kind != "file"):
                continue
            if before is None or before.content != after.content:
                try:
                    old = self._log.blobs.content(before.content) if before else None
                    yield path, old, self._log.blobs.content(after.content)
                except ToolError:  # of what was moved here, or is too old, the content is not kept
                    continue

    def undo(self, steps: Sequence[PathChange]) -> None:
        """Take back the steps of an earlier call, as steps of this one; nothing if any of them was overtaken."""
        for step in reversed(steps):
            self._reverse(step)

    def _prepare(self, parts: tuple[str, ...]) -> None:
        self._root.trust.check_remove(parts)
        self.expect(parts)

    def _reverse(self, step: PathChange) -> None:
        if step.source is not None:
            with (
                self._root.place_listed(step.path, check=self._root.trust.check_remove) as old,
                self._root.place_listed(step.source, create=True, check=self._prepare) as new,
                self.moving(old, new),
            ):
                os.rename(old.name, new.name, src_dir_fd=old.fd, dst_dir_fd=new.fd)
            return
        before = step.before
        if before is not None and before.is_lost:
            self.lost.append(step.path)
            return
        with (
            self._root.place_listed(step.path, create=before is not None, check=self._prepare) as place,
            self.opening(place),
        ):
            if before is None and step.after is not None and step.after.kind in ("ignored", "other"):
                self._remove_whole(place, step.after)
            elif before is None:
                if is_removable(place):
                    with self.removing(place.fd, place.name, place.path):
                        remove_entry(place)
            elif before.kind == "directory" and stat.S_ISDIR(place.mode()):
                with self.setting_mode(place, before.mode):
                    put_state(place, before, b"")
            elif before.kind == "file":
                data = self._log.blobs.content(before.content)
                with self.writing(place, data, None, before.mode):
                    if not link_again(self._root, place, before):
                        put_state(place, before, data)
            else:
                with self.making(place, before):
                    put_state(place, before, b"")

    @contextmanager
    def opening(self, place: PathHandle) -> Iterator[None]:
        """Let names in the folder of a place be changed; if we are killed meanwhile, its mode is put back too."""
        mode, folder = stat.S_IMODE(os.fstat(place.fd).st_mode), place.path.rpartition("/")[0]
        if folder and mode & stat.S_IRWXU != stat.S_IRWXU:
            opened = PathState("directory", mode | stat.S_IRWXU)
            self._pending.about_to(PathChange(folder, PathState("directory", mode), opened))
        with writable(place.fd):
            yield

    def _remove_whole(self, place: PathHandle, state: PathState) -> None:
        """Remove what a command had made, of which nothing is kept."""
        with self._taking(PathChange(place.path, state, None)):
            if stat.S_ISDIR(place.mode()):
                import shutil  # it loads the compression libraries

                shutil.rmtree(place.name, dir_fd=place.fd)
            elif place.mode():
                os.unlink(place.name, dir_fd=place.fd)


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
        with self._log.under_way(self._others) as pending:
            recorder = Recorder(self._log, pending, self._root)
            try:
                with recorder.folders:
                    yield recorder
                if recorder.changes or recorder.undoes or REFS in recorder.note:
                    done, undoes = tuple(recorder.changes), tuple(recorder.undoes)
                    made = JournalEntry(0, time.time(), tool, session, message, done, undoes, recorder.note)
                    self._log.append(made, pending.id)
            except BaseException:
                recorder.roll_back()
                raise

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
        """Take back what calls that were killed had begun; the paths that others have changed since.

        A call in a further root that this workspace does not have is left for a kit that has it.
        """
        left = []
        for call, name in self._log.cut_off():
            used = {path.split("/", 1)[0] for step in call.steps for path in (step.path, step.source) if path}
            missing = [path for one, path in call.others.items() if one in used and self._others.get(one) != path]
            if missing:
                left += [f"{path} (open a kit with this root to take a killed call back)" for path in missing]
                continue
            left += take_back(self._root, self._log, call.steps)
            self._log.forget(name)
        return left

    @property
    def _others(self) -> dict[str, str]:
        return {name: other.path for name, other in self._root.others.items()}

    def choose(self, steps: int, path: str | None, number: int | None) -> list[JournalEntry]:
        """The entries that an undo means, newest first."""
        entries = self.entries()
        gone = undone_numbers(entries)
        if number is not None:
            found = [one for one in entries if one.number == number and number not in gone]
        else:
            standing = [one for one in entries if one.has_effect and not one.undoes and one.number not in gone]
            touching = [one for one in reversed(standing) if path is None or _touches(one, path)]
            found = touching[:steps]
        if not found or (number is None and len(found) < steps):
            raise _nothing(f"change of {path!r}" if path else "change", len(found), number)
        return found

    def undo(self, entry: JournalEntry, recorder: Recorder) -> None:
        """Put everything that an entry touched back; ToolError, and nothing done, if others changed it since."""
        left = {path: (change, *self._is_as_left(path, change)) for path, (_, change) in left_by([entry]).items()}
        overtaken = {path: (change, data) for path, (change, same, data) in left.items() if not same}
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
        entries = self.entries()
        chosen = entries_after(entries, find_point(entries, to))
        refused = self._refusals(chosen, partial=partial)
        if refused:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"Nothing was changed: these cannot be taken back to {to!r}. "
                "Move aside what others changed; `partial` leaves alone what is not kept.\n" + "\n".join(refused),
                details={"refused": refused},
            )
        for entry in chosen:
            self.undo(entry, recorder)
        return chosen, entries[-1].number if entries else 0

    def preview_rewind(self, to: str) -> tuple[list[JournalEntry], list[str]]:
        """What a rewind would undo, newest first, and the paths that it would refuse, each with the reason."""
        entries = self.entries()
        chosen = entries_after(entries, find_point(entries, to))
        return chosen, self._refusals(chosen, partial=False)

    def _refusals(self, chosen: Sequence[JournalEntry], *, partial: bool) -> list[str]:
        refused = [
            f"{path!r} (changed by others since entry {entry.number}, {entry.tool})"
            for path, (entry, change) in left_by(chosen[::-1]).items()
            if not self._is_as_left(path, change)[0]
        ]
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

    def _is_as_left(self, path: str, change: PathChange) -> tuple[bool, bytes | None]:
        """Whether what an entry left at a path is still there, and the bytes that are there now."""
        known = change.after
        if change.before is not None and change.before.is_lost:
            return True, None  # an undo leaves it alone
        _, root, parts = self._root.owner(tuple(path.split("/")))
        try:  # not through a link that stands where there was a folder
            with open_dir(root.fd, parts[:-1]) as folder:
                if known is not None and known.is_lost:
                    return is_still(folder, parts[-1], known), None
                now, data = look(folder, parts[-1])
        except (FileNotFoundError, NotADirectoryError):
            now, data = None, None
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


def _with_attributes(state: PathState | None, folder: int, name: str) -> PathState | None:
    """The state of what has a name in an open folder, with its time and its extended attributes if it has any."""
    if state is None or state.kind == "link":
        return state
    attributes = read_attributes(f"/proc/self/fd/{folder}/{name}")
    if not attributes:
        return state
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return replace(state, mtime_ns=status.st_mtime_ns, attributes=attributes)


def _nothing_to_do() -> None:
    """There are no jobs that write."""


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
