"""Leader/follower threads: the thread that reads a request also serves it.

When an answer takes long, another thread becomes the reader. So no request waits behind a long call, and a short call
never changes threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_LONG_CALL_S = 0.005  # after this time another thread reads on
_IDLE_CHECKS = 100  # checks without work before `run` sleeps until there is some
_MAX_SPARE_THREADS = 4
_MAX_QUEUED_JOBS = 10_000


class WorkerThreads(Generic[T]):
    """Take messages and handle them until the input ends, in at most `max_threads` threads besides the reader."""

    def __init__(
        self,
        take: Callable[[], T | None],
        handle: Callable[[T], None],
        max_threads: int = 32,
        *,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        """Each new reader calls `begin` first, to finish what the reader before it has put off."""
        self._take = take
        self._handle = handle
        self._begin = begin
        self._max_threads = max_threads
        self._lock = threading.Lock()
        self._reader: int | None = None  # its thread id
        self._serial = 0  # number of the message that the reader handles
        self._busy = False
        self._working = set[int]()  # the threads that handle a message
        self._threads = 0
        self._spare = 0
        self._promoted = threading.Semaphore(0)
        self._waiting: deque[Callable[[], None]] = deque()
        self._stir = threading.Event()
        self._asleep = False
        self._ended = False

    def run(self) -> None:
        """Work until the input ends or `end` is called. The calling thread only watches for long calls."""
        with self._lock:
            self._promote()
        seen, quiet = -1, 0
        while not self._ended:
            if self._busy and self._serial == seen:
                self.hand_over(seen)
            quiet = 0 if self._busy else quiet + 1
            seen = self._serial if self._busy else -1
            self._stir.wait(None if self._sleeps(quiet) else _LONG_CALL_S)
            self._asleep = False
            self._stir.clear()

    def end(self) -> None:
        """Let `run` return without waiting for threads that still work; those that wait for work end."""
        self._ended = True
        self._stir.set()
        with self._lock:
            if self._spare:
                self._promoted.release(self._spare)
            self._spare = 0

    @property
    def is_working(self) -> bool:
        """Whether a message that was taken is still being handled."""
        return len(self._working) > 0

    def is_reader(self) -> bool:
        """True when the current thread is the reader."""
        return self._reader == threading.get_ident()

    def hand_over(self, serial: int | None = None) -> None:
        """Make another thread the reader, because this thread, or the one that handles that message, takes long."""
        with self._lock:
            me = serial is None and self.is_reader()
            # With too many busy threads none reads on: a client that reads no answers cannot add work without a limit.
            late = serial is not None and self._busy and self._serial == serial and not self._is_full(2)
            if me or late:
                self._promote()

    def work(self, job: Callable[[], None], slow: bool) -> bool:
        """Run a job in this thread or, when too many are busy, later; False when too many jobs are queued."""
        if self._is_full():  # a first look, without the lock
            with self._lock:
                if self._is_full():
                    if len(self._waiting) >= _MAX_QUEUED_JOBS:
                        return False
                    self._waiting.append(job)
                    return True
        if slow:
            self.hand_over()
        job()
        return True

    def _is_full(self, times: int = 1) -> bool:
        return self._threads - self._spare > self._max_threads * times

    def _sleeps(self, quiet: int) -> bool:
        if quiet < _IDLE_CHECKS:
            return False
        self._asleep = True  # set before the check; the reader does it in the opposite order
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
        """Take and handle messages until another thread is the reader; False at the end of the input."""
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
        """Run a job that may take long; False if another thread is the reader now."""
        self._working.add(threading.get_ident())  # first: the input may end as soon as another thread reads on
        self._serial += 1
        self._busy = True
        if self._asleep:
            self._stir.set()
        try:
            job(*message)
        finally:
            self._working.discard(threading.get_ident())
        with self._lock:
            if self._reader != threading.get_ident():
                return False
            self._busy = False
        return True

    def _help(self) -> bool:
        """Run queued jobs, then wait to become the reader; False if enough other threads wait."""
        while True:
            with self._lock:
                if not self._waiting:
                    if self._spare >= _MAX_SPARE_THREADS or self._ended:
                        self._threads -= 1
                        return False
                    self._spare += 1
                    break
                job = self._waiting.popleft()
            job()
        self._promoted.acquire()
        return True
