"""Find the process at the other end of a TCP connection on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from toolroll.host.runtime import user_sockets

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9  # columns
_MAX_REMEMBERED = 16


class TcpClients:
    """Tells which clients of a server on the loopback are processes of this user, and no commands of a tool."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._recent: list[int] = []  # pids that were clients: a browser connects many times

    def may_use(self, client_port: int) -> bool:
        """Whether the client that connects from this port may use the server.

        A browser may run in a sandbox of its own, so only the marks of commands count. True on systems without /proc.
        """
        if sys.platform != "linux":
            return True
        uid, inode = self._find_socket(client_port)
        if not inode:
            return False  # the kernel gives root as the user of a socket that no process has open any more
        if uid == 0 != os.geteuid():
            return True  # such as a service that forwards ports: root can read the token, and use it as anybody
        holders = self._find_holders(f"socket:[{inode}]") if uid == os.geteuid() else []
        return bool(holders) and not any(map(user_sockets.belongs_to_command, holders))

    def _find_socket(self, client_port: int) -> tuple[int, int]:
        """The user and the inode of the client's socket; inode 0 if no process has it open."""
        ends = (f":{client_port:04X}", f":{self._port:04X}")
        for table in _TABLES:
            for row in _rows(table):
                if (row[_LOCAL][-5:], row[_REMOTE][-5:]) == ends:
                    return int(row[_UID]), int(row[_INODE])
        return -1, 0

    def _find_holders(self, link: str) -> list[int]:
        """The processes that have the socket open; if none shows it, all of this user that hide their files."""
        for pid in self._recent:
            if _holds(pid, link):
                return [pid]
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        held = {pid: _holds(pid, link) for pid in pids}
        found = [pid for pid, holds in held.items() if holds]
        self._recent = [*found, *self._recent][:_MAX_REMEMBERED]
        return found or [pid for pid, holds in held.items() if holds is None]


def _rows(table: str) -> Iterator[list[str]]:
    try:
        with open(table, encoding="ascii") as file:
            next(file)
            yield from map(str.split, file)
    except OSError:
        return  # a kernel without IPv6


def _holds(pid: int, link: str) -> bool | None:
    """Whether a process has this file open; None if it is of this user and hides that."""
    folder = f"/proc/{pid}/fd"
    try:
        for name in os.listdir(folder):
            try:
                if os.readlink(f"{folder}/{name}") == link:
                    return True
            except FileNotFoundError:
                continue
    except PermissionError:
        return None if _uid_of(pid) == os.geteuid() else False
    except OSError:
        pass  # it has ended
    return False


def _uid_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next((int(line.split()[2]) for line in file if line.startswith("Uid:")), -1)
    except OSError:
        return -1
