"""A view of a folder by overlayfs: made by one mount, and all that was changed lies in one folder.

For root, and for an ordinary user in a process that has called `allow_overlays`.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import FileIO
from typing import NamedTuple

from toolroll.host.forks.tree_copy import open_folder
from toolroll.host.linux import IS_LINUX, listxattr, removexattr, setxattr
from toolroll.host.runtime.launcher import works_in_a_child
from toolroll.host.sandbox.syscalls import Kernel, machine

_SPECIAL = re.compile(r"[,:\\\s]")  # would end a value of the mount's options
_DETACH = 2
_COARSE = 5  # CLOCK_REALTIME_COARSE: the clock that the kernel stamps files by
_WHOLE = {f"{kind}.overlay.{name}" for kind in ("trusted", "user") for name in ("opaque", "redirect")}
_ORIGIN = {"trusted.overlay.origin", "user.overlay.origin"}
_NEW_MOUNTS = 0x20000
_NEW_USERS_AND_MOUNTS = 0x10000000 | _NEW_MOUNTS
_RECEIVE_ONLY = 0x4000 | 0x80000  # MS_REC, MS_SLAVE
_CAPABILITIES_V3 = 0x20080522
_ADMIN = 1 << 21
_ALL = 0xFFFFFFFF
_NOBODY = 65534  # whom files of users seem to belong to that a namespace does not know


def allow_overlays() -> str:
    """Let an ordinary user's process mount overlays; why it cannot, or an empty text. Root needs no call.

    It must be called before the process has other threads. The process then is in a namespace of users and mounts of
    its own: forks can be seen in it and in what it starts, files of other users seem to belong to nobody, and
    programs such as sudo gain no rights.
    """
    if _can_mount():
        return ""
    if not IS_LINUX:
        return "overlays need Linux"
    if len(os.listdir("/proc/self/task")) > 1:
        return "the process has several threads already"
    if not works_in_a_child(_enter_namespace):  # a process cannot leave a namespace that is of no use
        return "the system lets this user make no namespace"
    _enter_namespace()
    return ""


def _enter_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    _kernel().call("unshare", _NEW_USERS_AND_MOUNTS)
    maps = {"setgroups": b"deny", "uid_map": b"%d %d 1" % (user, user), "gid_map": b"%d %d 1" % (group, group)}
    for name, text in maps.items():
        with open(f"/proc/self/{name}", "wb") as file:
            file.write(text)
    _set_effective(0)  # files are opened with no more rights than before


def separate_mounts() -> None:
    """Keep what root mounts from now on for this process and those that it starts; without effect where that fails.

    The mounts then end with the process, however it ends. They do not lengthen the machine's table of mounts, which the
    kernel bounds and systemd reads at each change. It must be called before the process has other threads.
    """
    if IS_LINUX and os.geteuid() == 0 and len(os.listdir("/proc/self/task")) == 1:
        with suppress(OSError):
            _kernel().call("unshare", _NEW_MOUNTS)
            _kernel().call("mount", b"none\0", b"/\0", 0, _RECEIVE_ONLY, 0)


def _can_mount() -> bool:
    """Whether this process is root, or in a namespace of its own."""
    if os.geteuid() == 0:
        return True
    with suppress(OSError), open("/proc/self/status", encoding="utf-8", errors="replace") as file:
        return any(int(line.split()[1], 16) & _ADMIN for line in file if line.startswith("CapPrm:"))
    return False


def _set_effective(rights: int) -> None:
    header = struct.pack("<II", _CAPABILITIES_V3, 0)
    permitted = struct.pack("<I", _ALL)
    _kernel().call("capset", header, (struct.pack("<I", rights) + permitted + b"\0" * 4) * 2)


@contextmanager
def _all_rights() -> Iterator[None]:
    """Let the calling thread use the rights that the process has in its namespace."""
    if os.geteuid() == 0:
        yield
        return
    _set_effective(_ALL)
    try:
        yield
    finally:
        _set_effective(0)


class MountTable:
    """The mounts of this process. With many forks it is long, so it is read again only after others changed it."""

    def __init__(self) -> None:
        self._file: FileIO | None = None
        self._rows = b""

    def has_mounts_in(self, folder: str) -> bool:
        """Whether something is mounted beneath a folder."""
        if self._file is None:
            self._file = open("/proc/self/mountinfo", "rb", buffering=0)  # noqa: SIM115
            self._rows = self._file.readall()
        elif self.take_change():
            self._file.seek(0)
            self._rows = self._file.readall()
        return b" %s/" % os.fsencode(folder) in self._rows

    def take_change(self) -> bool:
        """Whether it has changed since the last call: after a mount of our own that need not be looked at."""
        if self._file is None:
            return False
        changes = select.poll()
        changes.register(self._file, select.POLLPRI)
        return bool(changes.poll(0))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def why_not(workspace: str, mounts: MountTable) -> str:
    """Why a workspace cannot be seen through an overlay, in words; empty if that may be tried."""
    if not IS_LINUX:
        return "overlays need Linux"
    if not _can_mount():
        return "an ordinary user's program must call toolroll.allow_overlays() first; `toolroll try` does"
    if _SPECIAL.search(workspace):
        return "the path of the workspace holds a comma, colon, backslash or space"
    return "other file systems are mounted in the workspace" if mounts.has_mounts_in(workspace) else ""


def mount(lower: str, upper: str, work: str, target: str) -> None:
    """Show `lower` at `target`, with all changes kept in `upper`; OSError if the kernel does not."""
    try:
        _try_attribute(upper, "trusted.toolroll")
        kind = "redirect_dir=on,index=off,metacopy=off"
    except PermissionError:  # an ordinary user, or root of a namespace, as in a rootless container
        _try_attribute(upper, "user.toolroll")
        kind = "userxattr"
    how = f"lowerdir={lower},upperdir={upper},workdir={work},{kind},volatile"
    with _all_rights():
        _kernel().call("mount", b"overlay\0", os.fsencode(target) + b"\0", b"overlay\0", 0, how.encode() + b"\0")


def _try_attribute(upper: str, name: str) -> None:
    """OSError where it cannot be set: without attributes the kernel mounts it, and then cannot replace a folder."""
    with _all_rights():
        setxattr(upper, name, b"")
        removexattr(upper, name)


def unmount(target: str) -> None:
    """Unmount a view, also while processes use it; nothing if there is none."""
    if os.path.ismount(target):
        with suppress(OSError), _all_rights():
            _kernel().call("umount2", os.fsencode(target) + b"\0", _DETACH)


@cache
def _kernel() -> Kernel:
    found = machine()
    if found is None:
        raise OSError(errno.ENOSYS, "overlays need Linux")
    return Kernel(found.numbers)


def wait_beyond(moment: int) -> None:
    """Wait until the clock that files are stamped by is later than this time in ns."""
    while time.clock_gettime_ns(_COARSE) <= moment:
        time.sleep(0.0005)


def has_foreign_owner(folder: str) -> bool:
    """Whether a file beneath a folder has an owner or group that the namespace of this process does not know.

    Such a file cannot be written to in an overlay.
    """
    own, is_root = (os.geteuid(), os.getegid()), os.geteuid() == 0
    if is_root and _knows_all_users():
        return False
    above = [folder]
    while above:
        with suppress(PermissionError), os.scandir(above.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                owner = found.st_uid, found.st_gid
                if _NOBODY in owner if is_root else owner != own:
                    return True
                if stat.S_ISDIR(found.st_mode):
                    above.append(entry.path)
    return False


def _knows_all_users() -> bool:
    """Whether this process is in no namespace of users, or in one that has all of them."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return file.read().split() == ["0", "0", str(_ALL)]


class ChangedPath(NamedTuple):
    """A path in the upper folder, with the status of what is there."""

    path: str
    is_whole: bool
    """Whether all beneath it counts as changed. So it does of a file, which may hide a folder."""
    status: os.stat_result


def list_changed(upper: int, prefix: str = "") -> Iterator[ChangedPath]:
    """What is in the upper folder, a folder before what is in it."""
    for name in os.listdir(upper):
        path = f"{prefix}{name}"
        status = os.stat(name, dir_fd=upper, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            yield ChangedPath(path, True, status)
            continue
        with open_folder(name, upper) as inner:
            whole = any(one in _WHOLE for one in listxattr(inner))
            yield ChangedPath(path, whole, status)
            yield from list_changed(inner, f"{path}/")


def was_copied_up(path: str) -> bool:
    """Whether a file of the upper folder was in the lower one before, there or by another name."""
    with suppress(OSError):
        return not os.path.isdir(path) and not _ORIGIN.isdisjoint(listxattr(path, follow_symlinks=False))
    return False
