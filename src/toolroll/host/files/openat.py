"""Two ways to open a path that stays beneath a folder: the kernel's openat2, and the same by hand."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from typing import Any

from toolroll.policy import paths
from toolroll.result import ErrorCode, ToolError

Opener = Callable[[int, str, int], int]
"""From an open folder, a relative path and flags to a descriptor; EXDEV for what leaves the folder."""

PATH: int = getattr(os, "O_PATH", 0)  # where there is none, a folder must be readable to be passed through
STEP = PATH | os.O_DIRECTORY | os.O_CLOEXEC
STRAIGHT = 1 << 40  # a flag for openat2 alone: ELOOP for any link on the way
LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
MAX_LINKS = 40  # the kernel's own limit, so that both ways of opening agree
_MAX_BYTES = 4096
_OPENAT2 = 437
_BENEATH_NO_MAGICLINKS = 0x08 | 0x02
_NO_SYMLINKS = 0x04
_TRIES = 32
_SWAPS = 4  # how often a name may turn from link to folder between two looks at it
_KINDS = {stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


def openat2(root: int) -> Opener | None:
    """The kernel's own confined open, or None where it is missing or forbidden."""
    if sys.platform != "linux":
        return None
    import ctypes  # here because it takes milliseconds, and is not wanted by all who import this module

    class How(ctypes.Structure):
        _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long  # no argtypes: they cost a third of the call, and these are all of the right width
    number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(ctypes.sizeof(How))
    hows: dict[int, Any] = {}  # by flags; never changed once made, so that threads can share them
    names = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()  # as os.fsencode writes them

    def opener(folder: int, path: str, flags: int) -> int:
        how = hows.get(flags) or hows.setdefault(flags, ctypes.byref(How(*_how(flags))))
        name = path.encode(*names)
        for _ in range(_TRIES):
            fd: int = call(number, folder, name, how, size)
            if fd >= 0:
                return fd
            error = ctypes.get_errno()
            if error not in (errno.EAGAIN, errno.EINTR):
                raise OSError(error, os.strerror(error))
        if flags & STRAIGHT:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return walk(folder, path, flags)  # renames all over the system can keep ".." from ever being settled

    try:
        os.close(opener(root, ".", STEP))
    except OSError:
        return None
    return opener


def _how(flags: int) -> tuple[int, int, int]:
    straight = _NO_SYMLINKS if flags & STRAIGHT else 0
    return flags & ~STRAIGHT, 0, _BENEATH_NO_MAGICLINKS | straight


def walk(root: int, path: str, flags: int) -> int:
    """openat2 by hand: one component at a time, links followed here, EXDEV for what leaves `root`."""
    if len(os.fsencode(path)) >= _MAX_BYTES:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    folders, links, todo = [root], 0, _steps(path)
    try:
        while True:
            name, here = todo.pop(), folders[-1]
            if name == "..":
                os.stat(".", dir_fd=here)  # the kernel wants the right to search a folder even to leave it
                if len(folders) == 1:
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
                os.close(folders.pop())
            elif name == "." and todo:
                continue
            elif isinstance(found := _step(here, name, _wanted(flags, todo)), str):
                links += 1
                todo += _followed(found, links)
            elif todo in ([], ["."]):
                return found
            else:
                folders.append(found)
    finally:
        for fd in folders[1:]:
            os.close(fd)


def _steps(path: str) -> list[str]:
    """The components, last one first. A "." as the last of all says that only a folder will do."""
    return [*(["."] if paths.ends_in_folder(path) else []), *reversed(paths.components(path))]


def _wanted(flags: int, todo: list[str]) -> int:
    """The flags for a component when `todo` is still to come."""
    if todo == ["."]:  # a slash at the end: only a folder will do, and a link to one is followed
        return (flags | os.O_DIRECTORY) & ~os.O_NOFOLLOW
    return STEP if todo else flags


def _followed(target: str, links: int) -> list[str]:
    if links > MAX_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return _steps(target)


def _step(folder: int, name: str, flags: int) -> int | str:
    """A descriptor of `name`, or where it links to if it is a link that the flags want followed."""
    follow, failure = not flags & os.O_NOFOLLOW, errno.ELOOP
    for _ in range(_SWAPS):
        if follow and (target := link_target(folder, name)) is not None:
            return target
        try:
            fd = os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
        except OSError as error:
            if not follow or error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            failure = error.errno
            continue
        if not (follow and stat.S_ISLNK(os.fstat(fd).st_mode)):  # with O_PATH a link is opened, not refused
            return fd
        os.close(fd)
    raise OSError(failure, os.strerror(failure))


def link_target(folder: int, name: str) -> str | None:
    """What `name` links to, or None if it is not a link."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def not_a_file(path: str, mode: int) -> Exception:
    """The error for a thing at `path`, with this st_mode, that is not a regular file."""
    if stat.S_ISDIR(mode):
        return os_error(errno.EISDIR, path)
    kind = _KINDS.get(stat.S_IFMT(mode), "special file")
    return ToolError(ErrorCode.UNSUPPORTED, f"{path!r} is a {kind}, not a file. Name a regular file.")


def os_error(number: int | None, path: str) -> OSError:
    """The OSError of the right class, with the path as the caller knows it."""
    return OSError(number, os.strerror(number or 0), path)
