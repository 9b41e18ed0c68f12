"""Removes the state of workspaces that are gone, and what was not used for longest when there is too much of it."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from toolroll.host.runtime.state import LOCK, WORKSPACE

MAX_FOLDERS, MAX_BYTES = 500, 2 << 30
_DAY = 86_400.0
_UNMOUNTED_SECONDS = 30 * _DAY  # a disk that is not mounted may come back
_NAME = re.compile(r".+-[0-9a-f]{16}", re.DOTALL)
_GONE = ".gone-"


@dataclass(frozen=True, slots=True)
class _Kept:
    path: str
    used: float
    size: int


def sweep(above: str) -> list[str]:
    """Remove what is not needed of the state folders in `above`; the names of those that were."""
    removed = []
    kept: list[_Kept] = []
    for name in sorted(os.listdir(above)):
        path = os.path.join(above, name)
        if name.startswith(_GONE):
            shutil.rmtree(path, ignore_errors=True)  # of a sweep that was cut off
        elif _NAME.fullmatch(name) and os.path.isdir(path) and not os.path.islink(path):
            used = _last_use(path)
            if time.time() - used > _DAY and _is_gone(path, used) and _remove(path):
                removed.append(name)
            else:
                kept.append(_Kept(path, used, _size(path)))
    for one in _too_many(kept):
        if _remove(one.path):
            removed.append(os.path.basename(one.path))
    return removed


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
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with suppress(OSError):
                latest = max(latest, entry.stat(follow_symlinks=False).st_mtime)
    return latest


def _size(path: str) -> int:
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _remove(path: str) -> bool:
    """Remove a state folder that no process holds."""
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
