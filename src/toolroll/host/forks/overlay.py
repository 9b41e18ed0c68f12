"""A view of a folder by overlayfs, for root: made by one mount, and all that was changed lies in one folder."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from toolroll.host.forks.tree_copy import open_folder
from toolroll.host.sandbox.syscalls import Kernel, machine

_SPECIAL = re.compile(r"[,:\\\s]")  # would end a value of the mount's options
_DETACH = 2
_COARSE = 5  # CLOCK_REALTIME_COARSE: the clock that the kernel stamps files by
_WHOLE = ("trusted.overlay.opaque", "trusted.overlay.redirect")
_ORIGIN = "trusted.overlay.origin"


def why_not(workspace: str) -> str:
    """Why a workspace cannot be seen through an overlay, in words; empty if that may be tried."""
    if sys.platform != "linux":
        return "overlays need Linux"
    if os.geteuid() != 0:
        return "overlays that the file tools see need root"
    if _SPECIAL.search(workspace):
        return "the path of the workspace holds a comma, colon, backslash or space"
    with open("/proc/self/mountinfo", "rb") as file:
        if b" %s/" % os.fsencode(workspace) in file.read():
            return "other file systems are mounted in the workspace"
    return ""


def mount(lower: str, upper: str, work: str, target: str) -> None:
    """Show `lower` at `target`, with all changes kept in `upper`; OSError if the kernel does not."""
    how = f"lowerdir={lower},upperdir={upper},workdir={work},redirect_dir=on,index=off,metacopy=off,volatile"
    _kernel().call("mount", b"overlay\0", os.fsencode(target) + b"\0", b"overlay\0", 0, how.encode() + b"\0")


def unmount(target: str) -> None:
    """Unmount a view, also while processes use it; nothing if there is none."""
    if os.path.ismount(target):
        with suppress(OSError):
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


def list_changed(upper: int, prefix: str = "") -> Iterator[tuple[str, bool]]:
    """The paths in the upper folder, and whether all beneath them counts as changed."""
    for name in os.listdir(upper):
        path = f"{prefix}{name}"
        status = os.stat(name, dir_fd=upper, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            yield path, True  # also where it hides a folder
            continue
        with open_folder(name, upper) as inner:
            whole = any(one in _WHOLE for one in os.listxattr(inner))
            yield path, whole
            yield from list_changed(inner, f"{path}/")


def was_copied_up(path: str) -> bool:
    """Whether a file of the upper folder was in the lower one before, there or by another name."""
    with suppress(OSError):
        return not os.path.isdir(path) and _ORIGIN in os.listxattr(path, follow_symlinks=False)
    return False
