"""Stamps of files and folders: the fields of `stat` that show a change."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

Stamp = tuple[int, ...]

SETTLED_NS = 100_000_000  # two changes within this time may carry the same timestamp


def take_stamp(folder: int, path: str) -> Stamp | None:
    """The stamp of a path beneath a folder; None if nothing is there. A link is not followed at the end."""
    try:
        status = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return (
        status.st_mode,
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def take_stamps(folder: int, paths: Iterable[str]) -> list[Stamp | None]:
    """The stamps of many paths."""
    return [take_stamp(folder, path) for path in paths]


def are_old(found: Iterable[Stamp | None]) -> bool:
    """Whether the next change of each of these is certain to change its stamp."""
    latest = time.time_ns() - SETTLED_NS
    return all(one is None or one[5] < latest for one in found)
