from __future__ import annotations

import threading
import time

import pytest

from toolroll.host.http.deadline import Deadline
from toolroll.host.http.rate_limit import RateLimit
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError


def test_some_at_once_then_a_pause_or_a_word() -> None:
    pace = RateLimit()
    for _ in range(10):
        pace.wait("a.example.com", Deadline(CancelToken(), 1))
    with pytest.raises(ToolError, match=r"'a.example.com' was asked often in the last minute. Wait 6 s") as caught:
        pace.wait("a.example.com", Deadline(CancelToken(), 1))
    assert caught.value.code is ErrorCode.TIMEOUT
    pace.wait("b.example.com", Deadline(CancelToken(), 1))


def test_it_waits_when_there_is_time() -> None:
    pace = RateLimit(burst=1, per_minute=300)
    started = time.monotonic()
    for _ in range(3):
        pace.wait("a.example.com", Deadline(CancelToken(), 10))
    assert 0.35 < time.monotonic() - started < 60


def test_waiting_can_be_cancelled() -> None:
    pace, token = RateLimit(burst=1), CancelToken()
    pace.wait("a.example.com", Deadline(token, 30))
    threading.Timer(0.1, token.cancel).start()
    with pytest.raises(ToolError, match="cancelled"):
        pace.wait("a.example.com", Deadline(token, 30))


def test_threads_share_a_pace() -> None:
    pace, passed = RateLimit(burst=5, per_minute=1), []

    def ask() -> None:
        try:
            pace.wait("a.example.com", Deadline(CancelToken(), 1))
        except ToolError:
            return
        passed.append(1)

    threads = [threading.Thread(target=ask) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 5
