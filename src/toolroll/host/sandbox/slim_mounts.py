"""A namespace with the few mounts that the commands of forks need.

Bubblewrap reads the table of mounts again for every mount that it makes, and each open fork is one more row of it. So
the commands of forks start in a namespace without those of other forks, in which only their own is added. For root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import finalize

from toolroll.host.files.system import PROC
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import is_beneath
from toolroll.host.sandbox.syscalls import run_apart

if TYPE_CHECKING:
    from toolroll.host.sandbox.syscalls import Kernel

_HERE = "/proc/thread-self/ns/mnt"
_TABLE = "/proc/thread-self/mountinfo"
_OWN_FOLDER, _NEW_MOUNTS = 0x200, 0x20000  # CLONE_FS, CLONE_NEWNS
_PRIVATE = 0x4000 | (1 << 18)  # MS_REC, MS_PRIVATE
_DETACH = 2
_CLONE = 1 | os.O_CLOEXEC  # OPEN_TREE_CLONE
_BY_DESCRIPTOR = 4  # MOVE_MOUNT_F_EMPTY_PATH
_FROM_CWD = -100  # AT_FDCWD


class SlimMounts:
    """A namespace of mounts, made once and copied for each command."""

    def __init__(self, kernel: Kernel, shown: Sequence[str], written: Sequence[str]) -> None:
        """It has the mounts above and beneath what is `shown`, and those above `written`, of which a fork is the first.

        OSError where it cannot be made.
        """
        self._kernel = kernel
        self._fd = run_apart(lambda: self._make((PROC, *shown), written))
        finalize(self, os.close, self._fd)
        if run_apart(lambda: self._find_top(written[0])) != _identity("/"):
            raise OSError(0, "the root of this process is not that of its namespace", "/")

    def _make(self, shown: Sequence[str], written: Sequence[str]) -> int:
        """A descriptor of a new namespace, in which the calling thread is from now on."""
        self._kernel.call("unshare", _NEW_MOUNTS)
        self._kernel.call("mount", b"none\0", b"/\0", 0, _PRIVATE, 0)
        for path in reversed(_list_mounts()):
            is_above = any(is_beneath(one, path) for one in (*shown, *map(os.path.dirname, written)))
            if not is_above and not any(is_beneath(path, one) for one in shown):
                self._kernel.call("umount2", os.fsencode(path) + b"\0", _DETACH)
        return os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)

    def _find_top(self, fork: str) -> tuple[int, int]:
        with self.enter(fork):
            return _identity("/")

    @contextmanager
    def enter(self, fork: str) -> Iterator[None]:
        """What the calling thread starts in the block has these mounts and that of a fork; the thread is back after it.

        It must be a thread that has begun for this: it keeps a working folder of its own.
        """
        call, path = self._kernel.call, os.fsencode(fork) + b"\0"
        with closing_fd(call("open_tree", _FROM_CWD, path, _CLONE)) as tree:
            call("unshare", _OWN_FOLDER)
            with closing_fd(os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)) as back:
                try:
                    call("setns", self._fd, _NEW_MOUNTS)
                    call("unshare", _NEW_MOUNTS)
                    call("move_mount", tree, b"\0", _FROM_CWD, path, _BY_DESCRIPTOR)
                    yield
                finally:
                    call("setns", back, _NEW_MOUNTS)


def _list_mounts() -> list[str]:
    """Where something is mounted, outer mounts first, but the root."""
    with open(_TABLE, "rb") as file:
        found = [os.fsdecode(line.split(b" ")[4].decode("unicode_escape").encode("latin-1")) for line in file]
    return [path for path in found if path != "/"]


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
