"""A lock that threads and processes share: one of them at a time, and it is free when its holder is gone."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from toolroll.host.runtime.cancellation import CancelToken

_PAUSE = 0.005  # seconds


@contextmanager
def locked(folder: int, name: str, token: CancelToken) -> Iterator[None]:
    """Hold the lock of this name in a folder of the state; ToolError if the call ends while it waits."""
    # Opened anew each time: a lock belongs to what was opened, so threads of one process exclude each other too.
    fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        while not _taken(fd):
            token.check()
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(fd)


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
