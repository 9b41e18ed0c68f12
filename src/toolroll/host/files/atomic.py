"""Replace a file atomically: after a crash there is the old content or the new, and nothing else."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import Self

from toolroll.host.files.openat import PathHandle, not_a_file, os_error
from toolroll.host.linux import getxattr, listxattr, removexattr, setxattr
from toolroll.result import ErrorCode, ToolError

Check = Callable[[], None]

_WRITE = 2  # SYNC_FILE_RANGE_WRITE
_TMPFILE: int = getattr(os, "O_TMPFILE", 0)
_LOOK: int = getattr(os, "O_PATH", os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMP = re.compile(r"\.toolroll-(\d+)-[0-9a-f]{16}")
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
# These vouch for the old content, or are a right that the kernel takes away on every write.
_NOT_COPIED = {"security.capability", "security.ima", "security.evm"}
_SYSTEM_ATTRIBUTES = ("security.", "trusted.overlay.", "user.overlay.")
NO_ATTRIBUTES: Mapping[str, bytes] = {}


def write(
    place: PathHandle,
    data: bytes,
    *,
    stage: int | None,
    create_only: bool = False,
    mode: int | None = None,
    durable: bool = True,
    check: Check | None = None,
    sync: Callable[[PathHandle], None] = PathHandle.sync,
) -> bool:
    """Put `data` at `place` and say whether the file is new; if it fails, all is as it was.

    `stage` is a private folder outside the workspace for files in the making. A replaced file keeps its mode,
    owner and attributes; `mode` is for a new one. `check` is called at the last moment and may raise. `sync` sees
    to it that the name survives a power cut: at once, or later for many names together.
    """
    if place.is_dir:
        raise os_error(errno.EISDIR, place.shown)
    taken = place.mode() != 0
    if taken and create_only:
        raise os_error(errno.EEXIST, place.shown)
    created = not taken and _create(place, data, mode, durable, check, create_only)
    if not created:
        with Replacement(place, data, stage) as new:
            if durable:
                new.settle()
            new.put(check)
    if durable:
        sync(place)
    return created


def sweep(stage: int, older: float) -> int:
    """Remove what processes that are gone left in `stage` more than `older` seconds ago; says how many."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=stage)
    removed = 0
    try:
        for name in os.listdir(here):
            temp = _TEMP.fullmatch(name)
            with suppress(FileNotFoundError):  # another process sweeps too
                if temp and not _is_alive(int(temp[1])):
                    status = os.stat(name, dir_fd=here, follow_symlinks=False)
                    if time.time() - status.st_mtime > older:
                        (os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink)(name, dir_fd=here)
                        removed += 1
    finally:
        os.close(here)
    return removed


class Replacement:
    """The new content of a file, with the mode, owner and attributes of the old one, but not yet in its place.

    Use it as a context manager: what was not put in its place is gone at the end of the block. To replace many
    files, begin them all, then settle them all, then put them all: the disk is waited for once.
    """

    def __init__(self, place: PathHandle, data: bytes, stage: int | None) -> None:
        """Make it in `stage` if that is on the same device; else beside the old file, nameless if it can be."""
        self._place = place
        self._data = data
        # From the stage a killed process leaves its unfinished file there, never in the workspace.
        staged = stage is not None and os.fstat(stage).st_dev == os.fstat(place.fd).st_dev
        self._stage = stage if staged else None
        with _existing(place) as old, _blaming(place):
            folder = place.fd if self._stage is None else self._stage
            self._draft = _Draft(folder, 0o600, nameless=not staged)  # private until its mode is known
            try:
                self._draft.fill(data)
                _keep(self._draft.fd, old)
            except BaseException:
                self._draft.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._draft.close()

    def begin(self) -> None:
        """Have the kernel begin to write it to the disk, where it can be asked to."""
        if (write_out := _write_out()) is not None:
            write_out(self._draft.fd, 0, 0, _WRITE)

    def settle(self) -> None:
        """Wait until it would survive a power cut."""
        with _blaming(self._place):
            os.fsync(self._draft.fd)

    def put(self, check: Check | None = None) -> None:
        """Put it in its place; `check` is called at the last moment and may raise."""
        try:
            if check is not None:
                check()
            with _blaming(self._place):
                self._draft.publish_over(self._place)
        except OSError as error:
            if error.errno != errno.EXDEV or self._stage is None:
                raise
            with Replacement(self._place, self._data, None) as beside:  # one device, but mounted twice
                beside.settle()
                beside.put(check)


class _Draft:
    """A file in the making, gone when it is closed unless it was published. Nameless if it can be."""

    def __init__(self, folder: int, mode: int, *, nameless: bool) -> None:
        self.folder = folder
        self.name: str | None = None
        if nameless and _TMPFILE and os.access("/proc/self/fd", os.X_OK):  # its name is given through /proc
            # Not every file system can do it, and they refuse in many ways; a real fault shows again below.
            with suppress(OSError):
                self.fd = os.open(".", _TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode, dir_fd=folder)
                return
        self.name = passing_name()
        self.fd = os.open(self.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)

    def close(self) -> None:
        os.close(self.fd)
        if self.name is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.name, dir_fd=self.folder)

    def fill(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:  # a write may be short
            rest = rest[os.write(self.fd, rest) :]

    def publish_new(self, place: PathHandle) -> None:
        """Give it its name; FileExistsError if that is taken."""
        try:
            self._link(place.name, place.fd)
        except OSError as error:
            if self.name is None or error.errno not in NO_LINKS:
                raise
            if place.mode():
                raise os_error(errno.EEXIST, place.shown) from None
            self.publish_over(place)

    def publish_over(self, place: PathHandle) -> None:
        """Put it in the place of what has the name now."""
        if self.name is None:
            name = passing_name()
            self._link(name, self.folder)
            self.name = name
        os.rename(self.name, place.name, src_dir_fd=self.folder, dst_dir_fd=place.fd)
        self.name = None

    def _link(self, name: str, folder: int) -> None:
        if self.name is None:
            os.link(f"/proc/self/fd/{self.fd}", name, dst_dir_fd=folder, follow_symlinks=True)
        else:
            os.link(self.name, name, src_dir_fd=self.folder, dst_dir_fd=folder)


def _create(
    place: PathHandle, data: bytes, mode: int | None, durable: bool, check: Check | None, create_only: bool
) -> bool:
    """Make a new file; False if the name was taken meanwhile, which only `create_only` minds."""
    with _blaming(place):
        draft = _Draft(place.fd, 0o666, nameless=True)  # in its folder from the start, to inherit group and ACL
    with closing(draft):
        with _blaming(place):
            draft.fill(data)
            if mode is not None:
                os.fchmod(draft.fd, mode)
            if durable:
                os.fsync(draft.fd)
        if check is not None:
            check()
        with _blaming(place):
            try:
                draft.publish_new(place)
            except FileExistsError:
                if create_only:
                    raise
                return False
    return True


@contextmanager
def _existing(place: PathHandle) -> Iterator[int]:
    """A descriptor of the regular file to be replaced, for looking at it only."""
    with _blaming(place):
        fd = os.open(place.name, _LOOK, dir_fd=place.fd)
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISLNK(mode):
            raise ToolError(ErrorCode.CONFLICT, f"{place.shown!r} has just become a link. Look at it and try again.")
        if not stat.S_ISREG(mode):
            raise not_a_file(place.shown, mode)
        # A rename asks only the folder; a read-only file is meant to stay as it is.
        if not os.access(place.name, os.W_OK, dir_fd=place.fd, effective_ids=True):
            read_only = os.fstatvfs(place.fd).f_flag & os.ST_RDONLY
            raise os_error(errno.EROFS if read_only else errno.EACCES, place.shown)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _blaming(place: PathHandle) -> Iterator[None]:
    """Report an OSError of the block with the caller's path instead of the name of the draft."""
    try:
        yield
    except OSError as error:
        raise os_error(error.errno, place.shown) from None


def _keep(new: int, old: int) -> None:
    """Give the new file the owner, attributes and mode of the old one, as far as we are allowed to."""
    was = os.fstat(old)
    mode = _own(new, was)
    with suppress(OSError, AttributeError):  # no attributes on this file system, or in this operating system
        _copy_attributes(new, f"/proc/self/fd/{old}")
    os.fchmod(new, mode)  # last, because an ACL and a change of owner both touch the mode


def _own(new: int, was: os.stat_result) -> int:
    """Hand the new file to the old owner and group, and say which mode suits what came of it."""
    mode, now = stat.S_IMODE(was.st_mode), os.fstat(new)
    if (now.st_uid, now.st_gid) == (was.st_uid, was.st_gid):
        return mode
    for uid, lost in ((was.st_uid, 0), (-1, stat.S_ISUID)):
        with suppress(OSError):  # not ours to give, or an owner that the namespace of this process does not know
            os.fchown(new, uid, was.st_gid)
            return mode & ~lost
    # The group is another one: it gets no more rights than others.
    return mode & ~(stat.S_ISUID | stat.S_ISGID | 0o070) | (mode & (mode << 3) & 0o070)


def read_attributes(file: int | str) -> Mapping[str, bytes]:
    """The extended attributes of a file or folder, without those that the system sets itself."""
    try:
        names = listxattr(file) if isinstance(file, int) else listxattr(file, follow_symlinks=False)
        return {one: getxattr(file, one) for one in names if not one.startswith(_SYSTEM_ATTRIBUTES)} or NO_ATTRIBUTES
    except (OSError, AttributeError):  # a file system, or a system, without them
        return NO_ATTRIBUTES


def set_attributes(place: PathHandle, attributes: Mapping[str, bytes]) -> None:
    """Give a file these extended attributes and no others, as far as the system lets us."""
    where = f"/proc/self/fd/{place.fd}/{place.name}"
    with suppress(OSError, AttributeError):
        for name in listxattr(where, follow_symlinks=False):
            if name not in attributes and not name.startswith("security."):
                removexattr(where, name, follow_symlinks=False)
    for name, value in attributes.items():
        with suppress(OSError, AttributeError):
            setxattr(where, name, value, follow_symlinks=False)


def _copy_attributes(new: int, old: str) -> None:
    wanted = set(listxattr(old)) - _NOT_COPIED
    for name in set(listxattr(new)) - wanted:  # such as an ACL that the folder hands down
        with suppress(OSError):
            removexattr(new, name)
    for name in wanted:
        with suppress(OSError):
            setxattr(new, name, getxattr(old, name))


@cache
def _write_out() -> Callable[[int, int, int, int], int] | None:
    """The call that has a file written out without waiting for it."""
    import ctypes

    found = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if found is not None:
        found.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return found


def passing_name() -> str:
    """A name for something that has it for a moment; `sweep` knows it."""
    return f".toolroll-{os.getpid()}-{os.urandom(8).hex()}"


def is_passing_name(name: str) -> bool:
    """Whether it is such a name, of any process."""
    return _TEMP.fullmatch(name) is not None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
