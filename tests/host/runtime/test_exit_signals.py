"""Signals that end the program in order."""

import signal
import threading

import pytest

from toolroll.host.runtime.exit_signals import exit_on


def test_a_signal_ends_the_program_with_its_own_status():
    before = signal.getsignal(signal.SIGHUP)
    with pytest.raises(SystemExit, match="129"), exit_on(signal.SIGHUP):
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == before


def test_other_threads_leave_signals_alone():
    seen = []

    def look():
        with exit_on(signal.SIGHUP):
            seen.append(signal.getsignal(signal.SIGHUP))

    before = signal.getsignal(signal.SIGHUP)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
