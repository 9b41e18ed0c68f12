"""Worker threads of coroutines: as many as wait at once, cancelled with their task, and fresh in a forked process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest

from tests.waiting import until
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.worker_threads import run_in_thread

_MANY = 100  # asyncio itself has at most 32 threads
_FORK = """
import asyncio, os, warnings
from toolroll.host.runtime.worker_threads import run_in_thread
warnings.simplefilter("ignore")  # there is a thread when it forks
asyncio.run(run_in_thread(os.getpid))
if child := os.fork():
    os.waitpid(child, 0)
else:
    print(asyncio.run(run_in_thread(os.getpid)) == os.getpid(), flush=True)
    os._exit(0)
"""


def test_many_wait_at_once_and_each_has_the_context_of_its_task() -> None:
    everyone, name = threading.Barrier(_MANY), ContextVar[int]("name")

    def meet() -> int:
        everyone.wait(30)
        return name.get()

    async def one(number: int) -> int:
        name.set(number)
        return await run_in_thread(meet)

    async def run() -> list[int]:
        return list(await asyncio.gather(*(one(number) for number in range(_MANY))))

    assert asyncio.run(run()) == list(range(_MANY))


def test_an_error_is_that_of_the_work() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_in_thread(lambda: 1 // 0))


def test_the_task_is_cancelled_at_once_and_the_work_by_its_token() -> None:
    token, goes_on, ended = CancelToken(), threading.Event(), list[bool]()

    def work() -> None:
        goes_on.wait(30)
        ended.append(token.cancelled)

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_in_thread(work, token), 0.05)
        assert (token.cancelled, ended) == (True, [])
        goes_on.set()

    asyncio.run(run())
    until(lambda: ended == [True])


def test_a_forked_process_has_threads_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", _FORK], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
