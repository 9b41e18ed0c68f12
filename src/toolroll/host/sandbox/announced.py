"""Calls of a confined process that the kernel announces, and the process that waits for their result."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from dataclasses import dataclass

from toolroll.host.sandbox.syscalls import Kernel

_RECEIVE, _ANSWER, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102  # ioctls of a listener
_NOTICE_BYTES = 80
_PIDFD_THREAD = os.O_EXCL
_MAX_ADDRESS = 128


@dataclass(frozen=True, slots=True)
class Notice:
    """An announced call."""

    listener: int
    id: int
    pid: int  # of the thread that waits in it
    number: int
    args: tuple[int, ...]

    def is_valid(self) -> bool:
        """Whether it still waits, so that its number has always meant that thread."""
        try:
            fcntl.ioctl(self.listener, _IS_VALID, struct.pack("=Q", self.id))
        except FileNotFoundError:
            return False
        return True

    def answer(self, error: int = 0) -> None:
        """Let the call return 0, or this error."""
        try:
            fcntl.ioctl(self.listener, _ANSWER, struct.pack("=QqiI", self.id, 0, -error, 0))
        except FileNotFoundError:
            return  # it was killed

    def take_descriptor(self, kernel: Kernel) -> int:
        """A descriptor of ours, for the caller to close, of what is open as the first argument of the call."""
        try:
            process = kernel.call("pidfd_open", self.pid, _PIDFD_THREAD)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            process = kernel.call("pidfd_open", self._first_thread(), 0)  # before Linux 6.9
        try:
            return kernel.call("pidfd_getfd", process, self.args[0] & 0x7FFFFFFF, 0)
        finally:
            os.close(process)

    def read_address(self) -> bytes:
        """A copy of the address that is the second argument; its length is the third."""
        size = self.args[2] & 0xFFFFFFFF
        if not 2 <= size <= _MAX_ADDRESS:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = os.pread(memory, size, self.args[1])
        except (OverflowError, OSError):
            found = b""
        finally:
            os.close(memory)
        if len(found) < size:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return found

    def _first_thread(self) -> int:
        with open(f"/proc/{self.pid}/status", encoding="utf-8", errors="replace") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Tgid:"))


def receive(listener: int) -> Notice | None:
    """The next call that waits at a listener which is ready; None if it was killed meanwhile."""
    found = bytearray(_NOTICE_BYTES)
    try:
        fcntl.ioctl(listener, _RECEIVE, found)
    except (FileNotFoundError, InterruptedError):
        return None
    number, pid, _, call, _, _, *args = struct.unpack_from("=QIIIIQ6Q", found)
    return Notice(listener, number, pid, call, tuple(args))
