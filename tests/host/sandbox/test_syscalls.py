"""Work in a thread of its own: what it gives up, the caller still has."""

import signal
import threading
import time

import pytest

from toolroll.host.sandbox.syscalls import Kernel, run_apart


def privileged() -> bool:
    """Whether the calling thread may gain privileges."""
    with open("/proc/thread-self/status", encoding="ascii") as file:
        return "NoNewPrivs:\t0\n" in file.read()


def test_only_the_thread_lacks_what_the_work_gives_up(kernel: Kernel) -> None:
    def work() -> tuple[bool, bool]:
        before = privileged()
        kernel.no_new_privileges()
        return before, privileged()

    assert [run_apart(work) for _ in range(3)] == [(True, False)] * 3
    assert privileged()


def test_errors_are_raised_where_the_work_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        run_apart(lambda: 1 / 0)


def test_blocked_signals_are_those_of_the_caller() -> None:
    found: list[set[int]] = []

    def ask(*blocked: int) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        found.append(run_apart(lambda: {int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, ())}))

    for blocked in ((50, 55), ()):
        thread = threading.Thread(target=ask, args=blocked)
        thread.start()
        thread.join()
    assert found == [{50, 55}, set()]


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread")
def test_what_was_made_is_undone_when_the_wait_is_interrupted() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def work() -> str:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        time.sleep(0.05)
        return "made"

    undone: list[str] = []
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_apart(work, undone.append)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert undone == ["made"]


def test_a_thread_that_never_runs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where memory is short."""
    monkeypatch.setattr("toolroll.host.sandbox.syscalls._LATEST", 0.01)
    monkeypatch.setattr("_thread.start_new_thread", lambda *_: 0)
    with pytest.raises(RuntimeError, match="did not come to run"):
        run_apart(lambda: None)
