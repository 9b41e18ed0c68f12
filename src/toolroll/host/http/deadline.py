"""How long one request may take, and whether anybody still wants it."""

from __future__ import annotations

import select
import time

from toolroll.host.runtime.cancellation import Token
from toolroll.result import ErrorCode, ToolError

SILENCE = 60.0  # seconds that a server may say nothing
_TICK = 0.05  # how late a cancellation may be noticed


class Patience:
    """The time of one request: everything that waits, waits here."""

    def __init__(self, token: Token, seconds: float, silence: float = SILENCE) -> None:
        self.silence = silence
        self._token = token
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left; ToolError when there are none, or when the call was cancelled."""
        self._token.check()
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ToolError(
                ErrorCode.TIMEOUT, f"No complete answer within {self._seconds:g} s. Try again with a larger `timeout`."
            )
        return left

    def ready(self, fd: int, events: int, silence: float) -> bool:
        """Wait until a descriptor is ready; False when it was not for so many seconds."""
        poll = select.poll()
        poll.register(fd, events)
        until = time.monotonic() + silence
        while not poll.poll(min(_TICK, self.left()) * 1000):
            if time.monotonic() >= until:
                return False
        return True

    def sleep(self, seconds: float) -> None:
        """Let time pass; ToolError as `left` has it."""
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            time.sleep(min(rest, _TICK, self.left()))
