"""A file lock between threads and processes; it is free when its holder has ended."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from toolroll.host.runtime.cancellation import CancelToken

_RETRY_SECONDS = 0.005  # seconds


@contextmanager
def hold_lock(folder: int, name: str, token: CancelToken) -> Iterator[None]:
    """Hold the lock of this name in a folder of the state; ToolError if the call ends while it waits."""
    fd = _open_lock(folder, name)
    try:
        while not _lock(fd):
            token.check()
            time.sleep(_RETRY_SECONDS)
        yield
    finally:
        os.close(fd)


@contextmanager
def try_lock(folder: int, name: str) -> Iterator[bool]:
    """Hold the lock if it is free; yields whether it is held."""
    fd = _open_lock(folder, name)
    try:
        yield _lock(fd)
    finally:
        os.close(fd)


def _open_lock(folder: int, name: str) -> int:
    # Opened each time: a lock belongs to the open file, so threads of one process exclude each other too.
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
