"""The only code that opens paths. All of them are found beneath one folder, on directory file descriptors.

A path is never checked first and opened later: another process could swap a folder for a link in between.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from typing import Self

from toolroll.host.files.openat import (
    LIST,
    MAX_LINKS,
    PATH,
    STEP,
    STRAIGHT,
    Check,
    Opener,
    PathHandle,
    not_a_file,
    openat2,
    os_error,
    walk,
)
from toolroll.host.files.trust import Trust
from toolroll.host.linux import IS_DARWIN
from toolroll.host.runtime.launcher import folder_path
from toolroll.policy import paths
from toolroll.result import ErrorCode, ToolError

Examine = Callable[[str], Trust]

_STRAIGHT = STRAIGHT | os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_DELETED = " (deleted)"  # what /proc adds to a path that is gone; a name may also really end so


class Root:
    """One folder and what is beneath it. Whatever leaves it, by "..", link or race, is a SecurityError."""

    def __init__(
        self, path: str, *, kernel: bool | None = None, folder_mode: int = 0o777, trust: Examine = Trust
    ) -> None:
        """Open the folder `path`; `kernel=False` does without openat2, None uses it where it works.

        `trust` is asked about the folder once that is open, and may raise. What it hides is not opened, by any path.
        """
        self._typed = os.path.abspath(path)
        self._folder_mode = folder_mode
        self.path = os.path.realpath(path)
        self.fd = _entered(self.path)
        confined = None if kernel is False else openat2(self.fd)
        if kernel and confined is None:
            os.close(self.fd)
            raise OSError(errno.ENOSYS, "openat2 is not to be had here", path)
        self.kernel = confined is not None
        self.trust = self._examined(trust)
        self.opener: Opener = self._guarded(confined or walk) if self.trust.hides else confined or walk
        self._last = ".", paths.parts(".", self.path)

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        """A descriptor of whatever is at `path`; never creates, never blocks, never becomes a terminal."""
        if flags & os.O_CREAT:
            raise ValueError("Root.open never creates; use place() and atomic.write()")
        return self._open(self._read(path), flags, path)

    def file(self, path: str) -> int:
        """A descriptor of the regular file at `path`, for reading."""
        return self._regular(path)[0]

    def _regular(self, path: str) -> tuple[int, os.stat_result]:
        try:
            fd = self._open(self._read(path), os.O_RDONLY, path)
        except OSError as error:
            if error.errno == errno.ENXIO:  # how open() says "a socket"
                raise not_a_file(path, stat.S_IFSOCK) from None
            raise
        return fd, _status(fd, path)

    def located(self, path: str) -> tuple[int, os.stat_result, tuple[str, ...]]:
        """The regular file at `path`: a descriptor, its status, and its real path as `real` gives it."""
        where = self._read(path)
        if self.kernel and ".." not in where.parts:
            try:
                fd = self.opener(self.fd, where.where, _STRAIGHT)
            except OSError as error:
                if error.errno == errno.ENOENT:
                    raise os_error(error.errno, path) from None
            else:
                return fd, _status(fd, path), where.parts
        fd, status = self._regular(path)
        try:
            return fd, status, self.real(fd)
        except BaseException:
            os.close(fd)
            raise

    def has(self, path: str) -> bool:
        """Whether there is anything at `path`, a link that leads nowhere too."""
        try:
            with self.place(path, follow=False) as place:
                place.status()
        except (OSError, ToolError):
            return False
        return True

    def folder(self, path: str = ".", *, create: bool = False, check: Check | None = None) -> int:
        """A descriptor of the folder at `path`, for listing; `create` makes it and its parents if missing."""
        where = self._read(path)
        if not create:
            return self._open(where, LIST, path)
        with self._reach(where.parts, ".", path, create=True) as place:
            place.settle(check)
            return os.open(".", LIST, dir_fd=place.fd)

    def place(self, path: str, *, create: bool = False, follow: bool = True, check: Check | None = None) -> PathHandle:
        """Where `path` lives, whether or not there is anything yet.

        `follow` goes through a link to what it names; without it the place is the link itself. `create` makes the
        missing folders; `check` is asked before, with the real components, and may raise.
        """
        return self._place(self._read(path), path, create=create, follow=follow, check=check)

    def place_listed(self, path: str, *, create: bool = False, check: Check | None = None) -> PathHandle:
        """The place of a real path as a listing has it: nothing is followed, and names need not be UTF-8."""
        where = paths.Relative(tuple(path.split("/")), False)
        return self._place(where, path, create=create, follow=False, check=check)

    def _place(
        self, where: paths.Relative, path: str, *, create: bool, follow: bool, check: Check | None
    ) -> PathHandle:
        for _ in range(MAX_LINKS + 1):
            if not where.parts or where.parts[-1] == "..":
                where = self._named(where, path)
            place = self._reach(where.parts[:-1], where.parts[-1], path, create=create)
            try:
                target = place.link() if follow else None
                if target is None:
                    place.is_dir = where.is_dir
                    place.settle(check)
                    return place
                if target.startswith("/"):
                    raise paths.outside(path, self.path)
            except BaseException:
                place.abandon()
                raise
            place.close()
            where = where.beyond(target)
        raise os_error(errno.ELOOP, path)

    def real(self, fd: int) -> tuple[str, ...]:
        """Where an open file or folder is now, as components beneath the root."""
        above, here = _path(self.fd), _path(fd)
        if here.endswith(_DELETED) and not _is_at(here, fd):
            raise os_error(errno.ENOENT, here.removesuffix(_DELETED))
        if here.startswith(f"{above}/"):  # and the kernel writes no "//" and no "."
            return tuple(here[len(above) + 1 :].split("/"))
        names = paths.beneath(here, above)
        if names is None:
            raise paths.outside(here, self.path)
        return names

    def text(self, path: str) -> str:
        """`path` as it is shown to the model: relative to the workspace, with forward slashes."""
        return self._read(path).text

    @property
    def name(self) -> str:
        """The base name of the folder, as the caller gave it."""
        return os.path.basename(self._typed)

    alias = ""
    """Of a fork: the absolute path of its base, which paths and commands may name it by."""

    def stand_for(self, path: str) -> None:
        """Take absolute paths beneath another folder for paths of this one: this is a fork of that."""
        self.alias = self._typed = path

    others: Mapping[str, Root] = {}
    """Further folders by the names under which they are seen in this one."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The absolute paths of this folder and of the others."""
        return (self.path,)

    def owner(self, parts: tuple[str, ...]) -> tuple[str, Root, tuple[str, ...]]:
        """The folder that a real path belongs to: its name (empty for this one), its root, and the path there."""
        return "", self, parts

    def absolute(self, parts: tuple[str, ...]) -> str:
        """The absolute path of a real path."""
        _, root, inner = self.owner(parts)
        return "/".join((root.path, *inner))

    def names(self, path: str) -> bool:
        """Whether an absolute path is beneath this folder, by either of its names."""
        return any(paths.beneath(path, one) is not None for one in (self.path, self._typed))

    def close(self) -> None:
        """Give the folder back; the root is of no use afterwards."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, path: str) -> paths.Relative:
        last, found = self._last  # a call reads its path more than once: to queue for it, then to open it
        if last == path:
            return found
        # A workspace reached through a link has two absolute names, and callers use either.
        linked = self._typed != self.path and path.startswith("/") and paths.beneath(path, self._typed) is not None
        found = paths.parts(path, self._typed if linked else self.path)
        self._last = path, found
        return found

    def _open(self, where: paths.Relative, flags: int, shown: str) -> int:
        # openat2 refuses O_PATH together with flags that mean nothing to it.
        flags |= os.O_CLOEXEC if flags & PATH else os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
        try:
            return self.opener(self.fd, where.where, flags)
        except OSError as error:
            # Do not reveal whether a folder outside of the workspace exists.
            gone = error.errno in (errno.ENOENT, errno.ENOTDIR) and paths.climbs(where.text)
            if error.errno == errno.EXDEV or gone:
                raise paths.outside(shown, self.path) from None
            raise os_error(error.errno, shown) from None

    def _examined(self, trust: Examine) -> Trust:
        try:
            return trust(_location(self.fd) if os.path.exists(folder_path(self.fd)) else self.path)
        except BaseException:
            self.close()
            raise

    def _guarded(self, opener: Opener) -> Opener:
        """The same opener, but what is hidden is not opened: asked once it is open, by where it really is."""

        def open_shown(folder: int, path: str, flags: int) -> int:
            fd = opener(folder, path, flags)
            try:
                self.trust.check_read(paths.beneath(_location(fd), _location(self.fd)) or ())
            except BaseException:
                os.close(fd)
                raise
            return fd

        return open_shown

    def _named(self, where: paths.Relative, shown: str) -> paths.Relative:
        """The same folder by its own name; "sub/.." has none."""
        fd = self._open(where, STEP, shown)
        try:
            names = self.real(fd)
        finally:
            os.close(fd)
        if names:
            return paths.Relative(names, True)
        raise ToolError(
            ErrorCode.SECURITY,
            f"{shown!r} is the workspace itself, which stays as it is. Name something inside it.",
        )

    def _reach(self, above: tuple[str, ...], name: str, shown: str, *, create: bool) -> PathHandle:
        """The place of `name` beneath the deepest folder of `above` that exists; `create` lets some miss."""
        for there in range(len(above), -1, -1):
            try:
                fd = self._open(paths.Relative(above[:there], True), STEP, shown)
                break
            except FileNotFoundError:
                if not create or there == 0 or above[there - 1] == "..":
                    raise
        try:
            missing = above[there:]
            own = () if name == "." else (name,)
            parts = (*self.real(fd), *missing, *own)
            if self.trust.hides:
                self.trust.check_read(parts)
            return PathHandle(fd, name, parts, shown, missing=missing, folder_mode=self._folder_mode)
        except BaseException:
            os.close(fd)
            raise


def _status(fd: int, path: str) -> os.stat_result:
    """The status of what must be a regular file; anything else is closed."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise not_a_file(path, status.st_mode)
    return status


def _entered(path: str) -> int:
    """A descriptor of a folder that may be read and entered; the error says that it is the whole folder's."""
    try:
        fd = os.open(path, LIST)
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        os.stat(".", dir_fd=fd)
    except OSError as error:
        os.close(fd)
        raise _unusable(path, error) from None
    return fd


def _unusable(path: str, error: OSError) -> OSError:
    return OSError(error.errno, f"{error.strerror}; name a folder that is there and that you may read and enter", path)


def _path(fd: int) -> str:
    """The absolute path of an open file or folder, as the kernel writes it."""
    return folder_path(fd) if IS_DARWIN else os.readlink(f"/proc/self/fd/{fd}")


def _location(fd: int) -> str:
    """The same, without the mark of what was deleted."""
    return _path(fd).removesuffix(_DELETED)


def _is_at(path: str, fd: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except OSError:
        return False
