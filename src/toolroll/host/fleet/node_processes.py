"""Processes of one node of a Ray cluster, with their pipes: an actor.

Ray sends this module by value, so it imports nothing but the standard library: the node need not have toolroll.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import IO, cast

# Ray kills the children of an actor with it, but not theirs: so a worker lives on until its input ends, and cleans up.
_AS_GRANDCHILD = 'exec 3<&0 </dev/null; "$@" <&3 3<&- & exec 3<&-; wait $!'
_END_SECONDS = 30.0
_MAX_SAID = 4_000


class NodeProcess:
    """A Python program, run by the Python of the actor."""

    def __init__(self, code: str) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `wait`
        words, pipe = ["sh", "-c", _AS_GRANDCHILD, "sh", sys.executable, "-P", "-c", code], subprocess.PIPE
        self.process = subprocess.Popen(
            words, cwd="/", stdin=pipe, stdout=pipe, stderr=self._said, start_new_session=True
        )
        self.input = cast("IO[bytes]", self.process.stdin)
        self.output = cast("io.BufferedReader", self.process.stdout)

    def send_signal(self, number: int) -> None:
        """Send a signal to it and its parent."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def wait(self) -> tuple[int, str]:
        """The exit status, and the end of what it has said on stderr."""
        try:
            status = self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.send_signal(signal.SIGKILL)
            status = self.process.wait()
        self.output.close()
        with self._said as said:
            said.seek(max(0, said.seek(0, os.SEEK_END) - _MAX_SAID))
            return status, said.read().decode(errors="replace")


class NodeProcesses:
    """The processes that were started on this node, by their numbers. Their input and output go as bytes."""

    def __init__(self) -> None:
        self._all: list[NodeProcess] = []

    def start(self, code: str) -> int:
        """Start a process; its number."""
        self._all.append(NodeProcess(code))
        return len(self._all) - 1

    def send(self, number: int, data: bytes) -> None:
        """Write to its input, if it still reads that."""
        with suppress(OSError, ValueError):
            self._all[number].input.write(data)
            self._all[number].input.flush()

    def read(self, number: int, size: int) -> bytes:
        """What it has written, after waiting for some; nothing at its end."""
        return self._all[number].output.read1(size)

    def finish(self, number: int) -> None:
        """Close its input."""
        with suppress(OSError):
            self._all[number].input.close()

    def stop(self, number: int) -> None:
        """Ask it to end now."""
        self._all[number].send_signal(signal.SIGTERM)

    def wait(self, number: int) -> tuple[int, str]:
        """Wait for its end."""
        return self._all[number].wait()
