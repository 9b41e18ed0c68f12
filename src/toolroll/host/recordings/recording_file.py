"""The file of a recording: whole lines, for its owner alone; several processes may write."""

from __future__ import annotations

import fcntl
import os


class RecordingFile:
    """A recording that is being written. Lines are appended whole."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    @property
    def is_new(self) -> bool:
        return os.fstat(self._fd).st_size == 0

    def add(self, line: bytes, *, first: bool = False) -> None:
        """Write a line; `first`: unless another process has begun the file."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            rest = memoryview(line if self.is_new or not first else b"")
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._fd)


def is_beneath(path: str, folder: str) -> bool:
    """Whether a file would be in a folder, whatever links lead there."""
    top, above = os.stat(folder), os.path.dirname(os.path.abspath(path))
    while os.path.dirname(above) != above:
        if os.path.exists(above) and os.path.samestat(os.stat(above), top):
            return True
        above = os.path.dirname(above)
    return False
