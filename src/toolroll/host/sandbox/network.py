"""A network namespace for commands alone: made once, entered by the thread that starts one of them."""

from __future__ import annotations

import os
import socket
import struct
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from toolroll.host.sandbox.syscalls import Kernel, run_apart

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS
_UP = 0x1 | 0x40  # IFF_UP, IFF_RUNNING
_HERE = "/proc/thread-self/ns/net"


class Network:
    """A network namespace with a loopback and nothing else. Processes in it stay there when it is closed."""

    def __init__(self, kernel: Kernel) -> None:
        """OSError where we have no right to make one."""
        self._fd = run_apart(lambda: _make_network(kernel))
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, os.close, self._fd)

    def open(self) -> int | None:
        """A descriptor to enter it by, for the caller to close; None when it is closed."""
        with self._lock:  # the number of a closed one could be that of our own network when it comes to be entered
            return os.dup(self._fd) if self._end.alive else None

    def close(self) -> None:
        with self._lock:
            self._end()


@contextmanager
def enter_network(kernel: Kernel, network: int) -> Iterator[None]:
    """What the calling thread starts in the block is in this network; the thread itself is back afterwards."""
    back = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        kernel.call("setns", network, _NEW_NETWORK)
        yield
    finally:
        try:
            kernel.call("setns", back, _NEW_NETWORK)  # also where an interrupt came before the block began
        finally:
            os.close(back)


def _make_network(kernel: Kernel) -> int:
    """A descriptor of a new network, in which the calling thread is from now on."""
    kernel.call("unshare", _NEW_NETWORK)
    _start_loopback()
    return os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)


def _start_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
