"""Plan bubblewrap mounts that lock or hide paths inside the folders of a command.

A mount point cannot be renamed or removed, but the folders above it can. So every folder between one that the command
may change and a path that is locked or hidden is mounted upon itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from toolroll.host.files.openat import PATH, STEP
from toolroll.host.files.system import ETC, system
from toolroll.host.runtime.launcher import AccessRules, is_beneath
from toolroll.host.sandbox.mount_plan import resolve_paths
from toolroll.result import ErrorCode, ToolError

How = Literal["pin", "lock", "hide", "open"]
_ORDER = ("pin", "lock", "hide", "open")


@dataclass(frozen=True, slots=True)
class Cover:
    """One mount: where it is, how, and a descriptor of what is there."""

    path: str
    how: How
    fd: int


def plan_covers(access: AccessRules, stack: ExitStack) -> list[Cover]:
    """The mounts that lock and hide what the access says; descriptors are closed with the stack.

    In the order in which they are made: what holds folders in place, then what is locked, then what is hidden, then
    folders of the command's own inside those.
    """
    own = (*system().folders, ETC) if access.system else ()
    changed, seen = resolve_paths(access.write), resolve_paths((*access.write, *access.read, *own))
    found = [one for path in access.lock for one in _cover(path, "lock", changed, stack)]
    found += (one for path in access.hide for one in _cover(path, "hide", seen, stack))
    found = [one for one in found if one.how != "pin" or any(is_beneath(one.path, folder) for folder in changed)]
    hidden = [one.path for one in found if one.how == "hide"]
    inner = [folder for folder in changed if any(is_beneath(folder, path) for path in hidden)]
    found += (Cover(folder, "open", _opened(folder, stack)) for folder in inner)
    once = {(one.how, one.path): one for one in found}
    return sorted(once.values(), key=lambda one: (_ORDER.index(one.how), one.path.split("/")))


def words(found: Iterable[Cover], *, by_descriptor: bool) -> list[str]:
    """The arguments of bubblewrap for these mounts."""
    made: list[str] = []
    sealed: list[str] = []
    for one in found:
        if one.how == "hide" and stat.S_ISDIR(os.fstat(one.fd).st_mode):
            made += ("--tmpfs", one.path)
            sealed += ("--remount-ro", one.path)
        elif one.how == "hide":
            made += ("--ro-bind", os.devnull, one.path)
        else:
            option = "--ro-bind" if one.how == "lock" else "--bind"
            made += (f"{option}-fd", str(one.fd), one.path) if by_descriptor else (option, one.path, one.path)
    return [*made, *sealed]


def _cover(path: str, how: How, inside: list[str], stack: ExitStack) -> Iterator[Cover]:
    """The mount for a path that is there and inside one of these folders, and those that hold the folders above."""
    try:
        above = _opened(os.path.dirname(path), stack)
        fd = os.open(os.path.basename(path), PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    except OSError:
        return  # there is nothing to change or see
    stack.callback(os.close, fd)
    folder = os.readlink(f"/proc/self/fd/{above}")
    tops = [one for one in inside if is_beneath(folder, one)]
    if not tops:
        return
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        if how == "hide":
            return  # what it leads to is hidden where that is
        raise ToolError(
            ErrorCode.SECURITY,
            f"The command was not started: toolroll itself is reached through the link {path!r}, which a command could "
            "replace. Install toolroll outside the workspace (uv tool install toolroll, or pipx install toolroll).",
        )
    top = min(tops, key=len)
    while is_beneath(folder, top) and folder != top:
        yield Cover(folder, "pin", _opened(folder, stack))
        folder = os.path.dirname(folder)
    yield Cover(f"{os.readlink(f'/proc/self/fd/{above}').rstrip('/')}/{os.path.basename(path)}", how, fd)


def _opened(folder: str, stack: ExitStack) -> int:
    fd = os.open(folder, STEP)
    stack.callback(os.close, fd)
    return fd
