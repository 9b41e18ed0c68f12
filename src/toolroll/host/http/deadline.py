"""Deadline of one request: every wait checks the remaining time and the cancellation of the call."""

from __future__ import annotations

import select
import time

from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.result import ErrorCode, ToolError

SILENCE_S = 60.0  # how long a server may send nothing


class Deadline:
    """The time that one request may take. Everything that waits on behalf of the request waits here."""

    def __init__(self, token: CancelToken, seconds: float, silence: float = SILENCE_S) -> None:
        self.silence = silence
        self._token = token
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Remaining seconds; ToolError when there are none, or when the call was cancelled."""
        self._token.check()
        left = self._end - time.monotonic()
        if left <= 0:
            why = f"No complete answer within {self._seconds:g} s. Try again with a larger `timeout`."
            raise ToolError(ErrorCode.TIMEOUT, why)
        return left

    def wait_ready(self, fd: int, events: int, seconds: float) -> bool:
        """Wait until a descriptor is ready; False when it is not within the given seconds."""
        poll = select.poll()
        poll.register(fd, events)
        until = time.monotonic() + seconds
        while not poll.poll(min(POLL_SECONDS, self.left()) * 1000):
            if time.monotonic() >= until:
                return False
        return True

    def sleep(self, seconds: float) -> None:
        """Sleep; ToolError as `left` raises it."""
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            time.sleep(min(rest, POLL_SECONDS, self.left()))
