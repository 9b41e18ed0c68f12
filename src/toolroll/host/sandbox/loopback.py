"""What a command without a network of its own may do with a socket: serve others of its group, and use what they serve.

The address is a copy that the command cannot change, and the call is made here on the command's own socket, so what is
judged is what is used. All addresses (0.0.0.0, ::) mean the loopback. Unix sockets without a file are refused.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from toolroll.host.files.openat import PATH
from toolroll.host.linux import AF_NETLINK
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.socket_table import (
    Address,
    File,
    all_listening,
    cookie_of,
    file_of_descriptor,
    file_of_socket,
    listening_at,
)
from toolroll.host.sandbox.network import LOOPBACK
from toolroll.host.sandbox.syscalls import Kernel, run_apart

_OWN_FOLDER = 0x200  # CLONE_FS
_DIAL_SECONDS = 5.0
_ANY4, _ANY6 = ipaddress.IPv4Address("0.0.0.0"), ipaddress.IPv6Address("::")
_LOOPBACK4, _LOOPBACK6 = ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1")
_MAPPED = ipaddress.IPv6Address("::ffff:127.0.0.1")
_MEANT: dict[Address, Address] = {_ANY4: _LOOPBACK4, _ANY6: _LOOPBACK6, ipaddress.IPv6Address("::ffff:0:0"): _MAPPED}
_FIRST_FREE_PORT = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
_MOST = 1024  # sockets remembered before those that have ended are looked for
_SIZES = {socket.AF_INET: 16, socket.AF_INET6: 24}  # the least that the kernel takes for an address


class Loopback:
    """The sockets that the commands of a group listen at, and the calls that make and use them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._lock = threading.Lock()  # of what is remembered: each command has a thread of its own
        self._tcp: set[int] = set()  # the kernel's numbers of those that listen
        self._files: dict[File, tuple[int, int]] = {}  # for a file: the number and the cookie of the socket
        self.open_ports: frozenset[int] = frozenset()
        """Ports of the loopback that commands may connect to, whichever program listens: the user has named them."""

    def make_socket(self, family: int) -> socket.socket:
        """A stream of our own that commands may connect to, once it listens."""
        made = socket.socket(family, socket.SOCK_STREAM)
        self._remember(made.fileno())
        return made

    def dial(self, host: str, port: int) -> socket.socket | None:
        """A connection of ours to what a command serves; None if none does, or somebody else."""
        for family, where in LOOPBACK.get(host, ()):
            address = ipaddress.ip_address(where)
            if not (found := listening_at(address, port)) or not found <= self._tcp:
                continue
            made = socket.socket(family, socket.SOCK_STREAM)
            made.settimeout(_DIAL_SECONDS)
            if made.connect_ex((where, port)) == 0 and listening_at(address, port) <= self._tcp:
                return made
            made.close()
        return None

    def bind(self, fd: int, name: bytes, pid: int, confine: Callable[[], None]) -> None:
        """Give the socket a name; `confine` gives the calling thread the command's rights to files."""
        family = _family(name)
        if family == socket.AF_UNIX:
            _check_path(name)
            with closing_fd(os.open(f"/proc/{pid}/cwd", PATH | os.O_DIRECTORY | os.O_CLOEXEC)) as folder:
                mask = _umask(pid)
                run_apart(lambda: self._bind_file(fd, name, folder, mask, confine))
        elif family == AF_NETLINK:
            self._call("bind", fd, struct.pack("=HHII", AF_NETLINK, 0, 0, 0))
        else:
            address, port = _parse(name)
            if 0 < port < _first_free_port():
                raise _error(errno.EACCES)
            if not _is_loopback(address := _narrow(address, fd)):
                raise _error(errno.EADDRNOTAVAIL)
            self._call("bind", fd, _build(address, port))

    def listen(self, fd: int, backlog: int) -> None:
        """Let the socket take connections; from now on others of the group may connect to it."""
        with _borrow(fd) as sock:
            if sock.family == socket.AF_UNIX:
                self._listen_at_file(sock, backlog)
            elif sock.family in _SIZES:
                self._listen_at_port(sock, backlog)
            else:
                raise _error(errno.EOPNOTSUPP)

    @contextmanager
    def destination(self, name: bytes, pid: int) -> Iterator[bytes]:
        """The name to connect to instead of the one that was given, within the block; OSError if that may not be."""
        if _family(name) == socket.AF_UNIX:
            with closing_fd(os.open(_check_path(name, pid), PATH | os.O_CLOEXEC)) as fd:
                self._check_file(fd)
                yield struct.pack("=H", socket.AF_UNIX) + f"/proc/self/fd/{fd}\0".encode()
        else:
            address, port = _parse(name)
            yield _build(self._find_server(address, port), port)

    def check_again(self, name: bytes) -> None:
        """OSError if somebody else has taken the place of the server while the connection to it was made."""
        if _family(name) in _SIZES:
            address, port = _parse(name)
            if port not in self.open_ports and not listening_at(address, port) <= self._tcp:
                raise _error(errno.EACCES)

    def _bind_file(self, fd: int, name: bytes, folder: int, mask: int, confine: Callable[[], None]) -> None:
        self._kernel.call("unshare", _OWN_FOLDER)
        os.fchdir(folder)
        os.umask(mask)
        confine()
        self._call("bind", fd, name)

    def _listen_at_file(self, sock: socket.socket, backlog: int) -> None:
        name = sock.getsockname()
        if isinstance(name, bytes) and name:  # one without a file, which the kernel gave it
            raise _error(errno.EPERM)
        self._kernel.call("listen", sock.fileno(), backlog)
        number, cookie = os.fstat(sock.fileno()).st_ino, cookie_of(sock)
        if (file := file_of_socket(number, cookie)) is not None:
            with self._lock:
                if len(self._files) >= _MOST:
                    self._files = {one: known for one, known in self._files.items() if file_of_socket(*known) == one}
                self._files[file] = number, cookie

    def _listen_at_port(self, sock: socket.socket, backlog: int) -> None:
        fd = sock.fileno()
        if not sock.getsockname()[1]:
            anywhere = _ANY4 if sock.family == socket.AF_INET else _ANY6
            self._call("bind", fd, _build(_narrow(anywhere, fd), 0))
        where, port = sock.getsockname()[:2]
        if not listening_at(ipaddress.ip_address(where), port) <= self._tcp:
            raise _error(errno.EADDRINUSE)  # it would share the port with a program outside
        self._kernel.call("listen", fd, backlog)
        if not _is_loopback(ipaddress.ip_address(sock.getsockname()[0])):
            sock.shutdown(socket.SHUT_RD)
            raise _error(errno.EACCES)
        self._remember(fd)

    def _remember(self, fd: int) -> None:
        with self._lock:
            if len(self._tcp) >= _MOST:
                self._tcp = self._tcp & all_listening()
            self._tcp.add(os.fstat(fd).st_ino)

    def _find_server(self, address: Address, port: int) -> Address:
        """Where to connect: a server at all addresses of both kinds is at that of the older kind only."""
        address = _MEANT.get(address, address)
        if not _is_loopback(address):
            raise _error(errno.ENETUNREACH)
        for one in (address, _MAPPED) if address == _LOOPBACK6 else (address,):
            if port in self.open_ports and one in (_LOOPBACK4, _LOOPBACK6, _MAPPED):
                return one
            if found := listening_at(one, port):
                if found <= self._tcp:
                    return one
                raise _error(errno.EACCES)
        raise _error(errno.ECONNREFUSED)

    def _check_file(self, fd: int) -> None:
        if not stat.S_ISSOCK(os.fstat(fd).st_mode):
            raise _error(errno.ECONNREFUSED)
        file = file_of_descriptor(fd)
        if (known := self._files.get(file)) is None:
            raise _error(errno.EACCES)
        if file_of_socket(*known) != file:  # it has ended, and the number of its file may be another's now
            with self._lock:
                self._files.pop(file, None)
            raise _error(errno.EACCES)

    def _call(self, call: str, fd: int, name: bytes) -> None:
        self._kernel.call(call, fd, name, len(name))


def socket_error(fd: int) -> int:
    """How a connection has ended that took longer to make: 0, or the error."""
    with _borrow(fd) as sock:
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@contextmanager
def _borrow(fd: int) -> Iterator[socket.socket]:
    """The socket of a descriptor that stays open, as it is: Python may have a time limit for new ones."""
    blocks = os.get_blocking(fd)
    sock = socket.socket(fileno=fd)
    try:
        yield sock
    finally:
        sock.detach()
        os.set_blocking(fd, blocks)


def _family(name: bytes) -> int:
    family = int(struct.unpack_from("=H", name)[0])
    if family not in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, AF_NETLINK):
        raise _error(errno.EAFNOSUPPORT)
    return family


def _parse(name: bytes) -> tuple[Address, int]:
    family = _family(name)
    if family not in _SIZES:
        raise _error(errno.EAFNOSUPPORT)
    if len(name) < _SIZES[socket.AddressFamily(family)]:
        raise _error(errno.EINVAL)
    (port,) = struct.unpack_from(">H", name, 2)
    return ipaddress.ip_address(name[4:8] if family == socket.AF_INET else name[8:24]), port


def _build(address: Address, port: int) -> bytes:
    family = struct.pack("=H", socket.AF_INET if address.version == 4 else socket.AF_INET6)
    numbers = struct.pack(">H", port)
    return (
        family + numbers + (address.packed + bytes(8) if address.version == 4 else bytes(4) + address.packed + bytes(4))
    )


def _is_loopback(address: Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _narrow(address: Address, fd: int) -> Address:
    """The loopback, where all addresses are meant; for a socket of both kinds that of the older one."""
    if address == _ANY6:
        with _borrow(fd) as sock:
            only = sock.family == socket.AF_INET6 and sock.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
        return _LOOPBACK6 if only else _MAPPED
    return _MEANT.get(address, address)


def _check_path(name: bytes, pid: int | None = None) -> bytes:
    """The path in the name of a unix socket, as the process `pid` means it; OSError if it has none."""
    path = name[2:].split(b"\0")[0]
    if not path:
        raise _error(errno.EPERM)
    return path if pid is None or path.startswith(b"/") else f"/proc/{pid}/cwd/".encode() + path


def _umask(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return next((int(line.split()[1], 8) for line in file if line.startswith("Umask:")), 0o077)


def _first_free_port() -> int:
    try:
        with open(_FIRST_FREE_PORT, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 1024
