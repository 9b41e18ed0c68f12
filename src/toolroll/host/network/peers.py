"""Who is at the other end of a connection: one check for the console, MCP over HTTP, the daemon and the control socket.

A peer is known by what it cannot choose: on TCP by both ends of the connection, and the owner and the inode of its
socket; on a unix socket by what the kernel noted when it connected.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import select
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from toolroll.host.linux import IS_LINUX, SO_PEERCRED, pidfd_open
from toolroll.host.runtime import process_marks
from toolroll.host.runtime.socket_table import FoundSocket, holds_socket, socket_at

_SO_PEERPIDFD = 77
_NAMESPACES = ("user", "mnt", "pid")
_MAX_ALLOWED = 256
_COMMAND = "belongs to a command of a tool"


class SocketPeer(NamedTuple):
    """The process at the other end of a connection."""

    pid: int
    uid: int


class TcpPeers:
    """Checks the clients of one server of TCP."""

    def __init__(self, *, others: bool = False) -> None:
        """`others`: programs of other users, and other machines, may use the server if they have its token."""
        self._others = others
        self._allowed: dict[int, None] = {}  # inodes of sockets: a client uses one connection many times

    def refusal(self, client: Sequence[Any] | None, server: Sequence[Any] | None) -> str:
        """Why the client may not use the server, given both ends of the connection; empty if it may.

        A browser may run in a sandbox of its own, so only the marks of commands count. Empty on systems without /proc.
        """
        if not IS_LINUX:
            return ""
        try:
            found = socket_at(client, server) if client and server else None
        except OSError as error:
            return f"The kernel does not say which process connects (sock_diag: {error.strerror})."
        if found is None:
            elsewhere = self._others and client and not ipaddress.ip_address(client[0]).is_loopback
            return "" if elsewhere else "The process that connects cannot be found."
        if found.inode in self._allowed:
            return ""
        # Root forwards ports on some systems; it can read the token, and use it as anybody.
        checked = found.uid != 0 or os.geteuid() == 0
        holders = _find_holders(found, lambda: bool(client and server and socket_at(client, server) == found))
        if checked and (why := _why_not(found.uid, holders, _why_command, others=self._others)):
            return why
        self._allowed[found.inode] = None
        if len(self._allowed) > _MAX_ALLOWED:
            del self._allowed[next(iter(self._allowed))]
        return ""


def check_peer(connection: socket.socket) -> SocketPeer:
    """Who connected to a unix socket; PermissionError for another user, a confined process, and one that has ended."""
    if not IS_LINUX:
        raise PermissionError("Only Linux says which process has connected.")
    given = connection.getsockopt(socket.SOL_SOCKET, SO_PEERCRED, 12)
    peer = SocketPeer(*struct.unpack("iII", given)[:2])
    if peer.pid != os.getpid() or peer.uid != os.geteuid():
        process = _open_peer(connection, peer.pid)
        try:
            why = _why_not(peer.uid, [peer.pid], why_confined)
            if select.select([process], [], [], 0)[0]:  # its number may be another's
                why = f"Process {peer.pid} may not use this socket: it has ended."
        finally:
            os.close(process)
        if why:
            raise PermissionError(why)
    return peer


def _why_not(uid: int, pids: Sequence[int], why: Callable[[int], str], *, others: bool = False) -> str:
    """Why a socket of this user, which these processes have open, may be no client of ours; empty if it may."""
    if uid != os.geteuid() and not others:
        return f"The process that connects is of user {uid}; this socket is of user {os.geteuid()}."
    if not pids and not others:
        return "The process that connects cannot be seen: it has ended, or runs in another container."
    reasons = ((pid, why(pid)) for pid in pids)
    return next((f"Process {pid} may not use this socket: it {reason}." for pid, reason in reasons if reason), "")


def _find_holders(found: FoundSocket, is_there: Callable[[], bool]) -> list[int]:
    """The processes that have a socket open; if none shows it, all of its user, if that is ours, that hide theirs.

    One that was closed meanwhile is of none of those, and one that was handed on meanwhile is looked for again.
    """
    hidden: list[int] = []
    for _ in range(2):
        holders, hidden = _look_for_holders(found)
        if holders or not hidden:
            return holders
    return hidden if is_there() else []


def _look_for_holders(found: FoundSocket) -> tuple[list[int], list[int]]:
    """The processes that have a socket open, and those of its user that hide what they have open."""
    holders, hidden = [], []
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        try:
            if holds_socket(pid, found.inode):
                holders.append(pid)
        except PermissionError:
            hidden.append(pid)
    return holders, [pid for pid in hidden if _uid_of(pid) == found.uid == os.geteuid()]


def _uid_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next((int(line.split()[2]) for line in file if line.startswith("Uid:")), -1)
    except OSError:
        return -1


def why_confined(pid: int) -> str:
    """What shows that a process belongs to a command of a tool, or runs in another sandbox; empty if nothing does."""
    try:
        for name in _NAMESPACES:
            if os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"):
                return f"runs in another {name} namespace"
    except OSError as error:
        return f"cannot be examined ({error.strerror})"
    return next(filter(None, map(_why_limited, _with_ancestors(pid))), "")


def _why_command(pid: int) -> str:
    """The same for the marks of commands alone."""
    return _COMMAND if any(map(_is_marked, _with_ancestors(pid))) else ""


def _with_ancestors(pid: int) -> Iterator[int]:
    seen = {os.getpid()}
    while pid not in (0, *seen):
        yield pid
        seen.add(pid)
        pid = _parent(pid)


def _is_marked(pid: int) -> bool:
    """Whether a process has a mark of a command that we do not have."""
    found, own = process_marks.look(pid), process_marks.look(os.getpid())
    if set(found.tags) - set(own.tags) or process_marks.limit_of(pid) is not None:
        return True
    return found.signals not in (0, process_marks.ALL_SIGNALS, own.signals)


def _why_limited(pid: int) -> str:
    """The first mark of a command, or limit of a sandbox, that a process has and we do not."""
    if _is_marked(pid):
        return _COMMAND
    found, own = process_marks.look(pid), process_marks.look(os.getpid())
    if found.filters > own.filters or (own.privileged and not found.privileged):
        return "is confined"
    return ""


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _open_peer(connection: socket.socket, pid: int) -> int:
    """A descriptor of the process that connected, readable when it has ended; PermissionError if it is gone."""
    try:
        try:
            return connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
        except OSError as error:
            if error.errno != errno.ENOPROTOOPT:
                raise
            return pidfd_open(pid)  # Linux before 6.5
    except OSError:
        raise PermissionError(f"Process {pid} may not use this socket: it has ended.") from None
