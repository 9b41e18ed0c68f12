"""Threads for calls. Work wakes one of them; in the pool of the standard library it wakes two, and one in vain."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Threads:
    """At most so many threads, begun as they are needed. What they do must not raise anything."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Work | None]] = []
        self._waiting: deque[Work] = deque()
        self._begun = 0
        self._closed = False

    def do(self, work: Work) -> None:
        """Do it in the thread that was busy last, in a new one, or as soon as one is free."""
        with self._lock:
            if self._idle:
                self._idle.pop().put(work)
            elif self._begun < self._most:
                self._begun += 1
                inbox: SimpleQueue[Work | None] = SimpleQueue()
                inbox.put(work)
                threading.Thread(target=self._live, args=(inbox,), name=f"{self._name}-{self._begun}").start()
            else:
                self._waiting.append(work)

    def close(self) -> None:
        """Let each thread end with the work that it has begun; what waits is not begun any more."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            for inbox in self._idle:
                inbox.put(None)

    def _live(self, inbox: SimpleQueue[Work | None]) -> None:
        while (work := inbox.get()) is not None:
            work()
            with self._lock:
                if self._waiting:
                    inbox.put(self._waiting.popleft())
                elif self._closed:
                    return
                else:
                    self._idle.append(inbox)
