"""The threads in which calls over HTTP run."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue

import pytest

from toolroll.mcp.http.threads import Threads

SECONDS = 60.0


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads(3, "hands")
    yield made
    made.close()


def mine() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith("hands-")]


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def test_all_work_is_done_by_at_most_so_many(threads):
    done: SimpleQueue[int] = SimpleQueue()
    for number in range(500):
        threads.do(partial(done.put, number))
    assert sorted(done.get(timeout=SECONDS) for _ in range(500)) == list(range(500))
    assert 1 <= len(mine()) <= 3


def test_work_goes_on_beside_work_that_waits(threads):
    held, done = threading.Event(), threading.Event()
    for _ in range(2):
        threads.do(lambda: held.wait(SECONDS) and None)
    threads.do(done.set)
    assert done.wait(SECONDS)
    assert len(mine()) == 3
    held.set()


def test_one_thread_is_enough_for_one_after_the_other(threads):
    for _ in range(50):
        names: SimpleQueue[str] = SimpleQueue()
        threads.do(lambda names=names: names.put(threading.current_thread().name))
        assert names.get(timeout=SECONDS) == "hands-1"
        assert until(lambda: len(threads._idle) == 1)


def test_closed_they_end_what_they_have_begun_and_begin_nothing():
    threads, held = Threads(1, "hands"), threading.Event()
    begun: SimpleQueue[str] = SimpleQueue()

    def first() -> None:
        begun.put("first")
        held.wait(SECONDS)
        begun.put("ended")

    threads.do(first)
    threads.do(lambda: begun.put("second"))
    assert begun.get(timeout=SECONDS) == "first"
    threads.close()
    held.set()
    assert begun.get(timeout=SECONDS) == "ended"
    assert until(lambda: not mine())
    assert begun.empty()
