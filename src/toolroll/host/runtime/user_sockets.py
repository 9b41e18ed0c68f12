"""Unix sockets of the user, in a private folder.

Imports only the standard library, for the fast client of the command line.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from toolroll.host.runtime.user_folders import state_dir

_LOCK = ".lock"
_BACKLOG = 1024  # connections that wait; a full queue would refuse a client that does not block
_MAX_PATH_BYTES = 100  # of a socket's address; the kernel has room for 107 and a NUL
_LOOK_TIMEOUT_S = 5.0
_NO_LISTENER = (ConnectionRefusedError, FileNotFoundError)


class SocketInUseError(OSError):
    """Another process listens on the socket."""


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


def rename(name: str, new: str) -> None:
    """Give a socket, or a file beside one, another name; its connections go on."""
    folder = run_folder()
    with suppress(OSError):
        os.rename(os.path.join(folder, name), os.path.join(folder, new))


def identify(name: str) -> int | None:
    """The inode of the socket of this name; None if there is none."""
    try:
        return os.stat(os.path.join(run_folder(), name)).st_ino
    except OSError:
        return None


def write_note(name: str, text: str) -> None:
    """Keep a text in a file beside the sockets; no text removes it. Where that fails, there is none."""
    path = os.path.join(run_folder(), name)
    with suppress(OSError):
        if not text:
            os.unlink(path)
            return
        with open(f"{path}.new", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.rename(f"{path}.new", path)


def sockets() -> list[str]:
    """The names of the sockets, sorted; a process that was killed may have left one."""
    with os.scandir(run_folder()) as entries:
        return sorted(one.name for one in entries if stat.S_ISSOCK(one.stat(follow_symlinks=False).st_mode))


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
