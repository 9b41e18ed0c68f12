"""The pipes of a running command: what it writes is taken, what it shall read is given."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from toolroll.host.shell.output import CapturedOutput
from toolroll.result import ErrorCode, ToolError

_CHUNK = 1 << 18
_PIPE_BYTES = 1 << 20
_DRAIN_BYTES = 4 << 20  # more than a pipe holds
_FLOOD = 1 << 20  # a program that has written so much gets a larger pipe
# One that writes little and often is left alone for a moment, or we would wake up for every line of it.
_SMALL, _MANY, _GATHER = 4096, 32, 0.001
_LIVE = 0.1  # seconds between two reports of new output
_LIVE_BYTES = 64 * 1024
_INPUT_BYTES = 1 << 20

Live = Callable[[bytes], None]


class Pipes:
    """The pipes of one command and a bell: `turn` waits for any of them. All but `feed` and `ring` is one thread's."""

    def __init__(self, outputs: list[CapturedOutput], *, takes_input: bool, on_output: Live | None) -> None:
        self.child: list[int] = []
        """The command's ends: stdin, stdout, stderr. Ours to close after the start."""
        self.total = 0
        self._outputs: dict[int, CapturedOutput] = {}
        self._on_output = on_output
        self._new = bytearray()
        self._told = 0.0
        self._small = 0
        self._wide: set[int] = set()
        self._lock = threading.Lock()
        self._queue = bytearray()
        self._closing = False
        self._input: int | None = None
        self._process: int | None = None
        self._blind = False  # on a system that does not wake us when a process ends
        self._poll = select.poll()
        self._bell, self._rope = _bell()
        self._poll.register(self._bell, select.POLLIN)
        self._open(outputs, takes_input)

    @property
    def drained(self) -> bool:
        """Whether nobody holds the other end of the pipes any more."""
        return not self._outputs

    def watch(self, pid: int) -> None:
        """Let `turn` return also when this process has ended."""
        self.close_child()
        try:
            self._process = os.pidfd_open(pid)
            self._poll.register(self._process, select.POLLIN)
        except (AttributeError, OSError):
            self._blind = True

    def turn(self, seconds: float) -> bool:
        """Wait for something to happen, at most so long, and deal with it; whether the process may have ended."""
        ended = self._blind
        if self._blind:
            seconds = min(seconds, _GATHER)
        small = False
        for fd, event in self._poll.poll(max(0.0, seconds) * 1000):
            if fd in self._outputs:
                small = 0 < self._take(fd) < _SMALL
            elif fd == self._bell:
                os.read(fd, 8192)
                self._give()
            elif fd == self._input:
                self._give(broken=bool(event & select.POLLERR))
            else:
                ended = True
        self._report()
        self._small = self._small + 1 if small else 0
        if self._small > _MANY and not ended:
            time.sleep(_GATHER)
        return ended

    def forget_process(self) -> None:
        """It has ended, and `turn` shall wait for the pipes alone."""
        self._blind = False
        if self._process is not None:
            self._poll.unregister(self._process)
            os.close(self._process)
            self._process = None

    def drain(self) -> None:
        """Take what is in the pipes, without waiting for more."""
        # By what they hold and not by the clock: a slow machine must lose nothing, and whoever writes on ends it.
        most = self.total + _DRAIN_BYTES * len(self._outputs)
        while self._outputs and self.total < most:
            ready = [fd for fd, _ in self._poll.poll(0) if fd in self._outputs]
            for fd in ready:
                self._take(fd)
            if not ready:
                break
        self._report(last=True)

    def feed(self, data: bytes) -> None:
        """Give the command something to read, in a moment. ToolError if it does not read."""
        with self._lock:
            if self._input is None or self._closing:
                raise ToolError(ErrorCode.CONFLICT, "The command reads no input: it has ended, or its input is closed.")
            if len(self._queue) + len(data) > _INPUT_BYTES:
                raise ToolError(
                    ErrorCode.CONFLICT,
                    f"{len(self._queue)} bytes of input still wait: the command does not read them. Try again later.",
                )
            self._queue += data
        self.ring()

    def close_input(self) -> None:
        """No more to read: what was given is its last."""
        with self._lock:
            self._closing = True
        self.ring()

    def ring(self) -> None:
        """Let `turn` return, from any thread, at any time."""
        with self._lock:
            if self._rope >= 0:
                with suppress(BlockingIOError):  # it rings already
                    os.write(self._rope, (1).to_bytes(8, sys.byteorder))

    def close(self) -> None:
        """Close all of them, whoever still holds the other ends."""
        self.close_child()
        self.forget_process()
        with self._lock:
            for fd in {*self._outputs, self._bell, self._rope}:
                os.close(fd)
            self._outputs.clear()
            self._rope = -1
            self._shut_input()

    def close_child(self) -> None:
        for fd in set(self.child):
            os.close(fd)
        self.child = []

    def _open(self, outputs: list[CapturedOutput], takes_input: bool) -> None:
        try:
            if takes_input:
                reading, self._input = os.pipe()
                os.set_blocking(self._input, False)
                self.child.append(reading)
            else:
                self.child.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            for output in outputs:
                fd, writing = os.pipe()
                os.set_blocking(fd, False)
                self._outputs[fd] = output
                self._poll.register(fd, select.POLLIN)
                self.child.append(writing)
        except OSError:
            self.close()
            raise
        if len(outputs) == 1:
            self.child.append(self.child[-1])

    def _take(self, fd: int) -> int:
        """Read once; how many bytes there were."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            self._poll.unregister(fd)
            del self._outputs[fd]
            os.close(fd)
            return 0
        self._outputs[fd].add(data)
        self.total += len(data)
        if self.total > _FLOOD and fd not in self._wide:
            self._wide.add(fd)
            _widen(fd)
        if self._on_output is not None:
            self._new += data
            del self._new[:-_LIVE_BYTES]
        return len(data)

    def _report(self, *, last: bool = False) -> None:
        if self._on_output is not None and self._new:
            now = time.monotonic()
            if last or now - self._told >= _LIVE:
                self._told = now
                new, self._new = bytes(self._new), bytearray()
                self._on_output(new)

    def _give(self, *, broken: bool = False) -> None:
        """Write what waits, as much as the pipe takes, and be told when it takes more."""
        with self._lock:
            if self._input is None:
                return
            try:
                while self._queue and not broken:
                    del self._queue[: os.write(self._input, self._queue[:65536])]
            except BlockingIOError:
                self._poll.register(self._input, select.POLLOUT)
                return
            except BrokenPipeError:
                broken = True
            if broken or self._closing:
                self._shut_input()
            else:
                with suppress(KeyError):
                    self._poll.unregister(self._input)

    def _shut_input(self) -> None:
        if self._input is not None:
            with suppress(KeyError):
                self._poll.unregister(self._input)
            os.close(self._input)
            self._input = None
            self._queue.clear()


def _bell() -> tuple[int, int]:
    """A descriptor to wait on, and the one that wakes who waits; they may be the same."""
    if hasattr(os, "eventfd"):
        fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        return fd, fd
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    return reading, writing


def _widen(fd: int) -> None:
    import fcntl

    with suppress(AttributeError, OSError):  # the user may have used up what the kernel grants
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
