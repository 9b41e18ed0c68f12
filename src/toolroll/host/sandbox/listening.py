"""Which sockets listen where, as the kernel tells it: those of TCP by their address, those of unix by their file."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
from collections.abc import Iterator

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
File = tuple[int, int]  # the kernel's own numbers of a file: its device and its inode

_NETLINK_SOCK_DIAG, _BY_FAMILY, _ERROR = 4, 20, 2
_REQUEST, _DUMP = 1, 0x300
_HEADER, _BUFFER = 16, 1 << 16
_SECONDS = 5.0  # the kernel answers at once
_LISTEN = 1 << 10  # a state of TCP
_SHOW_FILE, _FILE = 2, 1
_ANY = 0xFFFFFFFF
_SO_COOKIE = 57
_MAPPED = bytes(10) + b"\xff\xff"  # before an address of four bytes in one of sixteen


def listening_at(address: Address, port: int) -> set[int]:
    """The numbers of the sockets that may take a connection to this address: there, or at all addresses."""
    packed = address.packed.removeprefix(_MAPPED)
    wanted = {packed, bytes(16)} if len(packed) == 16 else {packed, bytes(4), bytes(16), _MAPPED + packed}
    return {number for where, number in _listening(port) if where in wanted} if port else set()


def all_listening() -> set[int]:
    """The numbers of all sockets of TCP that listen."""
    return {number for _, number in _listening(0)}


def _listening(port: int) -> Iterator[tuple[bytes, int]]:
    """The addresses of the sockets that listen at a port, and their numbers; of all sockets that listen for port 0."""
    for family, size in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
        asked = struct.pack("=BBHI", family, socket.IPPROTO_TCP, 0, _LISTEN) + struct.pack(">H46x", port)
        for found in _ask(asked, _REQUEST | _DUMP):
            (number,) = struct.unpack_from("=I", found, 68)
            yield found[8 : 8 + size], number


def _ask(asked: bytes, flags: int) -> Iterator[bytes]:
    """What the kernel answers to a question about sockets; nothing if there is no such socket."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as kernel:
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
