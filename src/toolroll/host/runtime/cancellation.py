"""Cancellation and deadlines: one token for each call, which engines check wherever they could take long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from toolroll.result import ErrorCode, ToolError

POLL_SECONDS = 0.05  # how often code that waits checks its token: a cancellation is noticed at most this late


class PersonClock:
    """Counts the seconds for which a person is asked: they count toward no deadline of the call that asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking, self._since, self._total = 0, 0.0, 0.0

    def seconds(self) -> float:
        """So far, also of a question that is not answered yet."""
        with self._lock:
            return self._total + (time.monotonic() - self._since if self._asking else 0.0)

    def begin(self) -> None:
        with self._lock:
            self._since = self._since if self._asking else time.monotonic()
            self._asking += 1

    def end(self) -> None:
        with self._lock:
            self._asking -= 1
            self._total += 0.0 if self._asking else time.monotonic() - self._since


PERSON_CLOCK: ContextVar[PersonClock | None] = ContextVar("PERSON_CLOCK", default=None)
"""The clock of the program whose calls run here."""


@contextmanager
def asking_person() -> Iterator[None]:
    """Stop the clock of the program whose call asks a person, if there is one."""
    clock = PERSON_CLOCK.get()
    if clock is not None:
        clock.begin()
    try:
        yield
    finally:
        if clock is not None:
            clock.end()


class CancelToken:
    """Cancel from any thread; work under it calls `check` and stops with a ToolError."""

    __slots__ = ("_event", "clock", "deadline")

    def __init__(self, seconds: float | None = None) -> None:
        self._event: threading.Event | None = None
        self.clock: PersonClock | None = None
        """Moves the deadline while a person is asked."""
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def cancel(self) -> None:
        self._cancelled().set()

    @property
    def cancelled(self) -> bool:
        return self._event is not None and self._event.is_set()

    def limit(self, seconds: float) -> None:
        """Set a deadline this many seconds from now, unless an earlier one is set. Raises as `check` does."""
        if self._event is not None or self.deadline is not None:
            self.check()
        at = time.monotonic() + seconds
        self.deadline = at if self.deadline is None else min(self.deadline, at)

    def within(self, seconds: float) -> CancelToken:
        """A token for a part of the work: cancelled together with this one, but its time is up earlier."""
        part = CancelToken(min(seconds, self.remaining()))
        part._event, part.clock = self._cancelled(), self.clock
        if self.clock is not None and part.deadline is not None:
            part.deadline -= self.clock.seconds()
        return part

    def remaining(self) -> float:
        """Seconds until the deadline; infinite without one."""
        if self.deadline is None:
            return float("inf")
        return self.deadline - time.monotonic() + (self.clock.seconds() if self.clock is not None else 0.0)

    def check(self) -> None:
        """Raise when the call was cancelled or its time is up."""
        if self.cancelled:
            raise ToolError(ErrorCode.CANCELLED, "The call was cancelled.")
        if self.deadline is not None and self.remaining() <= 0:
            raise ToolError(ErrorCode.TIMEOUT, "The call took longer than its time limit. Ask for less at once.")

    def _cancelled(self) -> threading.Event:
        # An Event costs more than a whole small call, so it is made only for calls that are cancelled.
        if self._event is None:
            self._event = threading.Event()
        return self._event
