"""Waiting for what will be, never for the clock."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def until(condition: Callable[[], Any]) -> bool:
    """True when it holds; a test fails when it never does. The time is long, for it is spent on faults alone."""
    end, pause = time.monotonic() + 50, 0.002
    while not condition():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.04)  # many conditions look at every process
    return True


def alive(pid: int) -> bool:
    """Whether a process runs; who waits for a dead one is not for us to say."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    """Whether a process comes to its end: a signal is sent before it is heeded."""
    return until(lambda: not alive(pid))
