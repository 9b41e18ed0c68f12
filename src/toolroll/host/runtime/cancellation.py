"""Cancellation and deadlines: one token for each call, which engines check wherever they could take long."""

from __future__ import annotations

import threading
import time

from toolroll.result import ErrorCode, ToolError

POLL_SECONDS = 0.05  # how often code that waits checks its token: a cancellation is noticed at most this late


class CancelToken:
    """Cancel from any thread; work under it calls `check` and stops with a ToolError."""

    __slots__ = ("_event", "deadline")

    def __init__(self, seconds: float | None = None) -> None:
        self._event: threading.Event | None = None
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
        part._event = self._cancelled()
        return part

    def remaining(self) -> float:
        """Seconds until the deadline; infinite without one."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()

    def check(self) -> None:
        """Raise when the call was cancelled or its time is up."""
        if self.cancelled:
            raise ToolError(ErrorCode.CANCELLED, "The call was cancelled.")
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise ToolError(ErrorCode.TIMEOUT, "The call took longer than its time limit. Ask for less at once.")

    def _cancelled(self) -> threading.Event:
        # An Event costs more than a whole small call, so it is made only for calls that are cancelled.
        if self._event is None:
            self._event = threading.Event()
        return self._event
