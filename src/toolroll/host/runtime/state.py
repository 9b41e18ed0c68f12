"""The state folder of a workspace: outside of it, created when first needed, swept when the workspace is gone."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from toolroll.host import linux
from toolroll.host.runtime import user_folders

if TYPE_CHECKING:
    from toolroll.host.runtime.folder_identity import FolderIdentity

LOCK, WORKSPACE = ".lock", ".workspace"
"""Files of a state folder: the one that its users hold, and the one that says whose it is."""
_IDENTITY, _FORMER, _ROOTS = ".identity", "former", "roots"
_MAX_FORMER = 3  # states of folders that had the same path before
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO}
_SAID = "state folder"
_STAMP, _DAY = ".swept", 86_400.0
MAX_FOLDERS, MAX_BYTES = 500, 2 << 30
_UNMOUNTED_SECONDS = 30 * _DAY  # a disk that is not mounted may come back
_GONE = ".gone-"


def _sweep_daily(above: str) -> None:
    """Sweep the state folders beside what else is done, unless that was done within a day, by any process."""
    stamp = os.path.join(above, _STAMP)
    with contextlib.suppress(OSError):
        if time.time() - os.stat(stamp).st_mtime < _DAY:
            return
    with contextlib.suppress(OSError):
        os.makedirs(above, mode=0o700, exist_ok=True)
        with open(stamp, "w", encoding="ascii"):
            os.utime(stamp)
        threading.Thread(target=sweep, args=(above,), name="toolroll sweep", daemon=True).start()


def create_nameless_file(data: bytes, *, sealed: bool = False) -> int:
    """Create a file without a name that holds these bytes; returns a descriptor at its start.

    `sealed`: no process can change it, whatever descriptor it has.
    """
    reader = None
    try:
        fd = linux.memfd_create("toolroll", linux.MFD_CLOEXEC | (linux.MFD_ALLOW_SEALING if sealed else 0))
    except OSError:
        import tempfile

        fd, path = tempfile.mkstemp()
        reader = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if sealed else None
        os.unlink(path)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    if reader is not None:
        os.close(fd)
        return reader
    if sealed:
        import fcntl

        fcntl.fcntl(fd, linux.F_ADD_SEALS, linux.EVERY_SEAL)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class State:
    """A private folder for one workspace, created by the first write."""

    def __init__(self, path: str, workspace: str | None = None, *, is_swept: bool = False) -> None:
        """`workspace`: its owner. `is_swept`: the folder is one of many and may be swept."""
        self.path = path
        self._workspace = workspace
        self._is_swept = is_swept
        self._held: int | None = None
        self._lock = threading.Lock()
        self._open: dict[str, int] = {}
        self._deleted: list[int] = []  # descriptors that threads may still use

    @classmethod
    def of(cls, workspace: str) -> State:
        """The usual state folder of a workspace, below the user's own state directory."""
        import hashlib

        known_by = hashlib.blake2b(os.fsencode(workspace), digest_size=8).hexdigest()
        name = f"{os.path.basename(workspace) or 'root'}-{known_by}"
        return cls(os.path.join(user_folders.state_dir(), name), workspace, is_swept=True)

    def hold(self) -> None:
        """Keep the folder from being swept until `close`, if it exists; sweep stale folders beside it."""
        if self._is_swept:
            _sweep_daily(os.path.dirname(self.path))
        with self._lock:
            if os.path.isdir(self.path):
                self._hold()

    def _hold(self) -> None:
        import fcntl

        while self._held is None:
            name = os.path.join(self.path, LOCK)
            fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(fd, fcntl.LOCK_SH)
            try:
                same = os.path.samestat(os.stat(name), os.fstat(fd))
            except FileNotFoundError:  # it was swept away just now
                same = False
                os.makedirs(self.path, mode=0o700, exist_ok=True)
            if not same:
                os.close(fd)
                continue
            self._held = fd
            if self._workspace is not None:
                self._claim(self._workspace)
            if self._workspace is not None and self._is_swept:
                with contextlib.suppress(OSError):
                    said = f"{self._workspace}\n{os.stat(self._workspace).st_dev}"
                    with open(os.path.join(self.path, WORKSPACE), "wb") as file:
                        file.write(os.fsencode(said))

    def _claim(self, workspace: str) -> None:
        """Take over what is here, unless it is of another folder that had the path before: that is set aside."""
        import fcntl

        from toolroll.host.runtime.folder_identity import FolderIdentity, identify

        fd = os.open(os.path.join(self.path, _IDENTITY), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "r+", encoding="ascii", errors="replace") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = FolderIdentity(*([*file.read().split("\n"), "", ""])[:2])
            if any(known) and known.fits(workspace):
                return
            now = identify(workspace)
            if any(known):
                _move(self.path, self._former(known))
                _move(self._former(now), self.path)
                self._forget_former()
            file.seek(0)
            file.truncate()
            file.write("\n".join(now))

    def _former(self, identity: FolderIdentity) -> str:
        import hashlib

        known_by = hashlib.blake2b((identity.id or identity.birth).encode(), digest_size=8).hexdigest()
        return os.path.join(self.path, _FORMER, known_by)

    def _forget_former(self) -> None:
        above = os.path.join(self.path, _FORMER)
        with contextlib.suppress(OSError):
            paths = [os.path.join(above, name) for name in os.listdir(above)]
            for path in sorted(paths, key=os.path.getctime)[:-_MAX_FORMER]:
                import shutil

                shutil.rmtree(path, ignore_errors=True)

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Around what writes to the folder: if its disk is full or broken, the error says which one and what helps."""
        try:
            yield
        except OSError as error:
            if error.errno not in _DISK_ERRORS or _SAID in str(error.strerror):
                raise
            disk = self.path
            while not os.path.ismount(disk):
                disk = os.path.dirname(disk)
            raise OSError(
                error.errno,
                f"{error.strerror} on the disk {disk!r} for toolroll's {_SAID} {self.path!r}, without which no change "
                "could be undone; XDG_STATE_HOME may name a folder on another disk",
            ) from error

    def folder(self, name: str) -> int:
        """A file descriptor of a folder of this name, created if missing. `close` closes it."""
        with self.explaining(), self._lock:
            if name in self._open and not os.fstat(self._open[name]).st_nlink:  # the state was deleted meanwhile
                self._deleted.append(self._open.pop(name))
            if name not in self._open:
                path = self.path
                self._make()
                for step in name.split("/"):  # makedirs would give its mode to the last one only
                    path = os.path.join(path, step)
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(path, mode=0o700)
                self._open[name] = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            return self._open[name]

    def share(self, name: str, other: State) -> None:
        """Have a folder of this name in common with another state, if that can be written to."""
        with contextlib.suppress(OSError):
            self._open[name] = os.dup(other.folder(name))

    def _make(self) -> None:
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            if self._held is not None and not os.fstat(self._held).st_nlink:
                os.close(self._held)
                self._held = None
            self._hold()
        except OSError as error:
            what = f"toolroll cannot make its state folder {self.path!r} (XDG_STATE_HOME says where it is)"
            raise OSError(error.errno, f"{what}: {error.strerror}", error.filename) from error

    def put(self, folder: str, name: str, data: bytes) -> None:
        """Write a file of a folder atomically."""
        with self.explaining():
            _put(self.folder(folder), name, data)

    def close(self) -> None:
        with self._lock:
            for fd in (*self._open.values(), *self._deleted):
                with contextlib.suppress(OSError):
                    os.close(fd)
            self._open.clear()
            self._deleted.clear()
            if self._held is not None:
                os.close(self._held)
                self._held = None


def _move(source: str, target: str) -> None:
    """Move what belongs to one workspace from a state folder to another."""
    with contextlib.suppress(FileNotFoundError):
        for name in set(os.listdir(source)) - {LOCK, WORKSPACE, _IDENTITY, _FORMER, _ROOTS}:
            os.makedirs(target, mode=0o700, exist_ok=True)
            os.rename(os.path.join(source, name), os.path.join(target, name))


class _Kept(NamedTuple):
    path: str
    used: float
    size: int


def sweep(above: str) -> list[str]:
    """Remove what is not needed of the state folders in `above`; the names of those that were."""
    import shutil

    removed = []
    kept: list[_Kept] = []
    for name in sorted(os.listdir(above)):
        path = os.path.join(above, name)
        if name.startswith(_GONE):
            shutil.rmtree(path, ignore_errors=True)  # of a sweep that was cut off
        elif _is_name(name) and os.path.isdir(path) and not os.path.islink(path):
            used = _last_use(path)
            if time.time() - used > _DAY and _is_gone(path, used) and _remove(path):
                removed.append(name)
            else:
                kept.append(_Kept(path, used, _size(path)))
    for one in _too_many(kept):
        if _remove(one.path):
            removed.append(os.path.basename(one.path))
    return removed


def _is_name(name: str) -> bool:
    workspace, _, digest = name.rpartition("-")
    return bool(workspace) and len(digest) == 16 and set(digest) <= set("0123456789abcdef")


def _too_many(kept: list[_Kept]) -> Iterator[_Kept]:
    """Those that are over the budget, the longest unused first; none that was used within a day."""
    count, size = len(kept), sum(one.size for one in kept)
    for one in sorted(kept, key=lambda one: one.used):
        if (count <= MAX_FOLDERS and size <= MAX_BYTES) or time.time() - one.used < _DAY:
            return
        count, size = count - 1, size - one.size
        yield one


def _is_gone(path: str, used: float) -> bool:
    """Whether the workspace is no more. If its disk is not there, only after a long time."""
    try:
        with open(os.path.join(path, WORKSPACE), encoding="utf-8", errors="surrogateescape") as file:
            workspace, _, device = file.read().rpartition("\n")
    except OSError:
        return time.time() - used > _UNMOUNTED_SECONDS  # made before these were written
    if os.path.isdir(workspace):
        return False
    there = os.path.dirname(workspace)
    while not os.path.isdir(there):
        there = os.path.dirname(there)
    return str(os.stat(there).st_dev) == device or time.time() - used > _UNMOUNTED_SECONDS


def _last_use(path: str) -> float:
    """When something in it was last changed, as far as its folders tell."""
    latest = os.stat(path).st_mtime
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                latest = max(latest, entry.stat(follow_symlinks=False).st_mtime)
    return latest


def _size(path: str) -> int:
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _remove(path: str) -> bool:
    """Remove a state folder that no process holds."""
    import fcntl
    import shutil

    gone = os.path.join(os.path.dirname(path), f"{_GONE}{os.urandom(8).hex()}")
    try:
        fd = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(path, gone)
        finally:
            os.close(fd)
    except OSError:
        return False
    shutil.rmtree(gone, ignore_errors=True)
    return True


def _put(fd: int, name: str, data: bytes) -> None:
    draft = f".{os.getpid()}.{os.urandom(4).hex()}"
    try:
        made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=fd)
        with os.fdopen(made, "wb") as file:
            file.write(data)
        os.replace(draft, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=fd)
        raise
