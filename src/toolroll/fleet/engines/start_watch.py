"""Ends a worker whose start makes no progress, so that a frozen node does not hold up the others."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Self


class StartWatch:
    """Bounds the steps of a start in time. A context manager: it watches from its begin to its end."""

    def __init__(self, end: Callable[[], None]) -> None:
        """`end` is called once, in another thread, when a step takes too long."""
        self.late = ""
        """The step that took too long, as a sentence."""
        self._end, self._changed = end, threading.Condition()
        self._step, self._deadline, self._is_over = "", math.inf, False
        self._thread = threading.Thread(target=self._watch, name="toolroll start", daemon=True)

    def expect(self, failure: str, seconds: float) -> None:
        """Begin a step. Unless the next one begins in time, or `pause` is called, it has failed like this."""
        with self._changed:
            deadline = time.monotonic() + seconds
            is_earlier = deadline < self._deadline
            self._step, self._deadline = f"{failure} within {seconds:g} s.", deadline
            if is_earlier:
                self._changed.notify()

    def pause(self) -> None:
        """The step has ended; the node has nothing to do now."""
        with self._changed:
            self._deadline = math.inf

    def _watch(self) -> None:
        with self._changed:
            while not self._is_over:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    self.late = self._step
                    break
                self._changed.wait(min(left, threading.TIMEOUT_MAX))
        if self.late:
            self._end()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join()
