"""Look up sockets in the kernel's tables: by address, by both ends of a connection, or by file (sock_diag)."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from toolroll.host.linux import AF_NETLINK

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
File = tuple[int, int]  # the kernel's own numbers of a file: its device and its inode

SOCK_DIAG = 4
"""The protocol of netlink that these questions are asked by."""
_BY_FAMILY, _ERROR = 20, 2
_REQUEST, _DUMP = 1, 0x300
_HEADER, _BUFFER = 16, 1 << 16
_SECONDS = 5.0  # the kernel answers at once
_LISTENS = 10  # a state of TCP
_SHOW_FILE, _FILE = 2, 1
_ANY = 0xFFFFFFFF
_SO_COOKIE = 57
_IPV4_BYTES = 4
_MAPPED = bytes(10) + b"\xff\xff"  # before an address of four bytes in one of sixteen


class FoundSocket(NamedTuple):
    """A socket of TCP: its owner, and the number of its file, as `/proc/PID/fd` shows it."""

    uid: int
    inode: int


def socket_at(own: Sequence[Any], other: Sequence[Any], kernel: socket.socket | None = None) -> FoundSocket | None:
    """The socket with the first of these two ends, connected to the second; None if no process has one open.

    Each end is an address and a port. `kernel` is a netlink socket in another network than ours.
    """
    ends = [_plain(ipaddress.ip_address(str(end[0]).partition("%")[0])) for end in (own, other)]
    family = socket.AF_INET if len(ends[0]) == _IPV4_BYTES else socket.AF_INET6
    ports = struct.pack(">2H", own[1], other[1])
    asked = struct.pack("=BBHI", family, socket.IPPROTO_TCP, 0, _ANY) + ports
    asked += b"".join(end.ljust(16, b"\0") for end in ends) + struct.pack("=3I", 0, _ANY, _ANY)
    for found in _ask(asked, _REQUEST, kernel):
        uid, inode = struct.unpack_from("=2I", found, 64)
        if inode and found[1] != _LISTENS and found[4:8] == ports:  # else a server at that port, or one that is closed
            return FoundSocket(uid, inode)
    return None


def holds_socket(pid: int, inode: int) -> bool:
    """Whether a process has this socket open; PermissionError if it hides that."""
    folder, link = f"/proc/{pid}/fd", f"socket:[{inode}]"
    try:
        for name in os.listdir(folder):
            with suppress(FileNotFoundError):
                if os.readlink(f"{folder}/{name}") == link:
                    return True
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has ended
    return False


def listening_at(address: Address, port: int) -> set[int]:
    """The numbers of the sockets that may take a connection to this address: there, or at all addresses."""
    packed = _plain(address)
    wanted = {packed, bytes(16)} if len(packed) == 16 else {packed, bytes(4), bytes(16), _MAPPED + packed}
    return {number for where, number in _listening(port) if where in wanted} if port else set()


def all_listening() -> set[int]:
    """The numbers of all sockets of TCP that listen."""
    return {number for _, number in _listening(0)}


def _listening(port: int) -> Iterator[tuple[bytes, int]]:
    """The addresses of the sockets that listen at a port, and their numbers; of all sockets that listen for port 0."""
    for family, size in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
        asked = struct.pack("=BBHI", family, socket.IPPROTO_TCP, 0, 1 << _LISTENS) + struct.pack(">H46x", port)
        for found in _ask(asked, _REQUEST | _DUMP):
            (number,) = struct.unpack_from("=I", found, 68)
            yield found[8 : 8 + size], number


def _plain(address: Address) -> bytes:
    return address.packed.removeprefix(_MAPPED)


def _ask(asked: bytes, flags: int, other: socket.socket | None = None) -> Iterator[bytes]:
    """What the kernel answers to a question about sockets; nothing if there is no such socket."""
    with ExitStack() as stack:
        kernel = other or stack.enter_context(socket.socket(AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG))
        kernel.settimeout(_SECONDS)
        kernel.send(struct.pack("=IHHII", _HEADER + len(asked), _BY_FAMILY, flags, 1, 0) + asked)
        while True:
            answer = kernel.recv(_BUFFER)
            while answer:
                length, kind = struct.unpack_from("=IH", answer)
                if kind == _ERROR:
                    number = -struct.unpack_from("=i", answer, _HEADER)[0]
                    if number != errno.ENOENT or flags & _DUMP:
                        raise OSError(number, os.strerror(number), "sock_diag")
                if kind != _BY_FAMILY:
                    return
                yield answer[_HEADER:length]
                answer = answer[(length + 3) & ~3 :]
            if not flags & _DUMP:
                return


def cookie_of(sock: socket.socket) -> int:
    """The mark of a socket that no other one will ever have."""
    return int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8), "little")


def file_of_socket(number: int, mark: int) -> File | None:
    """The file that a unix socket is bound to, by the socket's number and cookie; None if there is no such socket."""
    asked = struct.pack("=BBHIII2I", socket.AF_UNIX, 0, 0, _ANY, number, _SHOW_FILE, mark & _ANY, mark >> 32)
    for found in _ask(asked, _REQUEST):
        at = 16
        while at + 4 <= len(found):
            size, what = struct.unpack_from("=HH", found, at)
            if what == _FILE:
                inode, device = struct.unpack_from("=II", found, at + 4)
                return device, inode
            at += max(4, (size + 3) & ~3)
    return None


def file_of_descriptor(fd: int) -> File:
    """The same numbers of the file that is open; `stat` has others on file systems that stand upon others."""
    with open(f"/proc/thread-self/fdinfo/{fd}", encoding="ascii") as file:
        facts = dict(line.split(":", 1) for line in file)
    mount = facts["mnt_id"].strip()
    with open("/proc/thread-self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        device = next((words[2] for words in map(str.split, file) if words[0] == mount), None)
    if device is None:
        raise FileNotFoundError(f"no mount {mount}")
    major, minor = map(int, device.split(":"))
    return major << 20 | minor, int(facts["ino"]) & _ANY
