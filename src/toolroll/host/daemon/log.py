"""The log of the daemons of a user: one file of bounded size."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from toolroll.host.runtime.user_folders import state_dir

_MAX_BYTES = 1 << 20


def log_path() -> str:
    """Where the log is, whether or not it exists."""
    return os.path.join(state_dir(), "daemon.log")


def append_to_log() -> int:
    """A descriptor that appends to the log; of a log that is full, the newer half is kept before."""
    path = log_path()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    _trim(fd)
    return fd


def write_log(text: str) -> None:
    """Add a line with the time and the process. Where that fails, the daemon goes on."""
    line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} process {os.getpid()}: {text.rstrip()}\n"
    with suppress(OSError):
        fd = append_to_log()
        try:
            os.write(fd, line.encode("utf-8", "backslashreplace"))
        finally:
            os.close(fd)


def _trim(fd: int) -> None:
    import fcntl

    if os.fstat(fd).st_size <= _MAX_BYTES:
        return
    fcntl.flock(fd, fcntl.LOCK_EX)
    size = os.fstat(fd).st_size
    if size > _MAX_BYTES:  # no other daemon was first
        kept = os.pread(fd, _MAX_BYTES // 2, size - _MAX_BYTES // 2).partition(b"\n")[2]
        os.ftruncate(fd, 0)
        os.write(fd, kept)
    fcntl.flock(fd, fcntl.LOCK_UN)
