"""Read the output of a helper program within bounds, and end the program with the block."""

from __future__ import annotations

import os
import resource
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from toolroll.host.linux import fail, waitid
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.host.runtime.process_tree import kill_group

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import ChildProcess

_CHUNK_BYTES = 1 << 18
_MAX_STDERR_BYTES = 64 * 1024
# A program that writes little at a time is left alone for a moment, and longer each time, or we would wake up for
# every line of it.
_SMALL_CHUNK_BYTES = 4096
_MIN_GATHER_SECONDS, _MAX_GATHER_SECONDS = 0.0005, 0.004

set_limit: Callable[..., tuple[int, int]] = getattr(resource, "prlimit", fail)
"""The limits of another process, set if some are given."""


class Stream:
    """What a running program writes to stdout, as chunks of bytes. Iterate over it once."""

    def __init__(self, process: ChildProcess, token: CancelToken | None, deadline: float | None) -> None:
        self._process = process
        self._token = token
        self._deadline = deadline
        self.status: int | None = None
        """The exit status, negative for a signal; None until the iteration has come to its end."""
        self.stderr = b""  # the first 64 KB of what the program wrote to stderr, unless that goes elsewhere

    def __iter__(self) -> Iterator[bytes]:
        """Chunks until the program has ended; TimeoutError at the deadline, ToolError when cancelled."""
        out, err = self._process.stdout, self._process.stderr
        assert out is not None
        poll, moment = select.poll(), _MIN_GATHER_SECONDS
        left = {pipe.fileno() for pipe in (out, err) if pipe is not None}
        for fd in left:
            poll.register(fd, select.POLLIN)
        while left:
            for fd, _ in poll.poll(self._wait() * 1000):
                chunk = os.read(fd, _CHUNK_BYTES)
                if not chunk:
                    poll.unregister(fd)
                    left.discard(fd)
                elif fd == out.fileno():
                    yield chunk
                    if len(chunk) < _SMALL_CHUNK_BYTES:
                        time.sleep(moment)
                        moment = min(2 * moment, _MAX_GATHER_SECONDS)
                else:
                    self.stderr += chunk[: _MAX_STDERR_BYTES - len(self.stderr)]
        pause = 0.0002
        while (status := exit_status(self._process)) is None:  # and not waited for: `close` must know what to kill
            time.sleep(min(pause, self._wait()))
            pause = min(2 * pause, POLL_SECONDS)
        self.status = status

    def close(self) -> None:
        """End the program and all that it started in its group, and wait until they are gone."""
        process = self._process
        if process.returncode is None:  # not reaped, so that the group's number is still ours
            kill_group(process.pid)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()

    def _wait(self) -> float:
        """Seconds to wait until the next look at the clock and the token."""
        if self._token is not None:
            self._token.check()
        if self._deadline is None:
            return POLL_SECONDS
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the program did not end in time")
        return min(left, POLL_SECONDS)


@contextmanager
def stream(
    process: ChildProcess,
    *,
    token: CancelToken | None = None,
    deadline: float | None = None,
    memory: int | None = None,
) -> Iterator[Stream]:
    """What a process writes, which is ended with the block; the `deadline` is monotonic.

    On Linux it gets no more than `memory` bytes, if that is given.
    """
    running = Stream(process, token, deadline)
    try:
        if memory is not None:
            _bound(process.pid, memory)
        yield running
    finally:
        running.close()


def _bound(pid: int, memory: int) -> None:
    """Let a program have so many bytes, and leave no dump of them in its folder when it fails for that."""
    with suppress(OSError):  # it has ended already, or is another user's, or there is no such call here
        set_limit(pid, resource.RLIMIT_CORE, (0, 0))
        set_limit(pid, resource.RLIMIT_AS, (memory, memory))


def exit_status(process: ChildProcess) -> int | None:
    """The exit status, negative for a signal; None while it runs. It stays a zombie, so that its number is its own."""
    try:
        ended = waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        raise
    except OSError:  # no such call here
        return process.poll()
    if ended is None:
        return None
    status: int = ended.si_status
    return status if ended.si_code == os.CLD_EXITED else -status
