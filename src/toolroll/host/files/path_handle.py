"""Where a name lives: what a change is made through."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

from toolroll.host.files.openat import LIST, STEP, link_target, os_error

Check = Callable[[tuple[str, ...]], None]
"""Given the real components of a path; raises if nothing may be made there."""


_MOST_OPEN = 64  # folders that wait to be synced
_PATIENCE, _PAUSE = 5.0, 0.001  # seconds: others hold a folder for the moment of a rename


@dataclass(slots=True)
class PathHandle:
    """Where a name lives: an open folder and a name in it, whatever happens to the path meanwhile.

    Use it as a context manager. When the block fails, the folders that were made for it are removed again.
    """

    fd: int
    """The folder; only to be passed as `dir_fd`, since reading it may not be allowed."""
    name: str
    parts: tuple[str, ...]
    """Where it really is beneath the root; links and ".." are gone."""
    shown: str
    """The path as the caller gave it, for messages."""
    is_dir: bool = False
    """The path ended in a slash, so that it can only name a folder."""
    missing: tuple[str, ...] = ()
    """The folders between `fd` and the name that are yet to be made."""
    folder_mode: int = 0o777
    """Their permissions, less the umask."""
    made: list[tuple[int, str]] = field(default_factory=list)
    """The folders that have been made, each as its open parent and its name."""

    @property
    def path(self) -> str:
        return "/".join(self.parts)

    def beside(self, name: str) -> PathHandle:
        """The place of another name in the same folder, which must not be missing."""
        parts = (*self.parts[:-1], name)
        return PathHandle(os.dup(self.fd), name, parts, "/".join(parts))

    def link(self) -> str | None:
        """What the name links to, or None if it is not a link."""
        if self.missing:
            return None
        try:
            return link_target(self.fd, self.name)
        except OSError as error:
            raise os_error(error.errno, self.shown) from None

    def settle(self, check: Check | None = None) -> None:
        """Make the missing folders, once `check` has seen the real components."""
        if check is not None:
            check(self.parts)
        if self.is_dir and not self.missing and stat.S_ISREG(self.mode()):
            raise os_error(errno.ENOTDIR, self.shown)
        while self.missing:
            self._enter(self.missing[0])
            self.missing = self.missing[1:]

    def mode(self) -> int:
        """The st_mode of what is there now, which may be a link; 0 if there is nothing."""
        try:
            return os.stat(self.name, dir_fd=self.fd, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return 0

    def sync(self) -> None:
        """Let the names in the folder, and of the folders made for it, survive a power cut."""
        with FolderSync() as folders:
            folders.add(self)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Look at the name and change it in the block: no other process does so through `alone` meanwhile."""
        try:
            fd = os.open(".", LIST, dir_fd=self.fd)
        except PermissionError:  # a folder that may be written but not read cannot be locked
            fd = None
        try:
            if fd is not None:
                _lock(fd)
            yield
        finally:
            if fd is not None:
                os.close(fd)

    def abandon(self) -> None:
        """Remove the folders that were made, as far as they are empty, and close."""
        for parent, name in reversed(self.made):
            with suppress(OSError):
                os.rmdir(name, dir_fd=parent)
        self.close()

    def close(self) -> None:
        """Close the folder, and those kept open for `abandon`."""
        for fd in self.folders():
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def folders(self) -> tuple[int, ...]:
        """The folder, and the parents of those that were made for it; only to be passed as `dir_fd`."""
        return (self.fd, *(parent for parent, _ in self.made))

    def _enter(self, name: str) -> None:
        # A name that turns up meanwhile is used if it is a folder; a link, dangling or not, is refused.
        fresh = False
        try:
            with suppress(FileExistsError):
                os.mkdir(name, self.folder_mode, dir_fd=self.fd)
                fresh = True
            fd = os.open(name, STEP | os.O_NOFOLLOW, dir_fd=self.fd)
        except OSError as error:
            if fresh:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=self.fd)
            raise os_error(error.errno, self.shown) from None
        if fresh:
            self.made.append((self.fd, name))
        else:
            os.close(self.fd)
        self.fd = fd


def _lock(fd: int) -> None:
    """Lock a folder, unless somebody keeps it locked for reasons of his own, or its file system has no locks."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:
            return


class FolderSync:
    """Folders whose names are to survive a power cut: when the block ends well, each is synced once."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], int] = {}

    def add(self, place: PathHandle) -> None:
        """A name of this place is new, or names another file."""
        for folder in place.folders():
            status = os.fstat(folder)
            known = status.st_dev, status.st_ino
            if known not in self._open:
                with suppress(PermissionError):  # a folder that may be written but not read cannot be synced
                    self._open[known] = os.open(".", LIST, dir_fd=folder)
        if len(self._open) >= _MOST_OPEN:
            self._sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._sync()
        self._close()

    def _sync(self) -> None:
        try:
            for fd in self._open.values():
                os.fsync(fd)
        finally:
            self._close()

    def _close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])
