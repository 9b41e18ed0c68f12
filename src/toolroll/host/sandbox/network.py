"""A network for the commands of one kit, with a loopback and nothing else: made once, entered by each of them.

As root our own process makes it, and the thread that starts a command enters it for a moment. Else a small process
makes it together with a user namespace, and each command is started through `nsenter`, which enters both.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from toolroll.host.linux import AF_NETLINK
from toolroll.host.runtime.launcher import DEVNULL, PIPE, ChildProcess, start_process, wait_for
from toolroll.host.runtime.socket_table import SOCK_DIAG, FoundSocket, socket_at
from toolroll.host.sandbox.syscalls import Kernel, run_apart

_FOUR, _SIX = (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")
LOOPBACK = {"127.0.0.1": (_FOUR,), "[::1]": (_SIX,), "localhost": (_FOUR, _SIX)}
"""What is tried for a host of the loopback."""
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS
_UP = 0x1 | 0x40  # IFF_UP, IFF_RUNNING
_HERE = "/proc/thread-self/ns/net"
_ENTER = ("/usr/bin/nsenter", "/bin/nsenter", "/usr/local/bin/nsenter", "/run/current-system/sw/bin/nsenter")
_FIRST_PORT = "/proc/sys/net/ipv4/ip_unprivileged_port_start"  # every network has its own
# All files are there and none can be written but the settings of the network: what counts are the namespaces. It ends
# with us, when `read` does. It is in our namespace of processes, so that its number is the one that we know it by.
_HELPER = (
    *("--unshare-user", "--unshare-net", "--new-session", "--cap-drop", "ALL", "--cap-add", "CAP_NET_ADMIN"),
    *("--ro-bind", "/", "/", "--dev-bind", "/proc", "/proc"),
    *("--", "/bin/sh", "-c", f"(echo 0 >{_FIRST_PORT}) 2>/dev/null; echo $$; read _"),
)
_GIVE_SOCKET = """
import socket, sys
with socket.socket(fileno=0) as to, socket.socket(*map(int, sys.argv[1:])) as made:
    socket.send_fds(to, [b"."], [made.fileno()])
"""
_SECONDS = 10.0  # for a small process of ours


class _PeerLookup:
    """Finds sockets in a network by both ends of a connection."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._table: socket.socket | None = None

    def find_peer(self, kernel: Kernel, connection: socket.socket) -> FoundSocket | None:
        """The socket in the network that has connected to one of ours there; None if it is closed."""
        with self._asking:
            if self._table is None:
                self._table = self.make_socket(kernel, AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG)
            if self._table is None:
                return None
            return socket_at(connection.getpeername(), connection.getsockname(), self._table)

    def make_socket(
        self, kernel: Kernel, family: int, kind: int = socket.SOCK_STREAM, protocol: int = 0
    ) -> socket.socket | None:
        """A socket in the network; None when it is closed."""
        raise NotImplementedError

    def close(self) -> None:
        with self._asking:
            if self._table is not None:
                self._table.close()


class Network(_PeerLookup):
    """A network namespace. Processes in it stay there when it is closed."""

    def __init__(self, kernel: Kernel) -> None:
        """OSError where we have no right to make one."""
        super().__init__()
        self._fd = run_apart(lambda: _make_network(kernel))
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, os.close, self._fd)

    def open(self) -> int | None:
        """A descriptor to enter it by, for the caller to close; None when it is closed."""
        with self._lock:  # the number of a closed one could be that of our own network when it comes to be entered
            return os.dup(self._fd) if self._end.alive else None

    def enter(self, kernel: Kernel, stack: ExitStack) -> tuple[str, ...] | None:
        """Start what follows in it, until the stack is closed, with these words before it; None when it is closed."""
        shared = self.open()
        if shared is None:
            return None
        stack.callback(os.close, shared)
        stack.enter_context(enter_network(kernel, shared))
        return ()

    def make_socket(
        self, kernel: Kernel, family: int, kind: int = socket.SOCK_STREAM, protocol: int = 0
    ) -> socket.socket | None:

        def make() -> socket.socket | None:
            with ExitStack() as stack:
                return None if self.enter(kernel, stack) is None else socket.socket(family, kind, protocol)

        return run_apart(make)

    def close(self) -> None:
        super().close()
        with self._lock:
            self._end()


class UserNetwork(_PeerLookup):
    """The same for who is not root: a network in a user namespace, held by a process that waits for our end."""

    def __init__(self, bubblewrap: str) -> None:
        """OSError where none can be made."""
        super().__init__()
        self._program = next((one for one in _ENTER if os.access(one, os.X_OK)), "")
        if not self._program:
            raise FileNotFoundError(_ENTER[0])
        self._helper = start_process([bubblewrap, *_HELPER], "/", {}, (PIPE, PIPE, DEVNULL))
        self._end = weakref.finalize(self, _end_helper, self._helper)
        self._pid = _read_pid(self._helper)
        if not self._pid:
            self._end()
            raise PermissionError("no user namespace")

    def enter(self, kernel: Kernel, stack: ExitStack) -> tuple[str, ...] | None:  # noqa: ARG002
        """The words that start a program in it; None when it is closed."""
        if not self._end.alive or self._helper.poll() is not None:
            return None
        return (self._program, "--preserve-credentials", "--target", str(self._pid), "--user", "--net", "--")

    def make_socket(
        self, kernel: Kernel, family: int, kind: int = socket.SOCK_STREAM, protocol: int = 0
    ) -> socket.socket | None:
        with ExitStack() as stack:
            words = self.enter(kernel, stack)
            if words is None:
                return None
            ours, theirs = (stack.enter_context(one) for one in socket.socketpair())
            code = [sys.executable, "-I", "-S", "-c", _GIVE_SOCKET, *map(str, map(int, (family, kind, protocol)))]
            process = start_process([*words, *code], "/", {}, (theirs.fileno(), DEVNULL, DEVNULL))
            theirs.close()
            ours.settimeout(_SECONDS)
            try:
                _, fds, _, _ = socket.recv_fds(ours, 1, 1)
            finally:
                ours.close()
                process.wait()
            return socket.socket(fileno=fds[0]) if fds else None

    def close(self) -> None:
        super().close()
        self._end()


def _end_helper(helper: ChildProcess) -> None:
    for pipe in (helper.stdin, helper.stdout):
        if pipe is not None:
            pipe.close()
    if wait_for(helper, _SECONDS) is None:
        helper.kill()
        helper.wait()


def _read_pid(helper: ChildProcess) -> int:
    """The process in the network, as it names itself once it runs there; 0 if it does not."""
    assert helper.stdout is not None
    told = b""
    while not told.endswith(b"\n"):
        piece = helper.stdout.read(16)
        if not piece:
            return 0
        told += piece
    return int(told)


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
    """A descriptor of a new network; OSError where it could be entered, but not left again.

    That is so in a container whose root has no rights over the network that it is in.
    """
    back = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        kernel.call("unshare", _NEW_NETWORK)
        _start_loopback()
        with suppress(OSError), open(_FIRST_PORT, "w", encoding="ascii") as file:
            file.write("0")
        made = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            kernel.call("setns", back, _NEW_NETWORK)
        except OSError:
            os.close(made)
            raise
        return made
    finally:
        os.close(back)


def _start_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
