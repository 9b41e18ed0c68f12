"""The line of threads: each works once, all lack what the first gave up, and none lacks what another did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolroll.host.sandbox.confined_threads import ConfinedThreads
from toolroll.host.sandbox.syscalls import Kernel, machine

pytestmark = [pytest.mark.skipif(sys.platform != "linux" or machine() is None, reason="gives up what only Linux has")]


def privileged() -> bool:
    """Whether the calling thread may gain privileges."""
    with open("/proc/thread-self/status", encoding="ascii") as file:
        return "NoNewPrivs:\t0\n" in file.read()


@pytest.fixture
def give_up() -> Callable[[], None]:
    here = machine()
    assert here is not None
    return Kernel(here.numbers).no_new_privileges


def nothing(_: object = None) -> None:
    """Gives nothing up, and undoes nothing."""


def test_each_works_once_and_all_lack_what_the_first_gave_up(give_up: Callable[[], None]) -> None:
    prepared: list[int] = []

    def prepare() -> None:
        prepared.append(threading.get_native_id())
        give_up()

    workers = ConfinedThreads[tuple[int, bool]](prepare)
    done = [workers.do(lambda: (threading.get_native_id(), privileged()), nothing) for _ in range(20)]
    assert len(prepared) == 1
    assert len({thread for thread, _ in done} | {threading.get_native_id()}) == 21
    assert {free for _, free in done} == {False}
    assert privileged()  # the control: who calls has lost nothing


def test_what_one_gives_up_the_next_still_has(give_up: Callable[[], None]) -> None:
    workers = ConfinedThreads[bool](nothing)

    def work() -> bool:
        before = privileged()
        give_up()
        return before and not privileged()

    assert [workers.do(work, nothing) for _ in range(10)] == [True] * 10


def test_errors_are_raised_where_the_work_was_asked_for() -> None:
    workers = ConfinedThreads[float](nothing)
    for number in (0, 1, 0, 2):
        if number:
            assert workers.do(lambda number=number: 1 / number, nothing) == 1 / number
        else:
            with pytest.raises(ZeroDivisionError):
                workers.do(lambda: 1 / 0, nothing)


def test_a_line_that_cannot_be_prepared_is_tried_again(give_up: Callable[[], None]) -> None:
    tries: list[int] = []

    def prepare() -> None:
        tries.append(len(tries))
        if len(tries) < 3:
            raise PermissionError(f"try {len(tries)}")
        give_up()

    workers = ConfinedThreads[bool](prepare)
    for number in (1, 2):
        with pytest.raises(PermissionError, match=f"try {number}"):
            workers.do(privileged, nothing)
    assert [workers.do(privileged, nothing) for _ in range(3)] == [False] * 3
    assert tries == [0, 1, 2]


def test_blocked_signals_are_those_of_the_caller() -> None:
    workers = ConfinedThreads[set[int]](nothing)
    found: list[set[int]] = []

    def ask(*blocked: int) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        found.append(workers.do(lambda: {int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, ())}, nothing))

    for blocked in ((50, 55), (), (47,)):
        thread = threading.Thread(target=ask, args=blocked)
        thread.start()
        thread.join()
    assert found == [{50, 55}, set(), {47}]


def test_many_at_once_get_what_they_asked_for() -> None:
    workers = ConfinedThreads[int](nothing)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: workers.do(lambda: number * number, nothing), range(200)))
    assert found == [number * number for number in range(200)]


PROGRAM = """
import os, resource, sys, threading, time
from toolroll.host.sandbox import confined_threads as line

def work():
    return workers.do(os.getpid, print) == os.getpid()

def short_of_memory():
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 4096, hard))
    try:
        work()
    except (MemoryError, RuntimeError) as error:
        found = str(error)
    else:
        found = ""
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return found

def threads():
    return len(os.listdir("/proc/self/task"))

line._LATEST = 1
line._IDLE = 1.0 if sys.argv[1] == "idle" else 60
workers = line.ConfinedThreads(lambda: None)
print(work())
if sys.argv[1] == "forked":
    if (child := os.fork()) == 0:
        os._exit(not work())
    print(os.waitpid(child, 0)[1])
elif sys.argv[1] == "no room for a thread":
    threading.stack_size(256 << 20)
    print(short_of_memory())
    threading.stack_size(0)
elif sys.argv[1] == "no room in a thread":
    short_of_memory()
else:
    print(threads() > 1)  # the one that waits, and perhaps the one that has just done the work
    while threads() > 1:
        time.sleep(0.01)
print(work())
"""


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("forked", "True\n0\nTrue\n"),  # a copy has no threads but one: it must not wait for those that stayed behind
        ("no room for a thread", "True\ncan't start new thread\nTrue\n"),
        ("no room in a thread", "True\nTrue\n"),  # it may end before it has begun, and the next must not wait for it
        ("idle", "True\nTrue\nTrue\n"),
    ],
)
def test_in_a_program_of_its_own(ours: tuple[tuple[str, ...], dict[str, str]], case: str, said: str) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, case]
    done = subprocess.run(
        command, env={**os.environ, **ours[1]}, stdout=subprocess.PIPE, text=True, timeout=60, check=True
    )
    assert done.stdout == said
