"""Watch folders by Linux inotify. No thread: events wait in the kernel until they are taken."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable
from contextlib import suppress

from toolroll.host.linux import IS_LINUX

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_DIR = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_DIR = 0x01000000
# No events for reading: a search must not cause events itself.
_MASK = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_NAMES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_ITSELF = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED
_HEAD = struct.Struct("iIII")
_ROOM = 1 << 18

# Local file systems, which report every change. Network file systems do not.
_LOCAL = frozenset(
    {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x794C7630, 0x2FC12FC1, 0xCA451A4E, 0x858458F6}
)


class EventsLostError(Exception):
    """The kernel dropped events: read everything again."""


class FolderWatch:
    """An inotify instance. Not thread-safe."""

    def __init__(self) -> None:
        """OSError on other systems, or if the limit of instances is reached."""
        if not IS_LINUX:
            raise OSError(errno.ENOSYS, "folders cannot be watched here")
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        self._error: Callable[[], int] = ctypes.get_errno
        self._add = library.inotify_add_watch
        self._add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._remove = library.inotify_rm_watch
        self._statfs = library.fstatfs
        self._about = ctypes.create_string_buffer(256)
        self._kinds: dict[int, bool] = {}
        self.fd: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise self._failed()

    def add(self, folder: int, device: int) -> int:
        """Watch an open folder on `device`; the number of its events."""
        if device not in self._kinds:
            self._kinds[device] = self._is_local(folder)
        if not self._kinds[device]:
            raise OSError(errno.EOPNOTSUPP, "changes in this file system may come from other machines")
        number: int = self._add(self.fd, b"/proc/self/fd/%d" % folder, _MASK | _ONLY_DIR)
        if number < 0:
            raise self._failed()
        return number

    def remove(self, number: int) -> None:
        """Stop watching a folder, which may be gone already."""
        self._remove(self.fd, number)

    def take(self) -> dict[int, dict[bytes, bool]]:
        """What has changed since the last look: by folder the names, and whether more than the content may have.

        The empty name stands for the folder itself. EventsLostError if there was too much to keep.
        """
        found: dict[int, dict[bytes, bool]] = {}
        while data := self._read():
            at = 0
            while at < len(data):
                number, mask, _, size = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = data[at : at + size].rstrip(b"\0")
                at += size
                if mask & _OVERFLOW:
                    raise EventsLostError
                names = found.setdefault(number, {})
                names[name] = names.get(name, False) or bool(mask & (_NAMES | _ITSELF))
        return found

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def _read(self) -> bytes:
        with suppress(BlockingIOError):
            return os.read(self.fd, _ROOM)
        return b""

    def _is_local(self, folder: int) -> bool:
        if self._statfs(folder, self._about) != 0:
            return False
        kind: int = struct.unpack_from("l", self._about)[0] & 0xFFFFFFFF
        return kind in _LOCAL

    def _failed(self) -> OSError:
        number = self._error()
        return OSError(number, os.strerror(number))
