"""List, delete, move and copy files and folders of a workspace."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from toolroll.host.files import atomic
from toolroll.host.files.journal.entry import MOST_KEPT, PathState, look
from toolroll.host.files.openat import PathHandle
from toolroll.host.files.root import Root
from toolroll.host.files.workspace import Workspace
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.result import ErrorCode, ToolError

Kind = Literal["file", "directory", "link", "other"]
_LISTED = 200_000  # entries that one call lists
_COPIED = 10_000  # entries that one call copies or removes
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class TreeItem:
    """One name: what it is, and for a link where it leads."""

    path: str
    kind: Kind
    size: int
    modified: float
    mode: int
    target: str | None = None
    accessed: float = 0.0
    changed: float = 0.0
    """When its content or its metadata changed last."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class FileTree:
    """Lists, removes, moves and copies. Links are named, never followed, except on the way to a folder."""

    def __init__(self, files: Workspace) -> None:
        self._files = files

    def folder(
        self, path: str, depth: int, token: CancelToken, closed: list[str] | None = None
    ) -> tuple[str, list[TreeItem]]:
        """A folder's real path, and what is in it down to `depth` levels, folders before what is in them.

        Folders in it that cannot be entered are added to `closed`; without that they are an error.
        """
        root, where = self._files.where(path)
        try:
            fd = root.folder(where)
        except FileNotFoundError:
            raise self._files.missing(path) from None
        try:
            parts = root.real(fd)
            real = "/".join(parts)
            hidden = frozenset("/".join((*parts, one)) for one in root.trust.hidden_in(parts))
            found = _items(fd, real, depth, token, closed, hidden)
            return real, list(islice(found if parts else chain(found, _roots(root, depth, token, closed)), _LISTED))
        finally:
            os.close(fd)

    def item(self, path: str) -> TreeItem:
        """What a path names; a link is reported as a link."""
        root, where = self._files.where(path)
        if root.text(where) == ".":
            return _item(root.fd, ".", ".")
        if (other := root.others.get(root.text(where))) is not None:
            return _item(other.fd, ".", root.text(where))
        with self._place(path, follow=False) as place:
            return _item(place.fd, place.name, place.path)

    def delete(self, path: str, recursive: bool) -> int:
        """Remove a file, link or folder; how many entries went. A folder with content needs `recursive`."""
        with self._place(path, follow=False, write=True) as place:
            is_folder = _item(place.fd, place.name, place.path).kind == "directory"
            count = self._count(place, path, recursive) if is_folder else 1
            self._remove(place.fd, place.name, place.path)
            self._files.records.forget(place.path)
            return count

    def move(self, source: str, target: str, overwrite: bool) -> tuple[str, str]:
        """Rename a file, link or folder; the real paths of both ends."""
        with self._place(source, follow=False, write=True) as old:
            kind = _item(old.fd, old.name, old.path).kind
            if kind == "directory":
                self._count(old, source, recursive=True)
            with self._target(target, old) as new:
                if kind == "directory":
                    _check_outside(old, new, source, target)
                self._check_free(new, target, overwrite)
                self._rename(old, new, kind)
                self._files.records.forget(old.path)
                self._files.records.forget(new.path)
                return old.path, new.path

    def _rename(self, old: PathHandle, new: PathHandle, kind: Kind) -> None:
        recorder = self._files.recorder
        taken = bool(new.mode())
        if recorder and taken:
            with recorder.removing(new.fd, new.name, new.path):
                pass  # by the rename itself
        with recorder.moving(old, new) if recorder else nullcontext():
            if taken and os.path.samestat(old.status(), new.status()):
                os.unlink(old.name, dir_fd=old.fd)  # two names of one file, which a rename leaves both
            elif taken or kind != "file" or not _linked(old, new):
                os.rename(old.name, new.name, src_dir_fd=old.fd, dst_dir_fd=new.fd)

    def _remove(self, fd: int, name: str, path: str) -> None:
        """Remove one name and all below it, the deepest first."""
        if _item(fd, name, path).kind == "directory":
            with closing_fd(os.open(name, _OPEN, dir_fd=fd)) as below:
                for inner in os.listdir(below):
                    self._remove(below, inner, f"{path}/{inner}")
        recorder = self._files.recorder
        if recorder is not None:
            recorder.remove(fd, name, path)
        elif _item(fd, name, path).kind == "directory":
            os.rmdir(name, dir_fd=fd)
        else:
            os.unlink(name, dir_fd=fd)

    def make_folder(self, path: str) -> tuple[str, bool]:
        """Make a folder and those above it that are missing; its path, and whether it is new."""
        root, where = self._files.where(path)
        if root is not self._files.root:
            raise ToolError(ErrorCode.PERMISSION, f"{path!r} is not a place to write to.")
        if _is_folder(where, self._files):
            return root.text(where), False
        recorder = self._files.recorder
        with root.place(where, create=True, follow=False, check=self._files.prepare) as new:
            with recorder.making(new, PathState("directory", -1)) if recorder else nullcontext():
                os.mkdir(new.name, dir_fd=new.fd)
            return new.path, True

    def copy(self, source: str, target: str, overwrite: bool, token: CancelToken) -> tuple[str, int]:
        """Copy a file or a folder with all that is in it; the real path of the copy and how many files."""
        with self._place(source) as old, self._target(target, old) as new:
            kind = _item(old.fd, old.name, old.path).kind
            self._check_free(new, target, overwrite and kind == "file")
            if kind == "directory":
                _check_outside(old, new, source, target)
            if stat.S_ISLNK(new.mode()):
                raise ToolError(ErrorCode.CONFLICT, f"{target!r} is a link. Delete it first, or name what it leads to.")
            count = self._copy(old, new, token, 0)
            self._files.records.forget(new.path)
            return new.path, count

    def exists(self, path: str) -> bool:
        """Whether anything is there."""
        try:
            self.item(path)
        except ToolError as error:
            if error.code is ErrorCode.NOT_FOUND:
                return False
            raise
        return True

    def is_file(self, path: str) -> bool:
        """Whether a file is there; what cannot be reached is not there."""
        try:
            root, where = self._files.where(path)
            os.close(root.file(where))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return False
        return True

    def is_empty_folder(self, path: str) -> bool:
        """Whether a folder without content is there."""
        try:
            root, where = self._files.where(path)
            fd = root.folder(where)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            return not os.listdir(fd)
        finally:
            os.close(fd)

    def set_executable(self, path: str, on: bool) -> None:
        """Set or clear the right to execute a file, for each class that may read it."""
        self.set_mode(path, lambda now: now | ((now & 0o444) >> 2) if on else now & ~0o111)

    def set_mode(self, path: str, change: Callable[[int], int]) -> None:
        """Give a file other permissions, made from those that it has."""
        with self._place(path, write=True) as place:
            mode = change(stat.S_IMODE(place.mode()))
            recorder = self._files.recorder
            with recorder.setting_mode(place, mode) if recorder else nullcontext():
                _part(place)
                os.chmod(place.name, mode, dir_fd=place.fd)

    @contextmanager
    def _place(self, path: str, *, follow: bool = True, write: bool = False) -> Iterator[PathHandle]:
        """The place of something that exists."""
        root, where = self._files.where(path)
        if write and root is not self._files.root:
            raise ToolError(ErrorCode.PERMISSION, f"{path!r} is a kept output: it can be read, not changed.")
        try:
            place = root.place(where, follow=follow, check=self._files.may_remove if write else None)
        except FileNotFoundError:
            raise self._files.missing(path) from None
        with place:
            if not place.mode():
                raise self._files.missing(path)
            yield place

    @contextmanager
    def _target(self, target: str, old: PathHandle) -> Iterator[PathHandle]:
        """Where something goes: the name given, or into the folder given under its old name."""
        root, where = self._files.where(target)
        if root is not self._files.root:
            raise ToolError(ErrorCode.PERMISSION, f"{target!r} is not a place to write to.")
        into = where.endswith("/") or _is_folder(root.text(where), self._files)
        path = f"{where.rstrip('/')}/{old.name}" if into else where
        with root.place(path, create=True, follow=False, check=self._files.prepare) as new:
            if new.parts == old.parts:
                raise ToolError(ErrorCode.VALIDATION, f"{target!r} is the same as the source. Choose another name.")
            yield new

    def _check_free(self, new: PathHandle, target: str, overwrite: bool) -> None:
        if not overwrite and new.mode():
            raise ToolError(
                ErrorCode.CONFLICT,
                f"{target!r} exists. Set `overwrite` to replace it, or choose another name.",
            )

    def _count(self, place: PathHandle, path: str, recursive: bool) -> int:
        """How many entries a folder is, itself included; none of them may be protected."""
        with closing_fd(os.open(place.name, _OPEN, dir_fd=place.fd)) as fd:
            count = 1
            for item in _items(fd, place.path, 200, CancelToken()):
                if not recursive:
                    raise ToolError(
                        ErrorCode.CONFLICT,
                        f"{path!r} is not empty. Set `recursive` to delete all that is in it.",
                    )
                self._files.may_write(tuple(item.path.split("/")))
                count += 1
        return count

    def _copy(self, old: PathHandle, new: PathHandle, token: CancelToken, count: int) -> int:
        token.check()
        if count >= _COPIED:
            raise ToolError(ErrorCode.TOO_LARGE, f"There are more than {_COPIED} entries. Copy parts of it.")
        item = _item(old.fd, old.name, old.path)
        if item.kind == "directory":
            return self._copy_folder(old, new, token, count)
        recorder = self._files.recorder
        if item.target is not None:
            link = PathState("link", 0, item.target)
            with recorder.making(new, link) if recorder else nullcontext():
                os.symlink(item.target, new.name, dir_fd=new.fd)
        else:
            data, mode = self._files.data(old.path, most=MOST_KEPT), item.mode & 0o777
            with recorder.writing(new, data, None, mode) if recorder else nullcontext():
                atomic.write(new, data, stage=None, mode=mode, durable=False)
        return count + 1

    def _copy_folder(self, old: PathHandle, new: PathHandle, token: CancelToken, count: int) -> int:
        recorder = self._files.recorder
        with recorder.making(new, PathState("directory", -1)) if recorder else nullcontext():
            os.mkdir(new.name, 0o700 | stat.S_IMODE(old.mode()) & 0o777, dir_fd=new.fd)
        fds = [os.open(place.name, _OPEN, dir_fd=place.fd) for place in (old, new)]
        try:
            for name in sorted(os.listdir(fds[0])):
                ends = [
                    PathHandle(fd, name, (*place.parts, name), place.shown)
                    for fd, place in zip(fds, (old, new), strict=True)
                ]
                self._files.root.trust.check_read(ends[0].parts)
                self._files.may_write(ends[1].parts)
                count = self._copy(ends[0], ends[1], token, count)
        finally:
            for fd in fds:
                os.close(fd)
        return count


def _items(
    fd: int,
    prefix: str,
    depth: int,
    token: CancelToken,
    closed: list[str] | None = None,
    hidden: frozenset[str] = frozenset(),
) -> Iterator[TreeItem]:
    token.check()
    for name in sorted(os.listdir(fd)):
        path = f"{prefix}/{name}" if prefix else name
        try:
            item = _item(fd, name, path)
        except FileNotFoundError:
            continue  # it went while we were looking
        yield item
        if item.kind == "directory" and depth > 1 and path not in hidden:
            try:
                below = os.open(name, _OPEN, dir_fd=fd)
            except OSError:
                if closed is None:
                    raise
                closed.append(path)
                continue
            try:
                yield from _items(below, path, depth - 1, token, closed, hidden)
            finally:
                os.close(below)


def _roots(root: Root, depth: int, token: CancelToken, closed: list[str] | None) -> Iterator[TreeItem]:
    """The further roots of a workspace, and what is in them."""
    for name, other in root.others.items():
        yield _item(other.fd, ".", name)
        if depth > 1:
            hidden = frozenset(f"{name}/{one}" for one in other.trust.hidden_in(()))
            yield from _items(other.fd, name, depth - 1, token, closed, hidden)


def _item(fd: int, name: str, path: str) -> TreeItem:
    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    kinds: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    kind = kinds.get(stat.S_IFMT(status.st_mode), "other")
    target = os.readlink(name, dir_fd=fd) if kind == "link" else None
    times = status.st_atime, status.st_ctime
    return TreeItem(path, kind, status.st_size, status.st_mtime, status.st_mode, target, *times)


def _linked(old: PathHandle, new: PathHandle) -> bool:
    """Give a file its new name by a link, which fails if that was taken meanwhile; False if it cannot be linked."""
    try:
        os.link(old.name, new.name, src_dir_fd=old.fd, dst_dir_fd=new.fd)
    except OSError as error:
        if error.errno not in atomic.NO_LINKS:
            raise
        return False
    os.unlink(old.name, dir_fd=old.fd)
    return True


def _check_outside(old: PathHandle, new: PathHandle, source: str, target: str) -> None:
    if new.parts[: len(old.parts)] == old.parts:
        raise ToolError(
            ErrorCode.VALIDATION, f"{target!r} is inside {source!r}: a folder cannot hold itself. Choose another place."
        )


def _is_folder(path: str, files: Workspace) -> bool:
    try:
        os.close(files.root.folder(path))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return False
        raise
    return True


def _part(place: PathHandle) -> None:
    """Give a file that has other names an inode of its own: those may be outside, and are not to be changed."""
    if place.status().st_nlink > 1:
        _, data = look(place.fd, place.name)
        if data is not None:
            atomic.write(place, data, stage=None)
