"""Where forks are kept: folders of the user's cache, each locked by the process that uses it."""

from __future__ import annotations

import fcntl
import itertools
import os
import struct
import tempfile
from contextlib import suppress
from functools import cached_property

from toolroll.host.files.copies import remove_tree
from toolroll.host.forks.overlay import MountTable, has_foreign_owner, unmount
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.user_folders import cache_dir

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS
_UNRELATED = 0x20000  # FS_TOPDIR_FL
_LOCK, STATE, UPPER, WORK = "lock", "state", "upper", "work"


class ForkPlace:
    """A folder for one fork: its workspace, and what a kit keeps beside it. `close` removes all of it."""

    def __init__(self, path: str, name: str, home: ForkHome) -> None:
        """`path` is a new folder, `name` that of the workspace."""
        self.path = path
        self.home = home
        # The folder has the name of the workspace, for programs that show or use it.
        self.workspace = os.path.join(path, "files", name)
        for one in (path, os.path.dirname(self.workspace), self.workspace):
            os.mkdir(one, 0o700)

    def folder(self, name: str) -> str:
        """A folder of this name beside the workspace."""
        path = os.path.join(self.path, name)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        return path

    def close(self) -> None:
        _unmount(self.path)
        self.home.mounts.take_change()
        remove_tree(self.path)


class ForkHome:
    """A folder for the forks of one kit, locked while it is in use. `close` removes it."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._name = os.path.basename(workspace) or "root"
        while not self._make(_choose_folder(workspace)):
            pass
        _spread(self.path)
        self._numbers = itertools.count(1)
        self.mounts = MountTable()

    def _make(self, above: str) -> bool:
        """Make it; False if another process has removed the folder above, or has swept it before it was locked."""
        sweep(above)
        try:
            return self._hold(tempfile.mkdtemp(prefix="forks-", dir=above))
        except FileNotFoundError:
            return False

    def _hold(self, path: str) -> bool:
        self.path, lock = path, os.path.join(path, _LOCK)
        self._held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        if os.path.exists(lock):
            return True
        os.close(self._held)
        return False

    def make_place(self) -> ForkPlace:
        return ForkPlace(os.path.join(self.path, str(next(self._numbers))), self._name, self)

    @cached_property
    def has_foreign_owner(self) -> bool:
        """Whether files of the workspace belong to others; looked for once."""
        return has_foreign_owner(self._workspace)

    def close(self) -> None:
        self.mounts.close()
        _remove_home(self.path)
        os.close(self._held)
        with suppress(OSError):
            os.rmdir(os.path.dirname(self.path))


def _spread(path: str) -> None:
    """Let ext4 keep the folders in this one apart from each other, as it does with those of different users.

    Else all forks are in one group of its inodes. Without a journal ext4 does not use an inode again for some minutes,
    and every new file is looked for past all that were removed there: a sixth of the CPU of many short forks.
    """
    with suppress(OSError), closing_fd(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as folder:
        flags = struct.unpack("l", fcntl.ioctl(folder, _GET_FLAGS, struct.pack("l", 0)))[0]
        fcntl.ioctl(folder, _SET_FLAGS, struct.pack("l", flags | _UNRELATED))


def sweep(above: str) -> None:
    """Remove the forks of processes that were killed."""
    try:
        names = os.listdir(above)
    except FileNotFoundError:  # the last one has been removed
        return
    for name in names:
        path = os.path.join(above, name)
        try:
            fd = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # another process makes or removes it now
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_home(path)
        except (BlockingIOError, FileNotFoundError):  # it is used, or was removed before it was locked
            pass
        finally:
            os.close(fd)


def _remove_home(path: str) -> None:
    for name in os.listdir(path):
        if name != _LOCK:
            _unmount(os.path.join(path, name))
    remove_tree(path)


def _unmount(path: str) -> None:
    files = os.path.join(path, "files")
    with suppress(OSError):
        for name in os.listdir(files):
            unmount(os.path.join(files, name))


def _choose_folder(workspace: str) -> str:
    """A folder on the file system of the workspace, where there is one: only there files can be cloned."""
    device = os.stat(workspace).st_dev
    cache = os.path.join(cache_dir(), "forks")
    temporary = os.path.join(tempfile.gettempdir(), f"toolroll-forks-{os.geteuid()}")
    for path in (cache, temporary):
        with suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
            found = os.lstat(path)
            if found.st_uid == os.geteuid() and found.st_dev == device:
                return path
    os.makedirs(cache, mode=0o700, exist_ok=True)
    return cache
