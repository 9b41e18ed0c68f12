"""The pipes of a child process as the stream of a channel: no caller can block on it, and its memory is watched."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from toolroll.host.rpc.codecs import MAX_MESSAGE_BYTES, PeerGoneError
from toolroll.host.runtime import process_tree
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.processes import exit_status
from toolroll.text.terminal import clean

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import ChildProcess

_CHUNK_BYTES = 1 << 18
_KEPT_STDERR_BYTES = 2000
_SHOWN_STDERR_LINES = 3
_SHOWN_CHARS = 300
_MAX_WAITING = 10_000  # messages that a child has not read yet
_WATCH_INTERVAL_S = 1.0  # between two checks of the child's memory


class ChildStream:
    """A `ByteStream` over the pipes of a process, which ends with it."""

    def __init__(self, process: ChildProcess, memory: int, kill: Callable[[], None] | None = None) -> None:
        """`memory` limits the process and its children, in bytes; `kill` ends it, by default with its group."""
        self._process, self._memory, self._kill = process, memory, kill or self._kill_group
        self._lock = threading.Lock()
        self._out: deque[bytes] = deque()
        self._out_bytes = 0
        self._stderr = b""
        self._wake = os.pipe()
        self._is_closed = self._is_writing = False
        self._watched = time.monotonic()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._in, self._answers, self._errors = (
            pipe.fileno() for pipe in (process.stdin, process.stdout, process.stderr)
        )
        os.set_blocking(self._in, False)
        self._poll = select.poll()
        for fd in (self._answers, self._errors, self._wake[0]):
            self._poll.register(fd, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._is_closed:
                raise BrokenPipeError
            if self._out_bytes > MAX_MESSAGE_BYTES or len(self._out) > _MAX_WAITING:
                raise PeerGoneError("asked on without reading the answers, and was ended", memory=True)
            self._out.append(data)
            self._out_bytes += len(data)
            if len(self._out) == 1:
                os.write(self._wake[1], b"x")

    def wake(self) -> None:
        with self._lock:
            if not self._is_closed:
                os.write(self._wake[1], b".")
                self._is_closed = True

    def end_input(self) -> None:
        """Close the child's stdin. The pipe is replaced, not closed: the thread may be about to write to it."""
        stdin = self._process.stdin
        with closing_fd(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)) as null, self._lock:
            if not self._is_closed and stdin is not None and not stdin.closed:
                os.dup2(null, stdin.fileno(), inheritable=False)

    def read(self) -> bytes:
        """Carry bytes both ways until some have come; PeerGoneError says how the process has ended."""
        while not self._is_closed:
            if self._is_writing != bool(self._out):  # else a closed input would be an event forever
                self._is_writing = not self._is_writing
                self._poll.register(self._in, select.POLLOUT) if self._is_writing else self._poll.unregister(self._in)
            for fd, _ in self._poll.poll(_WATCH_INTERVAL_S * 1000):
                if fd == self._wake[0]:
                    os.read(fd, _CHUNK_BYTES)
                elif fd == self._errors:
                    self._read_errors()
                elif fd == self._answers:
                    if not (data := os.read(fd, _CHUNK_BYTES)):
                        raise self._describe_end()
                    return data
                elif not self._write():
                    raise self._describe_end()
            if time.monotonic() - self._watched >= _WATCH_INTERVAL_S:
                self._watched = time.monotonic()
                self._check_process()
        return b""

    def _read_errors(self) -> None:
        data = os.read(self._errors, _CHUNK_BYTES)
        self._stderr = (self._stderr + data)[-_KEPT_STDERR_BYTES:]
        if not data:
            self._poll.unregister(self._errors)

    def _write(self) -> bool:
        """Write what the child takes now; False when it has closed its input."""
        with self._lock:
            data = self._out[0]
        try:
            written = os.write(self._in, data)
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        with self._lock:
            self._out_bytes -= written
            if written < len(data):
                self._out[0] = data[written:]
            else:
                self._out.popleft()
        return True

    def _check_process(self) -> None:
        """PeerGoneError when the process has ended or uses too much memory."""
        if exit_status(self._process) is not None:
            raise self._describe_end()
        used = measure_memory(self.pid)
        if used > self._memory:
            size = f"{used >> 20} MB of memory, more than the {self._memory >> 20} MB that it may use"
            raise PeerGoneError(f"used {size}, and was ended", memory=True)

    def _describe_end(self) -> PeerGoneError:
        """How the process ended, with the last lines of its stderr, where most programs say why."""
        for _ in range(20):
            if (status := exit_status(self._process)) is not None:
                break
            time.sleep(0.005)  # its output ends a moment before the process does
        how = "closed its output" if status is None else f"ended with status {status}"
        how = f"was killed by signal {-status}" if status is not None and status < 0 else how
        with suppress(OSError):
            assert self._process.stderr is not None
            os.set_blocking(self._process.stderr.fileno(), False)
            rest = os.read(self._process.stderr.fileno(), _CHUNK_BYTES)
            self._stderr = (self._stderr + rest)[-_KEPT_STDERR_BYTES:]
        last = " / ".join(clean(self._stderr).strip().splitlines()[-_SHOWN_STDERR_LINES:])
        return PeerGoneError(f"{how}; it said {last[-_SHOWN_CHARS:]!r}" if last else how)

    def _kill_group(self) -> None:
        if self._process.returncode is None:
            process_tree.kill_group(self.pid)

    def close(self) -> None:
        self._kill()  # before `wait`: until then no other process can have its number
        with self._lock:
            self._is_closed = True
            for fd in self._wake:
                os.close(fd)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()


def measure_memory(pid: int) -> int:
    """Bytes of memory that a process and its children hold; 0 where that cannot be measured."""
    if not process_tree.has_proc():
        return 0
    view = process_tree.view_processes()
    first = view.get(pid)
    return 0 if first is None else sum(one.rss for one in view.tree([first]).values())
