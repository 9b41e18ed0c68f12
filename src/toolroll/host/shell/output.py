"""Take what a command writes and give it what it reads: pipes, bounded memory, and a kept file for long output."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from toolroll.host.files.spill import Spill, SpillWriter
from toolroll.host.linux import F_SETPIPE_SZ, eventfd, pidfd_open
from toolroll.result import ErrorCode, ToolError
from toolroll.text.terminal import clean

if TYPE_CHECKING:
    from toolroll.host.runtime.call import Progress

END_BYTES = 64 * 1024
FILE_BYTES = 64 << 20
COLUMNS, ROWS = 80, 24
_NOTICE_BYTES = 100  # room in the file for the line that says what is missing


def open_terminal() -> tuple[int, int]:
    """The two ends of a new terminal: ours, and the one for a command."""
    ours, theirs = os.openpty()
    resize(ours, COLUMNS, ROWS)
    os.set_blocking(ours, False)
    return ours, theirs


def resize(fd: int, columns: int, rows: int) -> None:
    """Give a terminal a size; its programs get SIGWINCH."""
    import termios

    termios.tcsetwinsize(fd, (rows, columns))


class CapturedOutput:
    """One stream of output. Any thread may read it while another adds to it; the memory it takes is bounded."""

    def __init__(
        self, spill: Spill | None, *, head: int = END_BYTES, tail: int = END_BYTES, most: int = FILE_BYTES
    ) -> None:
        self.total = 0  # how many bytes have been written in all
        self.note = ""  # why something is not in the kept file, in words for the model; empty when all is well
        self._lock = threading.Lock()
        self._spill = spill
        self._head_size, self._tail_size = head, tail
        self._body = max(0, most - 2 * tail - _NOTICE_BYTES)
        self._most = most
        self._head = bytearray()
        self._tail = bytearray()  # up to twice its size, so that it is not moved for every line
        self._writer: SpillWriter | None = None
        self._writing = spill is not None
        self._finished = False
        self._kept = 0  # so many bytes from the beginning are in the file

    def add(self, data: bytes) -> None:
        """More output. An error of the disk ends the keeping, never the command."""
        with self._lock:
            too_much = self.total + len(data) > self._head_size + self._tail_size
            if self._writing and (too_much or self._writer is not None):
                self._write(data)
            self.total += len(data)
            room = self._head_size - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            if len(data) >= self._tail_size:
                self._tail = bytearray(data[len(data) - self._tail_size :])
                return
            self._tail += data
            if len(self._tail) > 2 * self._tail_size:
                del self._tail[: -self._tail_size]

    def finish(self) -> None:
        """There is no more. The kept file, if it could not take everything, gets the last part."""
        with self._lock:
            again, self._writing, self._finished = self._finished, False, True
            if self._writer is not None and not again:
                try:
                    self._write_end(self._writer)
                except OSError as error:
                    self._stop(error)
                self._writer.close()

    def _write_end(self, writer: SpillWriter) -> None:
        if self._kept == self.total or self.note:
            return
        start = max(self._kept, self.total - len(self._tail))
        tail = _from_character(self._tail[len(self._tail) - (self.total - start) :])
        missing = self.total - self._kept - len(tail)
        if missing:
            writer.write(f"\n[... {missing} bytes are missing here ...]\n".encode())
        writer.write(tail)

    def handle(self, *, make: bool = False) -> str | None:
        """The name under which `read` and `grep` find the output, or None while memory holds all of it.

        With `make` the file is made now; None then means that it cannot be, and `note` says why.
        """
        with self._lock:
            if make and self._spill is not None and not self.note:
                self._write(b"")
            return None if self._writer is None else self._writer.handle

    def ends(self, most: int) -> tuple[bytes, int, bytes]:
        """The beginning and the end within `most` bytes, and how many are left out between them.

        Neither is cut inside a character. When all of it fits, it is the first part.
        """
        with self._lock:
            if self.total <= most:
                whole = self._read(0, most)
                if len(whole) == self.total:
                    return whole, 0, b""
            head = _to_character(self._read(0, most - most // 2))
            start = max(len(head), self.total - most // 2)
            tail = self._read(start, self.total - start)
            if len(tail) < self.total - start:  # there is a gap, and the end is what comes after it
                start = max(start, self.total - len(self._tail))
                tail = self._read(start, self.total - start)
            tail = _from_character(tail)
            return head, self.total - len(head) - len(tail), tail

    def read(self, offset: int, most: int) -> bytes:
        """Up to `most` bytes from `offset` on, behind what was dropped; nothing when there is nothing more yet.

        A character whose rest comes later is left for then, unless there is room for nothing else.
        """
        with self._lock:
            at = self._present(max(0, offset))
            found = self._read(at, most)
            end = at + len(found)
            if end == self.total:
                return found if self._finished else _to_character(found)
            return (_to_character(found) if self._present(end) == end else b"") or found

    def dropped(self) -> range:
        """The offsets of the bytes that were not kept; empty while all are."""
        with self._lock:
            return self._dropped()

    def _dropped(self) -> range:
        start = max(self._kept, len(self._head))
        return range(start, max(start, self.total - len(self._tail)))

    def present(self, offset: int) -> int:
        """The first offset from this one on whose byte was kept; beyond the end, the end."""
        with self._lock:
            return self._present(offset)

    def _present(self, offset: int) -> int:
        dropped = self._dropped()
        return dropped.stop if offset in dropped else min(offset, self.total)

    def _read(self, offset: int, most: int) -> bytes:
        """Bytes from an offset that is present, up to where some are missing."""
        found = bytearray()
        while len(found) < most:
            at, room = offset + len(found), most - len(found)
            tail = self.total - len(self._tail)
            if at < len(self._head):
                part: bytes | bytearray = self._head[at : at + room]
            elif at >= tail:
                part = self._tail[at - tail : at - tail + room]
            elif at < self._kept:
                part = self._from_file(at, min(room, self._kept - at))
            else:
                break
            if not part:
                break
            found += part
        return bytes(found)

    def _from_file(self, offset: int, most: int) -> bytes:
        assert self._writer is not None
        try:
            return self._writer.read(offset, most)
        except OSError as error:
            self._stop(error)
            self._kept = 0
            return b""

    def _write(self, data: bytes) -> None:
        """Add to the file, which is made here and gets what memory has held so far."""
        assert self._spill is not None
        try:
            if self._writer is None:
                self._writer = self._spill.writer(self._most)
                self._kept = self._writer.write((self._head + self._tail)[: self._body])
                if self._finished:
                    self._writer.close()
            if not data:
                return
            room = self._body - self._kept
            if len(data) > room:
                data = _to_character(data[:room])
                self._writing = False
            self._kept += self._writer.write(data)
        except OSError as error:
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        self._writing = False
        self.note = f"Not all of the output could be kept: {error.strerror}."


def _to_character(data: bytes | bytearray) -> bytes:
    """Without the beginning of a UTF-8 character at the end that lacks its rest."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return bytes(data[:-back]) if wanted > back else bytes(data)
        if byte < 0x80:
            break
    return bytes(data)


def _from_character(data: bytes | bytearray) -> bytes:
    """Without the rest of a UTF-8 character at the start that lacks its beginning."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return bytes(data[start:])


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

    def __init__(
        self,
        outputs: list[CapturedOutput],
        *,
        takes_input: bool,
        on_output: Live | None,
        stdin: int | None = None,
        terminal: tuple[int, int] | None = None,
    ) -> None:
        """`stdin`: a file that the command reads instead; it is not closed. `terminal`: its ends, in place of pipes."""
        self.child: list[int] = []  # the command's ends: stdin, stdout, stderr. Ours to close after the start
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
        if terminal is not None:
            self._use(terminal, outputs[0])
        else:
            self._open(outputs, takes_input, stdin)

    @property
    def drained(self) -> bool:
        """Whether all other ends of the pipes are closed."""
        return not self._outputs

    def watch(self, pid: int) -> None:
        """Let `turn` return also when this process has ended."""
        self.close_child()
        try:
            self._process = pidfd_open(pid)
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
        # By what they hold and not by the clock: a slow machine must lose nothing, and this ends an endless writer.
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

    def _open(self, outputs: list[CapturedOutput], takes_input: bool, stdin: int | None) -> None:
        try:
            if takes_input:
                reading, self._input = os.pipe()
                os.set_blocking(self._input, False)
                self.child.append(reading)
            else:
                self.child.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) if stdin is None else os.dup(stdin))
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

    def _use(self, terminal: tuple[int, int], output: CapturedOutput) -> None:
        ours, theirs = terminal
        self.child = [theirs] * 3
        self._outputs[ours], self._input = output, os.dup(ours)
        self._poll.register(ours, select.POLLIN)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        with self._lock, suppress(OSError):  # nobody has it open
            if self._input is not None:
                resize(self._input, columns, rows)

    def _take(self, fd: int) -> int:
        """Read once; how many bytes there were."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return 0
        except OSError:  # a terminal that nobody has open
            data = b""
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
        """Write what waits, as much as the pipe takes, and poll for room for the rest."""
        with self._lock:
            if self._input is None:
                return
            try:
                while self._queue and not broken:
                    del self._queue[: os.write(self._input, self._queue[:65536])]
            except BlockingIOError:
                self._poll.register(self._input, select.POLLOUT)
                return
            except OSError:
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
    """A descriptor to wait on, and the one that wakes the waiting thread; they may be the same."""
    with suppress(OSError):
        fd = eventfd(0, os.O_CLOEXEC | os.O_NONBLOCK)
        return fd, fd
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    return reading, writing


def _widen(fd: int) -> None:
    import fcntl

    with suppress(OSError):  # the user may have used up what the kernel grants
        fcntl.fcntl(fd, F_SETPIPE_SZ, _PIPE_BYTES)


def report_lines(progress: Progress, seconds: float | None) -> Callable[[bytes], None]:
    """Report the newest line to the caller while the command runs."""
    began = time.monotonic()

    def tell(chunk: bytes) -> None:
        lines = clean(chunk[-4096:]).strip().splitlines()
        progress(time.monotonic() - began, seconds, lines[-1] if lines else "")

    return tell
