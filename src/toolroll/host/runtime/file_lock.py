"""A file lock between threads and processes; it is free when its holder has ended."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.dir_entries import closing_fd

_RETRY_SECONDS = 0.005  # seconds
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def hold_lock(folder: int, name: str, token: CancelToken) -> Iterator[None]:
    """Hold the lock of this name in a folder of the state; ToolError if the call ends while it waits."""
    with closing_fd(open_lock(folder, name)) as fd:
        while not take_lock(fd):
            token.check()
            time.sleep(_RETRY_SECONDS)
        yield


@contextmanager
def try_lock(folder: int, name: str) -> Iterator[bool]:
    """Hold the lock if it is free; yields whether it is held."""
    with closing_fd(open_lock(folder, name)) as fd:
        yield take_lock(fd)


def open_lock(folder: int, name: str) -> int:
    """A descriptor of a lock. A lock belongs to it, so that threads of one process exclude each other too."""
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)


def take_lock(fd: int, how: int = fcntl.LOCK_EX) -> bool:
    """Take a lock if it is free; whether it was."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_held_folder(above: str) -> tuple[str, int]:
    """A new folder in one that holds nothing else, and a descriptor that holds it until that is closed.

    Those that are not held any more, because their process was killed, are removed.
    """
    import shutil
    import tempfile

    with closing_fd(os.open(above, _FOLDER)) as place:
        if os.fstat(place).st_uid != os.geteuid():
            raise PermissionError(f"{above!r} belongs to another user")
        fcntl.flock(place, fcntl.LOCK_EX)  # so that no other process removes a new one before it is held
        for name in os.listdir(place):
            path = os.path.join(above, name)
            with suppress(OSError), closing_fd(os.open(path, _FOLDER)) as fd:
                if take_lock(fd):
                    shutil.rmtree(path, ignore_errors=True)
        made = tempfile.mkdtemp(prefix="toolroll-", dir=above)
        held = os.open(made, _FOLDER)
        take_lock(held)
        return made, held
