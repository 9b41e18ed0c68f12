"""A polite pace: how often one host is asked, so that a loop of a model is not a flood for somebody else."""

from __future__ import annotations

import threading
import time

from toolroll.host.http.deadline import Patience
from toolroll.result import ErrorCode, ToolError

_MOST_HOSTS = 1000


class Pace:
    """So many requests at once to one host, then so many a minute. Any thread may ask."""

    def __init__(self, burst: int = 10, per_minute: float = 10) -> None:
        self._burst = burst
        self._every = 60 / per_minute
        self._lock = threading.Lock()
        self._free: dict[str, float] = {}
        """By host: when the last of its places is free again."""

    def wait(self, host: str, patience: Patience) -> None:
        """Wait for a place; ToolError if that would take longer than the request may."""
        delay = self._taken(host, patience.left())
        if delay > 0:
            patience.sleep(delay)

    def _taken(self, host: str, left: float) -> float:
        """Take a place if it comes in time; the seconds until then."""
        now = time.monotonic()
        with self._lock:
            if len(self._free) > _MOST_HOSTS:
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
