"""Copy a tree by reflinks or bytes, and remember what each path was, on both sides, when it was copied."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from toolroll.host.files.versions import digest
from toolroll.result import ErrorCode, ToolError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_FICLONE = 0x40049409
_NO_REFLINK = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM}
_MAX_DIGEST_BYTES = 1 << 20  # of larger files only the stamp is known
_MAX_ENTRIES = 500_000
_SETTLED_NS = 20_000_000  # two writes within a tick of the kernel's clock leave one stamp


class NodeStamp(NamedTuple):
    """What `lstat` says of a path. Equal stamps mean that it was not changed."""

    mode: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> NodeStamp:
        return cls(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class CopiedNode(NamedTuple):
    """One path when it was copied."""

    base: NodeStamp
    copy: NodeStamp
    digest: bytes | None = None
    """Of the content, where it was read."""


@dataclass(slots=True)
class TreeCopy:
    """Copies a tree; `nodes` is what was copied, by path."""

    max_bytes: int
    reflink: bool
    """Clone files instead of copying bytes; OSError if the file system cannot."""
    skip: frozenset[str] = frozenset()
    """Paths that are left out."""
    nodes: dict[str, CopiedNode] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Paths that are no file, folder or link, or were skipped."""
    settled: int = 0
    """Stamps of the copy after this time are too young to trust."""
    _bytes: int = 0
    _linked: dict[tuple[int, int], str] = field(default_factory=dict)

    def copy(self, source: int, target: int, prefix: str = "") -> None:
        """Copy what is in one open folder into another."""
        for name in sorted(os.listdir(source)):
            path = f"{prefix}{name}"
            with suppress(FileNotFoundError):  # it went meanwhile
                self._copy_one(source, target, name, path)

    def is_changed(self, path: str, now: NodeStamp) -> bool:
        """Whether a path of the copy may have been changed since."""
        known = self.nodes.get(path)
        return known is None or known.copy != now or known.copy.changed > self.settled

    def _copy_one(self, source: int, target: int, name: str, path: str) -> None:
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if path in self.skip or not (
            stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)
        ):
            self.left_out.append(path)
            return
        self._count(status)
        found = None
        if stat.S_ISDIR(status.st_mode):
            self._copy_folder(source, target, name, path, status)
        elif stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
            if os.geteuid() == 0:
                os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
        elif (first := self._linked.get((status.st_dev, status.st_ino))) is not None:
            self._link(target, name, path, first)
        else:
            found = self._copy_file(source, target, name, status)
            if status.st_nlink > 1:
                self._linked[status.st_dev, status.st_ino] = path
        copied = NodeStamp.of(os.stat(name, dir_fd=target, follow_symlinks=False))
        self.nodes[path] = CopiedNode(NodeStamp.of(status), copied, found)
        self.settled = max(self.settled, copied.changed - _SETTLED_NS)

    def _count(self, status: os.stat_result) -> None:
        self._bytes += 0 if self.reflink else min(status.st_size, status.st_blocks * 512)
        if self._bytes > self.max_bytes or len(self.nodes) >= _MAX_ENTRIES:
            raise ToolError(
                ErrorCode.TOO_LARGE,
                f"The workspace is too large to be copied: it has more than {self.max_bytes:,} bytes or "
                f"{_MAX_ENTRIES:,} files. Raise the limit `fork_bytes`, or move what is not needed out of it.",
            )

    def _copy_folder(self, source: int, target: int, name: str, path: str, status: os.stat_result) -> None:
        os.mkdir(name, 0o700, dir_fd=target)
        with open_folder(name, source) as inner, open_folder(name, target) as made:
            self.copy(inner, made, f"{path}/")
            _copy_metadata(inner, made, status)

    def _link(self, target: int, name: str, path: str, first: str) -> None:
        """Give a file of the copy a second name, as it has in the original."""
        up = "../" * path.count("/")
        os.link(f"{up}{first}", name, src_dir_fd=target, dst_dir_fd=target, follow_symlinks=False)

    def _copy_file(self, source: int, target: int, name: str, status: os.stat_result) -> bytes | None:
        found = None
        with _opened(name, _FILE, source) as old, _opened(name, _NEW, target) as new:
            if self.reflink:
                fcntl.ioctl(new, _FICLONE, old)
            elif status.st_size <= _MAX_DIGEST_BYTES:
                data = os.read(old, _MAX_DIGEST_BYTES + 1)
                _write(new, data)
                found = digest(data)
            else:
                _copy_extents(old, new, status.st_size)
            _copy_metadata(old, new, status)
        return found


def can_reflink(source: int, target: int) -> bool:
    """Whether a file beneath one open folder can be cloned into another; tried with an empty file of each."""
    flag: int = getattr(os, "O_TMPFILE", 0)
    if not flag:
        return False
    try:
        with (
            _opened(".", flag | os.O_RDWR | os.O_CLOEXEC, source) as old,
            _opened(".", flag | os.O_RDWR, target) as new,
        ):
            os.write(old, b"x" * 4096)
            fcntl.ioctl(new, _FICLONE, old)
    except OSError as error:
        if error.errno in _NO_REFLINK or error.errno in (errno.EACCES, errno.EROFS, errno.EISDIR):
            return False
        raise
    return True


@contextmanager
def open_folder(name: str, above: int) -> Iterator[int]:
    """A descriptor of a folder in another; links are not followed."""
    with _opened(name, FOLDER, above) as fd:
        yield fd


@contextmanager
def _opened(name: str, flags: int, above: int) -> Iterator[int]:
    fd = os.open(name, flags, 0o600, dir_fd=above)
    try:
        yield fd
    finally:
        os.close(fd)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # a write may be short
        rest = rest[os.write(fd, rest) :]


def _copy_extents(old: int, new: int, size: int) -> None:
    """Copy a large file; holes stay holes."""
    os.ftruncate(new, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(old, at, os.SEEK_DATA)
            end = os.lseek(old, at, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                return
            raise
        os.lseek(new, at, os.SEEK_SET)
        while at < end:
            at += os.sendfile(new, old, at, end - at) or end - at


def _copy_metadata(old: int, new: int, status: os.stat_result) -> None:
    """Owner where we may give files away, attributes, mode and times."""
    if os.geteuid() == 0:
        os.fchown(new, status.st_uid, status.st_gid)
    with suppress(OSError, AttributeError):  # a file system or system without attributes
        for name in os.listxattr(old):
            with suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))
    os.fchmod(new, stat.S_IMODE(status.st_mode))
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
