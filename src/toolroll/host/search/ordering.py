"""In which order the files of an answer are shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolroll.host.search.query import Entry, Ground, Sort


def about(ground: Ground, path: str) -> os.stat_result | None:
    """What a file is like now; None if it is gone."""
    try:
        return os.stat(path, dir_fd=ground.fd, follow_symlinks=False)
    except OSError:
        return None


def by_age(ground: Ground, names: Iterable[str], sort: str) -> list[str]:
    """The files that these names from the searched folder are of, newest first or by path."""

    def age(path: str) -> tuple[int, str]:
        known = ground.ages.get(path)
        if known is not None:
            return known, path
        found = about(ground, path)
        return -found.st_mtime_ns if found else 0, path

    return sorted(names) if sort == "path" or ground.is_file else sorted(names, key=age)


def ordered(entries: Sequence[Entry], sort: Sort) -> list[Entry]:
    """The same entries in order."""
    if sort == "modified":
        return sorted(entries, key=lambda entry: (-entry.mtime, entry.path))
    if sort == "size":
        return sorted(entries, key=lambda entry: (-entry.size, entry.path))
    if sort == "name":
        return sorted(entries, key=lambda entry: (entry.path.rpartition("/")[2], entry.path))
    return sorted(entries, key=lambda entry: entry.path)
