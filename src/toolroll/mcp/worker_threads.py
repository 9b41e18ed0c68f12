"""Threads that take turns at reading: whoever reads a message answers it too, so a small one never changes threads.

When an answer takes long, another thread reads on in the meantime. So nothing waits behind a long call, and a short
one costs no more than in a program with one thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_LONG = 0.005  # seconds; after this long, somebody else reads on
_QUIET = 100  # looks at a crew without work before one stops looking
_SPARE = 4  # threads that stay when there is nothing to do
_WAITING = 10_000


class Crew(Generic[T]):
    """Takes messages and handles them until there are no more. At most so many threads, besides the one that reads."""

    def __init__(
        self,
        take: Callable[[], T | None],
        handle: Callable[[T], None],
        most: int = 32,
        *,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        """`begin` is called by whoever begins to read: what the one before has put off, it may not come back to."""
        self._take = take
        self._handle = handle
        self._begin = begin
        self._most = most
        self._lock = threading.Lock()
        self._reader: int | None = None  # its ident, which is quicker to compare
        self._serial = 0  # of the message that the reader is busy with
        self._busy = False
        self._threads = 0
        self._spare = 0
        self._promoted = threading.Semaphore(0)
        self._waiting: deque[Callable[[], None]] = deque()
        self._stir = threading.Event()
        self._asleep = False
        self._ended = False

    def run(self) -> None:
        """Work until the messages or `end` end it. The thread that calls this only keeps watch."""
        with self._lock:
            self._promote()
        seen, quiet = -1, 0
        while not self._ended:
            if self._busy and self._serial == seen:
                self.hand_over(seen)
            quiet = 0 if self._busy else quiet + 1
            seen = self._serial if self._busy else -1
            self._stir.wait(None if self._sleeps(quiet) else _LONG)
            self._asleep = False
            self._stir.clear()

    def end(self) -> None:
        """Let `run` return; threads that still work are not waited for."""
        self._ended = True
        self._stir.set()

    def reads(self) -> bool:
        """Whether this thread is the one that reads."""
        return self._reader == threading.get_ident()

    def hand_over(self, serial: int | None = None) -> None:
        """Let somebody else read on, because this thread, or the one busy with that message, will take long."""
        with self._lock:
            me = serial is None and self.reads()
            # With too many busy nobody reads on, so that a client that reads nothing is not answered without an end.
            late = serial is not None and self._busy and self._serial == serial and not self._is_full(2)
            if me or late:
                self._promote()

    def work(self, job: Callable[[], None], long: bool) -> bool:
        """Do a job in this thread or, when too many are busy, later; False when too many wait already."""
        if self._is_full():  # a first look, without the lock
            with self._lock:
                if self._is_full():
                    if len(self._waiting) >= _WAITING:
                        return False
                    self._waiting.append(job)
                    return True
        if long:
            self.hand_over()
        job()
        return True

    def _is_full(self, times: int = 1) -> bool:
        return self._threads - self._spare > self._most * times

    def _sleeps(self, quiet: int) -> bool:
        if quiet < _QUIET:
            return False
        self._asleep = True  # first this, then the look: the reader does it the other way round
        return not (self._busy or self._ended)

    def _promote(self) -> None:
        self._busy = False
        self._reader = None
        if self._spare:
            self._spare -= 1
            self._promoted.release()
            return
        self._threads += 1
        threading.Thread(target=self._live, name="toolroll-mcp", daemon=True).start()

    def _live(self) -> None:
        while self._read() and self._help():
            pass

    def _read(self) -> bool:
        """Take and handle messages until somebody else does; False at the end."""
        with self._lock:
            self._reader = threading.get_ident()
        still = self._do(self._begin)
        while still and not self._ended:
            message = self._take()
            if message is None:
                self.end()
                return False
            still = self._do(self._handle, message)
        return not still

    def _do(self, job: Callable[..., None], *message: T) -> bool:
        """Do what may take long; False if somebody else reads now."""
        self._serial += 1
        self._busy = True
        if self._asleep:
            self._stir.set()
        job(*message)
        with self._lock:
            if self._reader != threading.get_ident():
                return False
            self._busy = False
        return True

    def _help(self) -> bool:
        """Do what waits, then wait to read again; False if there are enough others who wait."""
        while True:
            with self._lock:
                if not self._waiting:
                    if self._spare >= _SPARE or self._ended:
                        self._threads -= 1
                        return False
                    self._spare += 1
                    break
                job = self._waiting.popleft()
            job()
        self._promoted.acquire()
        return True
