"""Answers that were not whole in time: worked out in the background, for the next call that asks the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken

_MOST = 4  # at once; the oldest gives way
_KEPT_SECONDS = 300.0  # in which an answer is given
_END_SECONDS = 2.0  # for each thread, when all end


@dataclass(slots=True)
class LateAnswer:
    """One answer that is worked out, or has been."""

    token: CancelToken
    changes: int
    """How often files had been changed when it began."""
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    output: Any = None
    failed: Exception | None = None
    thread: threading.Thread | None = None

    def result(self) -> Any:
        """What was worked out; raises what went wrong."""
        if self.failed is not None:
            raise self.failed
        return self.output


class LateAnswers:
    """The answers of one kit that are worked out in the background."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.known: dict[Hashable, LateAnswer] = {}
        """Those that are worked out, or wait to be given."""
        self.changes = 0
        """Counted by calls that may change files: an answer from before is not given."""

    def start(self, key: Hashable, work: Callable[[CancelToken], Any], seconds: float) -> None:
        """Work out an answer in a thread, unless that goes on already."""
        with self._lock:
            if key in self.known:
                return
            while len(self.known) >= _MOST:
                self.known.pop(next(iter(self.known))).token.cancel()
            answer = self.known[key] = LateAnswer(CancelToken(seconds), self.changes)
            answer.token.within(seconds)  # so that it can be cancelled from now on
        answer.thread = threading.Thread(target=_work, args=(answer, work), name="toolroll late", daemon=True)
        answer.thread.start()

    def take(self, key: Hashable, seconds: float, token: CancelToken) -> LateAnswer | None:
        """The answer to this, if it is worked out within so many seconds; it is given once."""
        answer = self.known.get(key)
        if answer is None:
            return None
        if answer.changes != self.changes or (answer.ended or time.monotonic()) - answer.began > _KEPT_SECONDS:
            self._drop(key)
            return None
        until = time.monotonic() + seconds
        while answer.ended is None and time.monotonic() < until:
            token.check()
            time.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))
        if answer.ended is None:
            return None
        self._drop(key)
        return answer

    def _drop(self, key: Hashable) -> None:
        with self._lock:
            if (answer := self.known.pop(key, None)) is not None:
                answer.token.cancel()

    def close(self) -> None:
        """End all work."""
        with self._lock:
            answers, self.known = list(self.known.values()), {}
        for answer in answers:
            answer.token.cancel()
        for answer in answers:
            if answer.thread is not None:
                answer.thread.join(_END_SECONDS)


def _work(answer: LateAnswer, work: Callable[[CancelToken], Any]) -> None:
    try:
        answer.output = work(answer.token)
    except Exception as error:  # raised in the call that takes the answer
        answer.failed = error
    answer.ended = time.monotonic()
