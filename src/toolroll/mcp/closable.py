"""Pipes of one client of a process that serves many: they can be closed while threads read and write."""

from __future__ import annotations

import os
import select
import threading

from toolroll.mcp.wire import LineReader, LineWriter


class ClosableReader(LineReader):
    """A `LineReader` whose input ends when it is closed."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._reading = threading.Lock()
        try:
            self._end, self._ender = os.pipe()
        except OSError:  # no descriptors are left
            os.close(fd)
            raise
        self._poll = select.poll()
        for one in (fd, self._end):
            self._poll.register(one, select.POLLIN)
        self._closed = False

    def _read(self) -> bytes:
        with self._reading:
            if not self._closed:
                self._poll.poll()
            return b"" if self._closed else super()._read()

    def close(self) -> None:
        """Let the thread that waits for input go on, and close the descriptor."""
        self._closed = True
        if self._ender >= 0:
            os.close(self._ender)
            with self._reading:
                os.close(self._end)
                os.close(self._fd)
            self._ender = -1


class ClosableWriter(LineWriter):
    """A `LineWriter` whose descriptor is closed when no thread writes to it any more."""

    _closed = False

    def flush(self) -> None:
        try:
            super().flush()
        finally:
            if self._closed:
                self.close()

    def close(self) -> None:
        """Write no more. A thread that waits for a client that does not read closes the descriptor when it can."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                if self._fd >= 0:
                    os.close(self._fd)
                    self._fd = -1
            finally:
                self._lock.release()
