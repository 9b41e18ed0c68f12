"""Workers as processes of this machine."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import cast

from toolroll.fleet.engines.engine import WorkerPipe
from toolroll.fleet.worker import FrozenPlace
from toolroll.host.fleet.cgroups import prepare_groups
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.runtime.launcher import PIPE, ChildProcess, start_process, wait_for

_END_SECONDS = 30.0
_CHUNK_BYTES = 1 << 18
WORK = ("fleet", "work")
"""The command that is a worker."""


class ProcessPipe:
    """A worker that is a child process, or at the other end of one, with pipes for its input and output."""

    _offence = ""
    """Why it was ended for what it has sent."""

    def __init__(self, process: ChildProcess) -> None:
        self._process = process
        self._answers = io.BufferedReader(cast("io.RawIOBase", process.stdout))

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._process.stdin.write(rest) :]  # type: ignore[union-attr]  # it has a pipe
        except ValueError as error:  # it ended, and `finish` has closed the pipe meanwhile
            raise BrokenPipeError("The worker has ended.") from error

    def read(self) -> bytes:
        return self._answers.read1(_CHUNK_BYTES)

    def _read_line(self, most: int) -> bytes:
        """The next line of a start; nothing at the end. A longer line, which would fill our memory, is the end too."""
        line = self._answers.readline(most)
        if len(line) < most or line.endswith(b"\n"):
            return line
        self._offence = f"it sent a line of more than {most} bytes. Check what its programs print"
        self.stop()
        return b""

    def finish(self) -> None:
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]  # it has a pipe

    def stop(self) -> None:
        self._process.terminate()

    def wait(self) -> str:
        status = wait_for(self._process, _END_SECONDS)
        if status is None:
            self._process.kill()
            status = self._process.wait()
        self._answers.close()
        return self._offence or f"status {status}"


class LocalPool:
    """This machine."""

    name = ""
    cores = os.cpu_count() or 1

    def __init__(self, base: FrozenCopy) -> None:
        self.place = FrozenPlace(base.path, base.state)

    def start(self) -> WorkerPipe:
        words = [sys.executable, "-m", "toolroll", *WORK]
        return ProcessPipe(start_process(words, os.getcwd(), os.environ, (PIPE, PIPE, 2)))


class LocalEngine:
    """Workers on this machine, which use a base where it is."""

    def __init__(self) -> None:
        with suppress(OSError):
            prepare_groups()  # before there are workers, which would be in the way

    @contextmanager
    def open_pools(
        self,
        base: FrozenCopy,
        on_problem: Callable[[str], None],  # noqa: ARG002
        most: int | None = None,  # noqa: ARG002
    ) -> Iterator[Sequence[LocalPool]]:
        yield [LocalPool(base)]

    has_nodes = True

    def stop(self) -> None:
        """Nothing is connected."""

    def close(self) -> None:
        """There is nothing to leave."""
