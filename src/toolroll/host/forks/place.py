"""Where forks are kept: folders of the user's cache, each locked by the process that uses it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress

from toolroll.host.files.copies import remove_tree
from toolroll.host.forks.overlay import unmount
from toolroll.host.runtime.user_folders import cache_dir

_LOCK, STATE, UPPER, WORK = "lock", "state", "upper", "work"


class ForkPlace:
    """A folder for one fork: its workspace, and what a kit keeps beside it. `close` removes all of it."""

    def __init__(self, workspace: str) -> None:
        above = _choose_folder(workspace)
        sweep(above)
        self.path = tempfile.mkdtemp(prefix="fork-", dir=above)
        self._held = os.open(os.path.join(self.path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        # The folder has the name of the workspace, for programs that show or use it.
        self.workspace = os.path.join(self.path, "files", os.path.basename(workspace) or "root")
        os.makedirs(self.workspace, mode=0o700)

    def folder(self, name: str) -> str:
        """A folder of this name beside the workspace."""
        path = os.path.join(self.path, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def close(self) -> None:
        _remove(self.path)
        os.close(self._held)


def sweep(above: str) -> None:
    """Remove the forks of processes that were killed."""
    for name in os.listdir(above):
        path = os.path.join(above, name)
        try:
            fd = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # another process makes or removes it now
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
        except BlockingIOError:
            pass
        finally:
            os.close(fd)


def _remove(path: str) -> None:
    files = os.path.join(path, "files")
    with suppress(OSError):
        for name in os.listdir(files):
            unmount(os.path.join(files, name))
    remove_tree(path)


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
