"""Which kits run something in a workspace now, in this process or another: known by locks in the state folder.

A lock ends with the process that holds it, so a killed kit is not taken for one that still runs something.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_RUNNING = "running"


class InUse:
    """The use of one workspace by one kit. `folder` is a descriptor of a folder of the state, which stays open."""

    def __init__(self, folder: int) -> None:
        self._folder = folder
        self._turn = self._open("turn")
        self._users = self._open("users")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One kit at a time may begin, end, or put things back."""
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def is_free(self) -> bool:
        """Within a turn, and before `begin` or after `end`: whether no other kit runs anything."""
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(self._users, fcntl.LOCK_UN)
        return True

    def was_cut_off(self) -> bool:
        """While the workspace is free: whether a kit that ran something was killed before it could end."""
        try:
            os.stat(_RUNNING, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def begin(self) -> None:
        """Within a turn: this kit runs something from now on."""
        fcntl.flock(self._users, fcntl.LOCK_SH)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(_RUNNING, flags, 0o600, dir_fd=self._folder))

    def end(self) -> None:
        """Within a turn: this kit runs nothing any more."""
        fcntl.flock(self._users, fcntl.LOCK_UN)
        if self.is_free():
            with suppress(FileNotFoundError):
                os.unlink(_RUNNING, dir_fd=self._folder)

    def close(self) -> None:
        """Let go of the locks."""
        turn, self._turn, users, self._users = self._turn, -1, self._users, -1
        for fd in (turn, users):
            if fd >= 0:
                os.close(fd)

    def _open(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self._folder)
