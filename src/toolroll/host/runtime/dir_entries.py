"""Entries of folders that others may write: stamp, read, restore and set them aside, by descriptors alone.

No name is ever followed through a link, so that a name swapped meanwhile leads nowhere outside.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

Parts = tuple[str, ...]
Stamp = tuple[int, ...]  # the fields of `stat` that show a change: mode, device, inode, size, mtime, ctime

SETTLED_NS = 20_000_000
"""Two changes within this time may carry the same timestamp: at least two ticks of any kernel's clock."""
_PATH: int = getattr(os, "O_PATH", 0)
_FOLDER = _PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def take_stamp(folder: int, path: str) -> Stamp | None:
    """The stamp of a path beneath a folder; None if nothing is there. A link is not followed at the end."""
    try:
        return _stamp(os.stat(path, dir_fd=folder, follow_symlinks=False))
    except OSError:
        return None


def take_stamps(folder: int, paths: Iterable[str]) -> list[Stamp | None]:
    """The stamps of several paths, in order."""
    return [take_stamp(folder, path) for path in paths]


def are_old(found: Iterable[Stamp | None]) -> bool:
    """Whether the next change of each of these is certain to change its stamp."""
    latest = time.time_ns() - SETTLED_NS
    return all(one is None or one[5] < latest for one in found)


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mode, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@dataclass(frozen=True, slots=True)
class DirEntry:
    """A file, folder or link as it was."""

    mode: int
    owner: tuple[int, int]
    stamp: Stamp  # changes whenever the thing does; empty if it is too young to tell
    data: bytes | None = None
    """The bytes of a file or the target of a link; None for the rest, and for what could not be kept."""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_kept(self) -> bool:
        """Whether it can be made again."""
        return self.is_folder or self.data is not None

    def same(self, other: DirEntry) -> bool:
        """Whether git would notice no difference."""
        if self.stamp and self.stamp == other.stamp:
            return True
        return self.mode == other.mode and (self.is_folder or (self.data is not None and self.data == other.data))


@contextmanager
def closing_fd(fd: int) -> Iterator[int]:
    """Close a descriptor at the end of the block."""
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def reopen(folder: int) -> Iterator[int]:
    """An open folder once more, to list it: threads that list one descriptor share how far they are, and miss names."""
    with closing_fd(os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)) as fd:
        yield fd


@contextmanager
def open_dir(root: int, parts: Parts) -> Iterator[int]:
    """A descriptor of the folder at `parts` beneath `root`, to reach its entries by; OSError if links lead there."""
    fd = os.dup(root)
    try:
        for name in parts:
            below = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def names(folder: int, name: str, most: int) -> list[str] | None:
    """The sorted names in the folder `name`, none if it is not a folder; None if there are more than `most`."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    try:
        found = []
        with os.scandir(fd) as entries:
            for entry in entries:
                found.append(entry.name)
                if len(found) > most:
                    return None
        return sorted(found)
    finally:
        os.close(fd)


def look(folder: int, name: str, known: DirEntry | None, most: int) -> DirEntry | None:
    """What is at `name` now, read up to `most` bytes unless `known` is still current; None if nothing is there."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    stamp = _stamp(found)
    if known is not None and known.stamp == stamp:
        return known
    young = abs(time.time_ns() - found.st_ctime_ns) < SETTLED_NS
    data = None
    if stat.S_ISLNK(found.st_mode):
        data = os.fsencode(os.readlink(name, dir_fd=folder))
    elif stat.S_ISREG(found.st_mode) and found.st_size <= most:
        data = _bytes(folder, name, most)
    comparable = data is not None or stat.S_ISDIR(found.st_mode)
    return DirEntry(found.st_mode, (found.st_uid, found.st_gid), () if young and comparable else stamp, data)


def put(folder: int, name: str, entry: DirEntry) -> None:
    """Make `name` what it was; a folder in the place of something else must have been set aside before."""
    if entry.is_folder:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
        change_mode(folder, name, stat.S_IMODE(entry.mode))
        return
    assert entry.data is not None
    draft = f".{name}.{os.urandom(4).hex()}"
    try:
        if stat.S_ISLNK(entry.mode):
            os.symlink(os.fsdecode(entry.data), draft, dir_fd=folder)
        else:
            _write(folder, draft, entry)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        drop(folder, draft)
        raise


def drop(folder: int, name: str) -> None:
    """Remove a file or a link; nothing if there is none."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def set_aside(folder: int, name: str, where: int) -> str:
    """Move whatever is at `name` into the folder `where` under a new name, and tell that."""
    aside = f"{name}.set-aside-{os.urandom(4).hex()}"
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        change_mode(folder, name, 0o700)  # without the right to write a folder it cannot be moved
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=where)
    return aside


def change_mode(folder: int, name: str, mode: int) -> None:
    """Give the folder `name` this mode, even if the present one denies access."""
    fd = os.open(name, _FOLDER, dir_fd=folder)
    try:
        if _PATH:
            os.chmod(f"/proc/self/fd/{fd}", mode)  # a descriptor that only names a thing cannot be changed itself
        else:
            os.fchmod(fd, mode)
    finally:
        os.close(fd)


def _bytes(folder: int, name: str, most: int) -> bytes | None:
    """What is in a regular file; None if it is another thing by now, or larger, or not for us to read."""
    try:
        fd = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = file.read(most + 1)
    return data if len(data) <= most else None


def _write(folder: int, name: str, entry: DirEntry) -> None:
    fd = os.open(name, _DRAFT, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(entry.data or b"")
        if os.fstat(fd).st_uid != entry.owner[0]:  # only root can make files for others, and then must
            os.fchown(fd, *entry.owner)
        os.fchmod(fd, stat.S_IMODE(entry.mode))
