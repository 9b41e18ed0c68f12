"""Open paths beneath a folder by openat2, or the same by hand; a `PathHandle` is where a name lives."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from toolroll.host.linux import IS_LINUX
from toolroll.policy import paths
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root

Opener = Callable[[int, str, int], int]
"""From an open folder, a relative path and flags to a descriptor; EXDEV for what leaves the folder."""

PATH: int = getattr(os, "O_PATH", 0)  # where there is none, a folder must be readable to be passed through
STEP = PATH | os.O_DIRECTORY | os.O_CLOEXEC
STRAIGHT = 0x100_0000_0000  # a flag for openat2 alone: ELOOP for any link on the way
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
    if not IS_LINUX:
        return None
    import ctypes  # here because it takes milliseconds, and not every importer of this module needs it

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


Check = Callable[[tuple[str, ...]], None]
"""Given the real components of a path; raises if nothing may be made there."""


_PATIENCE_S = 5.0  # of a call while another one changes the workspace
_PAUSES_S = 0.0005, 0.01  # between two tries to lock: the first one, and the longest
_MOST_OPEN = 64  # folders that wait to be synced


@dataclass(slots=True)
class PathHandle:
    """Where a name lives: an open folder and a name in it, whatever happens to the path meanwhile.

    Use it as a context manager. When the block fails, the folders that were made for it are removed again.
    """

    fd: int
    """The folder; only to be passed as `dir_fd`, since reading it may not be allowed."""
    name: str
    parts: tuple[str, ...]
    """Where it really is beneath the root; links and ".." are gone."""
    shown: str
    """The path as the caller gave it, for messages."""
    is_dir: bool = False
    """The path ended in a slash, so that it can only name a folder."""
    missing: tuple[str, ...] = ()
    """The folders between `fd` and the name that are yet to be made."""
    folder_mode: int = 0o777
    """Their permissions, less the umask."""
    made: list[tuple[int, str]] = field(default_factory=list)
    """The folders that have been made, each as its open parent and its name."""

    @property
    def path(self) -> str:
        return "/".join(self.parts)

    def beside(self, name: str) -> PathHandle:
        """The place of another name in the same folder, which must not be missing."""
        parts = (*self.parts[:-1], name)
        return PathHandle(os.dup(self.fd), name, parts, "/".join(parts))

    def link(self) -> str | None:
        """What the name links to, or None if it is not a link."""
        if self.missing:
            return None
        try:
            return link_target(self.fd, self.name)
        except OSError as error:
            raise os_error(error.errno, self.shown) from None

    def settle(self, check: Check | None = None) -> None:
        """Make the missing folders, once `check` has seen the real components."""
        if check is not None:
            check(self.parts)
        if self.is_dir and not self.missing and stat.S_ISREG(self.mode()):
            raise os_error(errno.ENOTDIR, self.shown)
        while self.missing:
            self._enter(self.missing[0])
            self.missing = self.missing[1:]

    def status(self) -> os.stat_result:
        """The status of what is there now, which may be a link."""
        return os.stat(self.name, dir_fd=self.fd, follow_symlinks=False)

    def mode(self) -> int:
        """The st_mode of what is there now, which may be a link; 0 if there is nothing."""
        try:
            return self.status().st_mode
        except FileNotFoundError:
            return 0

    def sync(self) -> None:
        """Let the names in the folder, and of the folders made for it, survive a power cut."""
        with FolderSync() as folders:
            folders.add(self)

    def abandon(self) -> None:
        """Remove the folders that were made, as far as they are empty, and close."""
        for parent, name in reversed(self.made):
            with suppress(OSError):
                os.rmdir(name, dir_fd=parent)
        self.close()

    def close(self) -> None:
        """Close the folder, and those kept open for `abandon`."""
        for fd in self.folders():
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def folders(self) -> tuple[int, ...]:
        """The folder, and the parents of those that were made for it; only to be passed as `dir_fd`."""
        return (self.fd, *(parent for parent, _ in self.made))

    def _enter(self, name: str) -> None:
        # A name that turns up meanwhile is used if it is a folder; a link, dangling or not, is refused.
        fresh = False
        try:
            with suppress(FileExistsError):
                os.mkdir(name, self.folder_mode, dir_fd=self.fd)
                fresh = True
            fd = os.open(name, STEP | os.O_NOFOLLOW, dir_fd=self.fd)
        except OSError as error:
            if fresh:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=self.fd)
            raise os_error(error.errno, self.shown) from None
        if fresh:
            self.made.append((self.fd, name))
        else:
            os.close(self.fd)
        self.fd = fd


class FolderSync:
    """Folders whose names are to survive a power cut: when the block ends well, each is synced once."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], int] = {}

    def add(self, place: PathHandle) -> None:
        """A name of this place is new, or names another file."""
        for folder in place.folders():
            status = os.fstat(folder)
            known = status.st_dev, status.st_ino
            if known not in self._open:
                with suppress(PermissionError):  # a folder that may be written but not read cannot be synced
                    self._open[known] = os.open(".", LIST, dir_fd=folder)
        if len(self._open) >= _MOST_OPEN:
            self._sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._sync()
        self._close()

    def _sync(self) -> None:
        try:
            for fd in self._open.values():
                os.fsync(fd)
        finally:
            self._close()

    def _close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])


class WriteTurn:
    """Locks on the root folders themselves, which hold whatever state folder a process uses, and leave no file.

    Use it as a context manager: `take` may be called in the block, any number of times; the end gives it back.
    """

    def __init__(self, root: Root, find_holder: Callable[[], str] = str) -> None:
        """`find_holder` names the call that has the turn; nothing if it is none of ours: then nobody waits for it."""
        self._roots = sorted((root, *root.others.values()), key=lambda one: one.path)  # the outer one first
        self._find_holder = find_holder
        self._held: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._held:
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)  # a program that is just being started has the descriptor too
            os.close(fd)
        self._held.clear()

    def take(self) -> None:
        """Wait for the turn; ToolError if another call keeps it for long."""
        if self._held:
            return
        end = time.monotonic() + _PATIENCE_S
        for root in self._roots:
            try:
                fd = os.open(".", LIST, dir_fd=root.fd)
            except OSError:  # a folder that may be written but not read cannot be locked
                continue
            self._held.append(fd)
            self._lock(fd, root, end)

    def _lock(self, fd: int, root: Root, end: float) -> None:
        pause, longest = _PAUSES_S
        while True:
            try:
                return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < end:
                    time.sleep(pause)
                    pause = min(2 * pause, longest)
                    continue
            except OSError:  # a file system without locks
                return None
            if holder := self._find_holder():
                raise ToolError(
                    ErrorCode.CONFLICT,
                    f"{holder} has been changing {root.path!r} for {_PATIENCE_S:.0f} seconds. Nothing was done. "
                    "Try again when it has ended.",
                )
            return None
