"""Record what a call does, step by step: each step is written down before it is taken."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from toolroll.host.files.atomic import read_attributes
from toolroll.host.files.journal.effects import net_effects
from toolroll.host.files.journal.entry import PathChange, PathState, is_kept_kind, look
from toolroll.host.files.journal.log import JournalLog
from toolroll.host.files.journal.pending import PendingSteps
from toolroll.host.files.journal.restore import (
    find_names,
    is_folder,
    is_removable,
    link_again,
    put_state,
    take_back,
    writable,
)
from toolroll.host.files.openat import FolderSync, PathHandle
from toolroll.host.files.root import Root
from toolroll.result import ToolError


class Recorder:
    """Records what a call does to the names and contents of the workspace."""

    def __init__(
        self, log: JournalLog, pending: PendingSteps, root: Root, take_turn: Callable[[], object] = tuple
    ) -> None:
        self._log = log
        self._pending = pending
        self._root = root
        self.take_turn = take_turn
        """Keeps other calls from changing the workspace until this one has ended; the first step does it too."""
        self.folders = FolderSync()
        self.held = log.hold()
        self.changes: list[PathChange] = []
        self._made: set[str] = set()
        self.undoes: list[int] = []
        self.lost: list[str] = []
        """What an undo could not put back, because its content was not kept."""
        self.kept: list[str] = []
        """What an undo left alone, because others changed it while the undo was under way."""
        self.note: dict[str, Any] = {}
        self._aside: list[PathChange] = []
        self._failed: list[PathChange] = []  # steps that may have been taken in part

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
        with self._noting_failure(step):
            yield
            self.written(step, place.status(), read_attributes(f"/proc/self/fd/{place.fd}/{place.name}"))

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
        self.held.link(place.fd, place.name, place.path, state)
        return PathChange(place.path, state, PathState("file", known if known is not None else -1, kept))

    def about_to(self, *steps: PathChange) -> None:
        """Planned steps are going to be taken, in this order: they are taken back if we are killed."""
        self._pending.about_to(*steps)

    def written(self, step: PathChange, status: os.stat_result, attributes: Mapping[str, bytes] | None = None) -> None:
        """A planned write was done, and this stands there now; `attributes` if they may be others than before."""
        before, after = step.before, step.after
        if after is None:
            return
        after = PathState("file", stat.S_IMODE(status.st_mode), after.content)
        if before is not None and attributes is not None and attributes != before.attributes:
            before = replace(before, mtime_ns=before.mtime_ns or status.st_mtime_ns)
            after = replace(after, mtime_ns=status.st_mtime_ns, attributes=attributes)
        elif before and (before.kind, before.mode, before.content) == ("file", after.mode, after.content):
            return
        self.changes.append(PathChange(step.path, before, after))

    @contextmanager
    def setting_mode(self, place: PathHandle, mode: int) -> Iterator[None]:
        """Around a change of a file's permissions."""
        state = self._kept(place, None, None)
        step = PathChange(place.path, state, None if state is None else replace(state, mode=mode))
        self._pending.about_to(step)
        with self._noting_failure(step):
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
        self.take_turn()
        state, data = look(fd, name)
        if data is not None:
            self._log.blobs.keep(data)
        before = self._describe(state, fd, name, path)
        self.held.link(fd, name, path, state)
        return self._taking(PathChange(path, before, None))

    def remove(self, fd: int, name: str, path: str) -> None:
        """Remove one file, link or empty folder."""
        with self.removing(fd, name, path):
            if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                self.held.remove_folder(fd, name, path)
            else:
                os.unlink(name, dir_fd=fd)

    def making(self, place: PathHandle, state: PathState) -> AbstractContextManager[None]:
        """Around the making of a folder or a link."""
        return self._taking(PathChange(place.path, None, state))

    def moving(self, old: PathHandle, new: PathHandle) -> AbstractContextManager[None]:
        """Around a rename to a name that is free, or will be replaced and was recorded as removed."""
        self.take_turn()
        state, _ = look(old.fd, old.name)
        return self._taking(PathChange(new.path, None, state, source=old.path))

    @contextmanager
    def _taking(self, step: PathChange) -> Iterator[None]:
        """Around one step, which is written down before it is taken."""
        self._pending.about_to(step)
        with self._noting_failure(step):
            yield
        self.changes.append(step)

    @contextmanager
    def _noting_failure(self, step: PathChange) -> Iterator[None]:
        """Around what takes a step: if the system fails in it, the step is taken back like those that were done."""
        try:
            yield
        except (ToolError, FileExistsError):  # others changed what is there: nothing was done
            raise
        except BaseException:
            self._failed.append(step)
            raise

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
            self.take_turn()
            state, data = look(place.fd, place.name)
            if data is not None:
                self._log.blobs.keep(data)
        else:
            state = PathState("file", stat.S_IMODE(place.status().st_mode), self._log.blobs.keep(data, known))
        return self._describe(state, place.fd, place.name, place.path)

    def _describe(self, state: PathState | None, folder: int, name: str, path: str) -> PathState | None:
        """The state of what has a name in an open folder, with its attributes and time, and its other names."""
        if state is None or state.kind == "link":
            return state
        attributes = read_attributes(f"/proc/self/fd/{folder}/{name}")
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if state.kind == "file" and status.st_nlink > 1 + self.held.holds(path, state):
            state = replace(state, names=tuple(find_names(self._root, status, path)))
        return replace(state, mtime_ns=status.st_mtime_ns, attributes=attributes) if attributes else state

    def roll_back(self) -> None:
        """Take back everything, the last step first."""
        steps = [*self.changes, *self._aside, *self._failed]
        self.changes, self._aside, self._failed = [], [], []
        taken = take_back(self._root, self._log, steps, self.held)
        if taken.failed:
            self._pending.is_kept = True

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
        try:
            reached = self._root.place_listed(step.path, create=before is not None, check=self._prepare)
        except FileNotFoundError:  # it is gone already, with its folder
            return
        with reached as place, self.opening(place):
            if self._is_others(place, step):
                self.kept.append(step.path)
            elif before is not None:
                self._put(place, before)
            elif step.after is not None and step.after.kind in ("ignored", "other"):
                self._remove_whole(place, step.after)
            elif is_removable(place):
                self.remove(place.fd, place.name, place.path)

    def _put(self, place: PathHandle, before: PathState) -> None:
        if before.kind == "directory" and stat.S_ISDIR(place.mode()):
            with self._setting_state(place, before):
                put_state(place, before, b"")
        elif before.kind == "file":
            data = self._log.blobs.content(before.content)
            with self.writing(place, data, None, before.mode):
                if not link_again(self._root, place, before):
                    put_state(place, before, data)
        else:
            with self.making(place, before):
                put_state(place, before, b"")

    def _is_others(self, place: PathHandle, step: PathChange) -> bool:
        """Whether others have put something else here by now than the step left, or than nothing."""
        if step.after is not None and (step.after.is_lost or step.after.kind == "directory"):
            return False
        mode = place.mode()
        if step.after is None or not mode:
            return bool(mode) and not (stat.S_ISDIR(mode) and step.before is not None)
        now = look(place.fd, place.name)[0] if is_kept_kind(mode) else None
        return now is None or (now.kind, now.content) != (step.after.kind, step.after.content)

    def _setting_state(self, place: PathHandle, target: PathState) -> AbstractContextManager[None]:
        """Around what gives a folder the mode, times and attributes that it had."""
        now = read_attributes(f"/proc/self/fd/{place.fd}/{place.name}")
        if not target.mtime_ns or now == target.attributes:
            return self.setting_mode(place, target.mode)
        status = place.status()
        state = PathState("directory", stat.S_IMODE(status.st_mode), "", status.st_mtime_ns, now)
        return self._taking(PathChange(place.path, state, target))

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
