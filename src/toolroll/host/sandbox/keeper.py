"""The threads that serve the sockets of confined commands which have no network of their own.

The kernel announces `bind`, `connect` and `listen` of such a command. `loopback` judges each and makes it on the
command's own socket; none is ever let through as it was made. The keeper is threads of this process and not a process,
because Yama lets a process look only into its descendants. Without it announced calls fail with ENOSYS; if a thread
fails, its command is ended.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from weakref import WeakSet

from toolroll.host.runtime import process_tree
from toolroll.host.runtime.socket_table import all_listening, socket_at
from toolroll.host.sandbox.announced import Notice, receive
from toolroll.host.sandbox.loopback import Loopback, socket_error
from toolroll.host.sandbox.seccomp import SeccompFilter, install
from toolroll.host.sandbox.syscalls import Kernel, machine, run_apart

CALLS = ("bind", "connect", "listen")
_MOST_WAITING = 256
_MOST_CLIENTS = 1024  # connections that a server of ours may not have taken yet
_LONGEST_WAIT = 130.0  # seconds for a connection: about as long as the kernel tries
_RETRY, _LOOK = 0.02, 1.0
_MOST_A_SECOND = 2000  # calls: a flood of them must not take all of our time
_PAUSE = 0.05
_ADMINS_ONLY, _CAP_SYS_PTRACE = 2, 19
_PROBLEMS = {
    ("seccomp", errno.EBUSY): "another program receives the announced calls of this one already",
    ("seccomp", errno.EINVAL): "the kernel is older than Linux 5.19",
    ("pidfd_getfd", errno.EPERM): "pidfd_getfd is refused here, as in a container without CAP_SYS_PTRACE",
}


@cache
def why_no_sockets() -> str:
    """What keeps commands from having sockets of their own; empty if nothing does."""
    here = machine()
    if here is None:
        return "not for this machine"
    kernel, program = Kernel(here.numbers), SeccompFilter(network=False, alone=False, announced=True).program(here)

    def announce() -> None:
        kernel.no_new_privileges()
        os.close(install(kernel, program, announced=True))

    try:
        run_apart(announce)
        with open(os.devnull, "rb") as some:
            os.close(Notice(-1, 0, os.getpid(), 0, (some.fileno(),)).take_descriptor(kernel))
        all_listening()
    except OSError as error:
        return _PROBLEMS.get((str(error.filename), error.errno or 0), f"{error.filename}: {error.strerror}")
    return "" if _may_look_into_children() else "kernel.yama.ptrace_scope keeps processes from each other"


def _may_look_into_children() -> bool:
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", "rb") as file:
            scope = int(file.read())
    except FileNotFoundError:
        return True
    with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        rights = next((int(line.split()[1], 16) for line in status if line.startswith("CapEff:")), 0)
    return scope < _ADMINS_ONLY or (scope == _ADMINS_ONLY and bool(rights >> _CAP_SYS_PTRACE & 1))


@dataclass(frozen=True, slots=True)
class _Connection:
    """A connection that a command has asked for."""

    notice: Notice
    name: bytes  # as the command gave it
    fd: int
    until: float
    begun: bool = False
    """The kernel is about to make it; else the call must be made again, for the server was busy."""


class SocketKeeper:
    """Serves the commands of one kit, each in a thread of its own: a call that waits keeps no other command waiting."""

    def __init__(self, kernel: Kernel, numbers: dict[str, int]) -> None:
        self.loopback = Loopback(kernel)
        self.kernel = kernel
        self.names = {numbers[name]: name for name in CALLS}
        self._threads: WeakSet[threading.Thread] = WeakSet()
        self._clients: dict[int, int] = {}  # by the inode of a socket that connects: the first process of its command

    def add(self, listener: int, pid: int, confine: Callable[[], None], forget: Callable[[], None]) -> None:
        """Serve the command whose calls are announced to this listener, a descriptor, which is closed in the end.

        `confine` gives the calling thread the command's rights to files, and no more; `forget` is called when the
        last process of the command has ended.
        """
        serve = _CommandSockets(self, listener, pid, confine).serve
        thread = threading.Thread(target=serve, args=(forget,), name="toolroll sockets", daemon=True)
        thread.start()
        self._threads.add(thread)  # not before: a thread whose start was interrupted cannot be joined

    def note_client(self, fd: int, pid: int) -> None:
        """A command is about to connect this socket."""
        self._clients[os.fstat(fd).st_ino] = pid
        for inode in list(self._clients)[:-_MOST_CLIENTS]:
            self._clients.pop(inode, None)

    def find_command(self, connection: socket.socket) -> int:
        """The first process of the command that has made this connection to a socket of ours; 0 for none."""
        found = socket_at(connection.getpeername(), connection.getsockname())
        return 0 if found is None or found.uid != os.geteuid() else self._clients.pop(found.inode, 0)

    def close(self) -> None:
        """Wait for the threads of commands that have ended; not for one that a call of its command holds up."""
        until = time.monotonic() + _LOOK
        for thread in tuple(self._threads):
            thread.join(max(0.0, until - time.monotonic()))


class _CommandSockets:
    """The calls of one command."""

    def __init__(self, keeper: SocketKeeper, listener: int, pid: int, confine: Callable[[], None]) -> None:
        self._keeper, self._kernel, self.loopback = keeper, keeper.kernel, keeper.loopback
        self._listener, self._pid, self._confine = listener, pid, confine
        self._waiting: dict[int, _Connection] = {}  # by descriptor
        self._events = select.poll()
        self._second, self._count = 0.0, 0

    def serve(self, forget: Callable[[], None]) -> None:
        """Make the calls until the last process of the command has ended."""
        try:
            self._events.register(self._listener, select.POLLIN)
            while self._serve_next():
                pass
        except BaseException:
            process_tree.kill_group(self._pid)
            raise
        finally:
            for one in tuple(self._waiting.values()):
                self._end(one)
            os.close(self._listener)
            forget()

    def _serve_next(self) -> bool:
        for fd, event in self._events.poll(self._pause()):
            if (connection := self._waiting.get(fd)) is not None:
                self._go_on(connection)
            elif event & select.POLLIN:
                self._handle()
            else:
                return False
        self._look_after()
        return True

    def _pause(self) -> float | None:
        """Milliseconds until those that wait are looked after."""
        if not self._waiting:
            return None
        return 1000 * (_LOOK if all(one.begun for one in self._waiting.values()) else _RETRY)

    def _handle(self) -> None:
        self._keep_pace()
        notice = receive(self._listener)
        if notice is None:
            return
        try:
            if self._carry_out(notice):
                notice.answer()
        except OSError as error:
            notice.answer(error.errno or errno.EPERM)

    def _keep_pace(self) -> None:
        now = time.monotonic()
        if now - self._second >= 1:
            self._second, self._count = now, 0
        self._count += 1
        if self._count > _MOST_A_SECOND:
            time.sleep(_PAUSE)

    def _carry_out(self, notice: Notice) -> bool:
        """Make the call; False if its answer is still to come."""
        call = self._keeper.names[notice.number]
        name = b"" if call == "listen" else notice.read_address()
        fd = notice.take_descriptor(self._kernel)
        try:
            if not notice.is_valid():
                return False
            if call == "connect":
                self._begin(_Connection(notice, name, fd, time.monotonic() + _LONGEST_WAIT))
            elif call == "bind":
                self.loopback.bind(fd, name, notice.pid, self._confine)
            else:
                self.loopback.listen(fd, notice.args[1] & 0x7FFFFFFF)
            return fd not in self._waiting
        finally:
            if fd not in self._waiting:
                os.close(fd)

    def _begin(self, wanted: _Connection) -> None:
        """Connect; a socket that blocks does not while we try, and is among those that wait if that takes longer."""
        blocks = os.get_blocking(wanted.fd)
        os.set_blocking(wanted.fd, False)
        try:
            self._connect(wanted)
        except BlockingIOError as error:
            if not blocks or error.errno == errno.EALREADY or len(self._waiting) >= _MOST_WAITING:
                raise
            begun = error.errno == errno.EINPROGRESS
            self._waiting[wanted.fd] = replace(wanted, begun=begun)
            if begun:
                self._events.register(wanted.fd, select.POLLOUT)
        finally:
            if blocks and wanted.fd not in self._waiting:
                os.set_blocking(wanted.fd, True)

    def _connect(self, wanted: _Connection) -> None:
        if wanted.begun:
            if error := socket_error(wanted.fd):
                raise OSError(error, os.strerror(error))
        else:
            with self.loopback.destination(wanted.name, wanted.notice.pid) as name:
                self._keeper.note_client(wanted.fd, self._pid)
                self._kernel.call("connect", wanted.fd, name, len(name))
        try:
            self.loopback.check_again(wanted.name)
        except OSError:
            self._kernel.call("shutdown", wanted.fd, socket.SHUT_RDWR)
            raise

    def _look_after(self) -> None:
        for one in list(self._waiting.values()):
            if not one.notice.is_valid():
                self._end(one)
            elif time.monotonic() > one.until:
                self._end(one, errno.ETIMEDOUT)
            elif not one.begun:
                self._go_on(one)

    def _go_on(self, one: _Connection) -> None:
        try:
            self._connect(one)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(one, error.errno or errno.EPERM)
        else:
            self._end(one)

    def _end(self, one: _Connection, error: int = 0) -> None:
        """A connection waits no longer."""
        del self._waiting[one.fd]
        if one.begun:
            self._events.unregister(one.fd)
        os.set_blocking(one.fd, True)
        os.close(one.fd)
        one.notice.answer(error)
