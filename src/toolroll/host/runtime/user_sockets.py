"""Unix sockets of the user, in a private folder, and the check of who connects to one.

Imports only the standard library, for the fast client of the command line.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from toolroll.host.runtime.user_folders import state_dir

_LOCK = ".lock"
_BACKLOG = 1024  # connections that wait; a full queue would refuse a client that does not block
_MAX_PATH_BYTES = 100  # of a socket's address; the kernel has room for 107 and a NUL
_LOOK_TIMEOUT_S = 5.0
_SO_PEERPIDFD = 77
_NAMESPACES = ("user", "mnt", "pid")
_NO_LISTENER = (ConnectionRefusedError, FileNotFoundError)


class SocketInUseError(OSError):
    """Another process listens on the socket."""


class SocketPeer(NamedTuple):
    """The process at the other end of a connection."""

    pid: int
    uid: int


def run_folder() -> str:
    """The folder of the user's sockets, created if missing; PermissionError unless it is private."""
    path = os.path.join(state_dir(), "run")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(path, mode=0o700)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"The folder {path!r} must be yours alone (mode 0700). Remove it, or chmod 700 it.")
    return path


def listen(name: str) -> socket.socket:
    """A listening socket of this name, for this user alone; SocketInUseError if another process listens on it."""
    folder = run_folder()
    path = os.path.join(folder, name)
    with _lock(folder):
        try:
            _open(path, _LOOK_TIMEOUT_S).close()
        except _NO_LISTENER:
            with suppress(FileNotFoundError):
                os.unlink(path)
        else:
            raise SocketInUseError(f"Another process listens on {path!r}.")
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _address(path) as address:
                made.bind(address)
            os.chmod(path, 0o600)
            made.listen(_BACKLOG)
        except BaseException:
            made.close()
            raise
    return made


def connect(name: str, timeout: float) -> socket.socket:
    """A connection to the socket of this name, or of this path; its file is removed if no process listens."""
    folder = run_folder()
    path = os.path.join(folder, name)
    try:
        return _open(path, timeout)
    except ConnectionRefusedError:
        if os.path.dirname(path) != folder:
            raise
    with _lock(folder):  # it may have been bound just now, and listens when the lock is free
        try:
            return _open(path, timeout)
        except ConnectionRefusedError:
            os.unlink(path)
            raise


def remove(name: str) -> None:
    """Remove the file of a socket that this process has closed."""
    with suppress(OSError):
        os.unlink(os.path.join(run_folder(), name))


def sockets() -> list[str]:
    """The names of the sockets, sorted; a process that was killed may have left one."""
    with os.scandir(run_folder()) as entries:
        return sorted(one.name for one in entries if stat.S_ISSOCK(one.stat(follow_symlinks=False).st_mode))


def check_peer(connection: socket.socket) -> SocketPeer:
    """Who connected; PermissionError for another user, for a confined process, and for one that has ended."""
    if sys.platform != "linux":
        raise PermissionError("Only Linux says which process has connected.")
    given = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    peer = SocketPeer(*struct.unpack("iII", given)[:2])
    if peer.uid != os.geteuid():
        raise PermissionError(f"Process {peer.pid} is of user {peer.uid}; this socket is of user {os.geteuid()}.")
    if peer.pid == os.getpid():
        return peer
    process = _open_peer(connection, peer.pid)
    try:
        why = why_confined(peer.pid)
        if select.select([process], [], [], 0)[0]:  # ended: its number may be another's
            why = "has ended"
    finally:
        os.close(process)
    if why:
        raise PermissionError(f"Process {peer.pid} may not use this socket: it {why}.")
    return peer


def why_confined(pid: int) -> str:
    """What shows that a process belongs to a command of a tool, or runs in another sandbox; empty if nothing does."""
    try:
        for name in _NAMESPACES:
            if os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"):
                return f"runs in another {name} namespace"
    except OSError as error:
        return f"cannot be examined ({error.strerror})"
    return next(filter(None, map(_why_limited, _with_ancestors(pid))), "")


def belongs_to_command(pid: int) -> bool:
    """Whether a process, or one of its ancestors, has a mark of a command of a tool."""
    return any(map(_is_marked, _with_ancestors(pid)))


def _with_ancestors(pid: int) -> Iterator[int]:
    seen = {os.getpid()}
    while pid not in (0, *seen):
        yield pid
        seen.add(pid)
        pid = _parent(pid)


def _is_marked(pid: int) -> bool:
    """Whether a process has a mark of a command that we do not have."""
    from toolroll.host.runtime import process_marks

    found, own = process_marks.look(pid), process_marks.look(os.getpid())
    if set(found.tags) - set(own.tags) or process_marks.limit_of(pid) is not None:
        return True
    return found.signals not in (0, process_marks.ALL_SIGNALS, own.signals)


def _why_limited(pid: int) -> str:
    """The first mark of a command, or limit of a sandbox, that a process has and we do not."""
    from toolroll.host.runtime import process_marks

    if _is_marked(pid):
        return "belongs to a command of a tool"
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
            return os.pidfd_open(pid)  # Linux before 6.5
    except OSError:
        raise PermissionError(f"Process {pid} may not use this socket: it has ended.") from None


@contextmanager
def _lock(folder: str) -> Iterator[None]:
    """Hold the lock of the folder: who removes or binds a socket does that alone."""
    import fcntl

    fd = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _open(path: str, timeout: float) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout)
        with _address(path) as address:
            made.connect(address)
    except BaseException:
        made.close()
        raise
    return made


@contextmanager
def _address(path: str) -> Iterator[str]:
    """The path as a socket's address; a long one goes through a descriptor of its folder."""
    if len(os.fsencode(path)) <= _MAX_PATH_BYTES:
        yield path
        return
    folder, name = os.path.split(path)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{name}"
    finally:
        os.close(fd)
