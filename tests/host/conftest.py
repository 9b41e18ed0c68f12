"""A state folder, and processes that set to work at one moment."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from toolroll.host.runtime.state import State


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    made = State(str(tmp_path / "state"))
    yield made
    made.close()


@pytest.fixture
def at_once() -> Callable[..., None]:
    """Run a script in several processes, each with its own words; all go on when the last has said "ready"."""

    def run(script: str, *calls: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        children = [
            subprocess.Popen([sys.executable, "-c", script, *words], stdin=pipe, stdout=pipe) for words in calls
        ]
        for one in children:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
        for one in children:
            assert one.stdin is not None
            one.stdin.write(b"\n")
            one.stdin.close()
        for one in children:
            assert one.wait(60) == 0
            assert one.stdout is not None
            one.stdout.close()

    return run
