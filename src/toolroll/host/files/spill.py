"""Keep outputs too long to show in the state folder for some days; `read` and `grep` take their handles."""

from __future__ import annotations

import contextlib
import os
import threading
import time

from toolroll.host.files.root import Root
from toolroll.host.runtime.dir_entries import closing_fd, reopen
from toolroll.host.runtime.state import State

PREFIX = "spill:"
_FOLDER = "spill"
_DAYS = 7 * 24 * 3600
_MOST_BYTES = 500_000_000
_SELDOM = 60.0  # seconds between two looks at all that is kept, unless there may be no room
_MOST_KNOWN = 4_000_000  # characters of a text that is known again


class Spill:
    """Keeps texts under handles such as `spill:3f2a91c07d5e`. Old ones go when new ones come."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._root: Root | None = None
        self._next = 0.0
        self._room = 0
        self._last = ("", "")

    def keep(self, text: str) -> str:
        """Keep a text and return the handle that `read` and `grep` take. The same text again has the same one."""
        with self._lock:
            folder = self._state.folder(_FOLDER)
            last, name = self._last
            if text != last or not _renewed(folder, name):
                data = text.encode("utf-8", "backslashreplace")
                self._make_room(folder, len(data))
                name = os.urandom(6).hex()
                fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                self._last = (text, name) if len(text) <= _MOST_KNOWN else ("", "")
        return PREFIX + name

    def writer(self, most: int) -> SpillWriter:
        """A new kept file to be written bit by bit, never more than `most` bytes; OSError if none can be made."""
        with self._lock:
            folder = self._state.folder(_FOLDER)
            self._make_room(folder, min(most, _MOST_BYTES))
            return SpillWriter(folder, os.urandom(6).hex(), most)

    def root(self) -> Root:
        """The folder of the kept texts, to read beneath."""
        with self._lock:
            if self._root is None:
                self._state.folder(_FOLDER)
                self._root = Root(os.path.join(self._state.path, _FOLDER))
            return self._root

    def close(self) -> None:
        with self._lock:
            if self._root is not None:
                self._root.close()
                self._root = None

    def _make_room(self, folder: int, size: int) -> None:
        """Have room for some bytes. What others have kept since the last look counts from the next one on."""
        if size > self._room or time.monotonic() >= self._next:
            self._next = time.monotonic() + _SELDOM
            self._room = _MOST_BYTES - sweep(folder, room=_MOST_BYTES - size)
        self._room -= size


class SpillWriter:
    """One kept file while it grows. Not for several threads at once."""

    def __init__(self, folder: int, name: str, most: int) -> None:
        self.handle = PREFIX + name
        self._folder = folder
        self._name = name
        self._room = most
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd: int | None = os.open(name, flags, 0o600, dir_fd=folder)

    def write(self, data: bytes | bytearray) -> int:
        """Add bytes at the end, as many as there is room for; how many that were. OSError as of a full disk."""
        assert self._fd is not None
        rest = memoryview(data)[: self._room]
        taken = len(rest)
        while rest:
            done = os.write(self._fd, rest)
            self._room -= done
            rest = rest[done:]
        return taken

    def read(self, offset: int, most: int) -> bytes:
        """Bytes of the file, also after `close`; OSError when it was removed since."""
        if self._fd is not None:
            return os.pread(self._fd, most, offset)
        with closing_fd(os.open(self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)) as fd:
            return os.pread(fd, most, offset)

    def close(self) -> None:
        """Write no more. The file stays."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _renewed(folder: int, name: str) -> bool:
    """Whether a kept text is still there; it is as new as if it were kept now."""
    try:
        os.utime(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def sweep(folder: int, room: int) -> int:
    """Remove what is older than some days, and the oldest of the rest until it fits the room; what is left then."""
    kept: list[tuple[float, int, str]] = []
    with reopen(folder) as listed, os.scandir(listed) as found:
        for entry in found:
            with contextlib.suppress(FileNotFoundError):  # another session has swept it
                kept.append((entry.stat().st_mtime, entry.stat().st_size, entry.name))
    total = sum(size for _, size, _ in kept)
    oldest = time.time() - _DAYS
    for mtime, size, name in sorted(kept):
        if mtime >= oldest and total <= room:
            break
        with contextlib.suppress(FileNotFoundError):  # another session may sweep too
            os.unlink(name, dir_fd=folder)
        total -= size
    return total
