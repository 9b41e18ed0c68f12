"""Tell a folder from a later one at the same path; device and inode may be the same for both."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from contextlib import suppress
from typing import NamedTuple

from toolroll.host.linux import getxattr, setxattr

_NAME = "user.toolroll.id"
_GET_GENERATION = 0x80087601  # an ioctl
_BIRTH, _EMPTY_PATH = 0x800, 0x1000  # of statx: the time of birth, and that of a descriptor itself
_BUFFER_BYTES, _MASK_AT, _BIRTH_AT = 256, 0, 80
_NONE = {errno.ENODATA, getattr(errno, "ENOATTR", errno.ENODATA)}


class FolderIdentity(NamedTuple):
    """What a folder is known by; each is empty where the system has no such thing."""

    id: str
    """An extended attribute of ours, which a rename keeps and a clone does not have."""
    birth: str
    """When it was made, with inode and generation where those are lasting."""

    def fits(self, path: str) -> bool:
        """Whether the folder at a path is this one, as far as that can be known."""
        id = _read_id(path)
        if id and id == self.id:
            return True
        birth = _read_birth(path) if self.birth else ""
        if birth:
            return birth == self.birth
        return id is None or not self.id


def identify(path: str) -> FolderIdentity:
    """What the folder at a path is known by from now on."""
    if _read_id(path) == "":
        with suppress(OSError):  # another user's, or on a disk that is read only
            setxattr(path, _NAME, os.urandom(16).hex().encode())
    return FolderIdentity(_read_id(path) or "", _read_birth(path))


def _read_id(path: str) -> str | None:
    """The attribute, empty if there is none; None where folders have no attributes."""
    try:
        return getxattr(path, _NAME).decode("ascii", "replace")
    except OSError as error:
        return "" if error.errno in _NONE else None


def _read_birth(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        status = os.fstat(fd)
        born = getattr(status, "st_birthtime", None) or _birth_time(fd)
        if not born:
            return ""
        with suppress(OSError):  # where there is none, inodes may be other ones after the next mount
            generation = fcntl.ioctl(fd, _GET_GENERATION, bytes(8)).hex()
            return f"{born} {status.st_ino} {generation}"
        return str(born)
    finally:
        os.close(fd)


def _birth_time(fd: int) -> int:
    """The time of birth in ns; 0 if it is not known."""
    import ctypes

    buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
    try:
        failed = ctypes.CDLL(None).statx(fd, b"", _EMPTY_PATH, _BIRTH, buffer)
    except AttributeError:  # another system, or an old library
        return 0
    if failed or not int.from_bytes(buffer.raw[_MASK_AT : _MASK_AT + 4], sys.byteorder) & _BIRTH:
        return 0
    seconds = int.from_bytes(buffer.raw[_BIRTH_AT : _BIRTH_AT + 8], sys.byteorder, signed=True)
    return seconds * 1_000_000_000 + int.from_bytes(buffer.raw[_BIRTH_AT + 8 : _BIRTH_AT + 12], sys.byteorder)
