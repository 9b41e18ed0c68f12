"""Waiting for what will be, never for the clock."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
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


def descriptors() -> set[str]:
    """The descriptors that this process has open, without the rules that the sandbox keeps for later."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself
            if "landlock" not in os.readlink(f"/proc/self/fd/{number}"):
                found.add(number)
    return found


def closed_again(before: set[str]) -> bool:
    """Whether no descriptor is left but those before; threads of other tests may open and close some meanwhile."""
    return until(lambda: descriptors() <= before)
