"""Rate limit by host, so that a model in a loop does not flood a server."""

from __future__ import annotations

import threading
import time

from toolroll.host.http.deadline import Deadline
from toolroll.result import ErrorCode, ToolError

_MAX_HOSTS = 1000


class RateLimit:
    """Allows `burst` requests at once to a host, then `per_minute`. Any thread may use it."""

    def __init__(self, burst: int = 10, per_minute: float = 10) -> None:
        self._burst = burst
        self._every = 60 / per_minute
        self._lock = threading.Lock()
        self._free: dict[str, float] = {}
        """By host: when the last of its slots is free again."""

    def wait(self, host: str, deadline: Deadline) -> None:
        """Wait for a slot; ToolError if that would take longer than the request may."""
        delay = self._reserve(host, deadline.left())
        if delay > 0:
            deadline.sleep(delay)

    def _reserve(self, host: str, left: float) -> float:
        """Reserve the next slot if it comes in time; the seconds until then."""
        now = time.monotonic()
        with self._lock:
            if len(self._free) > _MAX_HOSTS:
                self._free = {name: at for name, at in self._free.items() if at > now}
            filled = max(now, self._free.get(host, now)) + self._every
            delay = filled - now - self._burst * self._every
            if delay >= left:
                raise ToolError(
                    ErrorCode.TIMEOUT,
                    f"{host!r} was asked often in the last minute. Wait {delay:.0f} s and try again, "
                    "or work with what it has answered.",
                )
            self._free[host] = filled
            return delay
