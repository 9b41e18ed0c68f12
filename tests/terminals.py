"""A terminal with a person at it, who answers a question when it takes keys."""

from __future__ import annotations

import os
import pty
import select
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.waiting import until

_SECONDS = 50  # spent on faults alone


class Person:
    """Reads a terminal and types on it; `ours` is the end of the person."""

    def __init__(self, ours: int) -> None:
        self._ours = ours
        self._left = b""
        self.seen = ""
        """All that the terminal has shown."""

    def sees(self, text: str) -> str:
        """What the terminal shows until and with this text."""
        wanted, deadline = text.encode(), time.monotonic() + _SECONDS
        while wanted not in self._left:
            assert select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))[0], self._left
            self._left += os.read(self._ours, 65536)
        shown, _, self._left = self._left.partition(wanted)
        found = (shown + wanted).decode(errors="replace")
        self.seen += found
        return found

    def answers(self, question: str, line: str) -> str:
        """Wait for the question and until it takes keys, and type a line; returns what was shown until then."""
        shown = self.sees(question)
        until(lambda: termios.tcgetattr(self._ours)[3] & termios.ECHO)
        self.types(line)
        return shown

    def types(self, line: str) -> None:
        os.write(self._ours, f"{line}\n".encode())


@contextmanager
def terminal() -> Iterator[tuple[Person, str]]:
    """A person and the path of the terminal."""
    ours, theirs = pty.openpty()
    try:
        yield Person(ours), os.ttyname(theirs)
    finally:
        os.close(theirs)
        os.close(ours)


@contextmanager
def at_terminal(answers: Sequence[tuple[str, str]], early: str = "") -> Iterator[Person]:
    """Let this process have a terminal, where a person gives these answers to these questions.

    `early` is typed before.
    """
    with (
        terminal() as (person, path),
        open(path) as stdin,
        open(path, "w") as shown,
        pytest.MonkeyPatch.context() as to,
    ):
        for line in early.splitlines():
            person.types(line)
        for name, stream in (("stdin", stdin), ("stdout", shown), ("stderr", shown)):
            to.setattr(sys, name, stream)
        sitting = threading.Thread(target=lambda: [person.answers(*one) for one in answers], daemon=True)
        sitting.start()
        yield person
        shown.write("[end]")
        shown.flush()
        sitting.join(_SECONDS)
        person.sees("[end]")
