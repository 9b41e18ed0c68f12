"""Copy a tree by reflinks or bytes, and remember what each path was, on both sides, when it was copied."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from toolroll.host.files.atomic import NO_ATTRIBUTES, read_attributes
from toolroll.host.files.versions import digest
from toolroll.host.linux import setxattr
from toolroll.host.runtime.dir_entries import SETTLED_NS, closing_fd, reopen
from toolroll.result import ErrorCode, ToolError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_FICLONE = 0x40049409
_NO_REFLINK = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM}
_MAX_DIGEST_BYTES = 1 << 20  # of larger files only the stamp is known
_MAX_ENTRIES = 500_000
_OWN = os.geteuid(), os.getegid()


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
    attributes: Mapping[str, bytes] = NO_ATTRIBUTES


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
        with reopen(source) as listed:
            names = sorted(os.listdir(listed))
        for name in names:
            path = f"{prefix}{name}"
            with suppress(FileNotFoundError):  # it went meanwhile
                self._copy_one(source, target, name, path)

    def is_changed(self, path: str, now: NodeStamp) -> bool:
        """Whether a path of the copy may have been changed since."""
        known = self.nodes.get(path)
        return known is None or known.copy != now or known.copy.changed > self.settled

    def _copy_one(self, source: int, target: int, name: str, path: str) -> None:
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        kind = stat.S_IFMT(status.st_mode)
        if path in self.skip or kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            self.left_out.append(path)
            return
        self._count(status)
        if kind == stat.S_IFREG and (status.st_dev, status.st_ino) not in self._linked:
            found = self._copy_file(source, target, name, status)
            if status.st_nlink > 1:
                self._linked[status.st_dev, status.st_ino] = path
        else:
            attributes = NO_ATTRIBUTES
            if kind == stat.S_IFDIR:
                attributes = self._copy_folder(source, target, name, path, status)
            elif kind == stat.S_IFLNK:
                os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
                if (status.st_uid, status.st_gid) != _OWN and _OWN[0] == 0:
                    with suppress(OSError):  # as below
                        os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
            else:
                first = self._linked[status.st_dev, status.st_ino]
                self._link(target, name, path, first)
                attributes = self.nodes[first].attributes
            copied = NodeStamp.of(os.stat(name, dir_fd=target, follow_symlinks=False))
            found = CopiedNode(NodeStamp.of(status), copied, None, attributes)
        self.nodes[path] = found
        self.settled = max(self.settled, found.copy.changed - SETTLED_NS)

    def _count(self, status: os.stat_result) -> None:
        self._bytes += 0 if self.reflink else min(status.st_size, status.st_blocks * 512)
        if self._bytes > self.max_bytes or len(self.nodes) >= _MAX_ENTRIES:
            raise ToolError(
                ErrorCode.TOO_LARGE,
                f"The workspace is too large to be copied: it has more than {self.max_bytes:,} bytes or "
                f"{_MAX_ENTRIES:,} files. Raise the limit `fork_bytes`, or move what is not needed out of it.",
            )

    def _copy_folder(
        self, source: int, target: int, name: str, path: str, status: os.stat_result
    ) -> Mapping[str, bytes]:
        os.mkdir(name, 0o700, dir_fd=target)
        with open_folder(name, source) as inner, open_folder(name, target) as made:
            self.copy(inner, made, f"{path}/")
            return _copy_metadata(inner, made, status)

    def _link(self, target: int, name: str, path: str, first: str) -> None:
        """Give a file of the copy a second name, as it has in the original."""
        up = "../" * path.count("/")
        os.link(f"{up}{first}", name, src_dir_fd=target, dst_dir_fd=target, follow_symlinks=False)

    def _copy_file(self, source: int, target: int, name: str, status: os.stat_result) -> CopiedNode:
        found, size = None, status.st_size
        old = os.open(name, _FILE, dir_fd=source)
        new = -1
        try:
            new = os.open(name, _NEW, 0o600, dir_fd=target)
            if self.reflink:
                fcntl.ioctl(new, _FICLONE, old)
            elif size <= _MAX_DIGEST_BYTES:
                data = os.read(old, size + 1)
                _write(new, data)
                found = digest(data)
            else:
                _copy_extents(old, new, size)
            attributes = _copy_metadata(old, new, status)
            return CopiedNode(NodeStamp.of(status), NodeStamp.of(os.fstat(new)), found, attributes)
        finally:
            os.close(old)
            if new >= 0:
                os.close(new)


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
    with closing_fd(os.open(name, flags, 0o600, dir_fd=above)) as fd:
        yield fd


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


def _copy_metadata(old: int, new: int, status: os.stat_result) -> Mapping[str, bytes]:
    """Owner where we may give files away, attributes, mode and times; the attributes."""
    if (status.st_uid, status.st_gid) != _OWN and _OWN[0] == 0:
        with suppress(OSError):  # one that the namespace of this process does not know, as in a rootless container
            os.fchown(new, status.st_uid, status.st_gid)
    attributes = read_attributes(old)
    for name, value in attributes.items():
        with suppress(OSError):  # a file system without them
            setxattr(new, name, value)
    os.fchmod(new, stat.S_IMODE(status.st_mode))
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    return attributes
