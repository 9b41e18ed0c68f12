"""A line of confined threads: the first does one piece of work and ends, the next has stepped up by then.

What a thread gives up is given up for good, and whatever it starts has not got it either: so what the commands of a
line lack is given up once, by its first thread, and all that follow are born without it. None of them works twice.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from toolroll.host.runtime.signals import mask

T = TypeVar("T")
_Queue = SimpleQueue[Callable[[RuntimeError | None], None]]
"""Of work, which is done unless it is given an error."""

_IDLE = 5.0  # seconds after which unused threads end
_LATEST = 10.0  # seconds within which a new thread must run
_PATIENCE = 1.0  # seconds after which work that no thread took is offered to another thread


class ConfinedThreads(Generic[T]):
    """Does pieces of work, each in a thread that has done nothing else. Safe to use from many threads."""

    def __init__(self, prepare: Callable[[], None], dissolve: Callable[[], None] = lambda: None) -> None:
        """`prepare` gives up, in the first thread, what none of the line shall have.

        `dissolve` is called in the last thread, after every thread that did work has ended.
        """
        self._prepare = prepare
        self._dissolve = dissolve
        self._lock = threading.Lock()
        self._queue: _Queue = SimpleQueue()
        self._process = 0  # the one that the line stands in; a forked copy of it has none

    def do(self, work: Callable[[], T], undo: Callable[[T], None]) -> T:
        """The result of `work`, and its errors are raised here. When interrupted, `undo` gets the result."""
        done: list[T] = []
        failed: list[BaseException] = []
        taken, over = threading.Lock(), threading.Lock()
        blocked = mask(signal.SIG_BLOCK, ())

        def run(error: RuntimeError | None) -> None:
            if not taken.acquire(blocking=False):
                return  # the caller has given up
            try:
                if error is not None:
                    raise error
                mask(signal.SIG_SETMASK, blocked)  # as a child of the calling thread would have it
                done.append(work())
            except BaseException as problem:
                failed.append(problem)
            finally:
                over.release()

        over.acquire()
        self._hand_over(run)
        try:
            while not over.acquire(timeout=_PATIENCE):
                self._hurry()
        except BaseException:
            if not taken.acquire(blocking=False):
                over.acquire()
                for result in done:
                    undo(result)
            raise
        if failed:
            raise failed[0]
        return done[0]

    def _hand_over(self, work: Callable[[RuntimeError | None], None]) -> None:
        with self._lock:
            if self._process != os.getpid():
                self._queue = SimpleQueue()
                self._begin()
            self._queue.put(work)

    def _hurry(self) -> None:
        """Start another thread if none takes the work: memory may have been short when one began."""
        with self._lock:
            if not self._queue.empty():
                self._begin()

    def _begin(self) -> None:
        """Let a first thread stand there, prepared; its error if it cannot be."""
        failed: list[BaseException] = []
        ready = threading.Lock()
        queue = self._queue

        def stand() -> None:
            try:
                self._prepare()
            except BaseException as error:
                failed.append(error)
                return
            finally:
                ready.release()
            self._stand(queue, ())

        ready.acquire()
        _thread.start_new_thread(stand, ())
        if not ready.acquire(timeout=_LATEST):
            raise RuntimeError("a new thread did not come to run")
        if failed:
            raise failed[0]
        self._process = os.getpid()

    def _stand(self, queue: _Queue, working: Sequence[int]) -> None:
        """Wait for work, let another thread stand here, and do the work; `working` did some and may not have ended."""
        while True:
            try:
                work = queue.get(timeout=_IDLE)
            except Empty:
                working = _not_ended(working)
                with self._lock:
                    if queue.empty() and not working:
                        self._process = 0
                        self._dissolve()
                        return
                continue
            try:
                _thread.start_new_thread(self._stand, (queue, (*_not_ended(working), _thread.get_native_id())))
            except RuntimeError as error:  # no more threads: this one must stay as it is, for the next caller
                work(error)
            else:
                work(None)
                return


def _not_ended(threads: Sequence[int]) -> tuple[int, ...]:
    """Those that the kernel still has: Python counts a thread as ended a little earlier."""
    return tuple(thread for thread in threads if os.path.exists(f"/proc/self/task/{thread}"))
