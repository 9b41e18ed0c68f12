"""Notice that the source which this process has read is not the one that is installed now."""

from __future__ import annotations

import os
from collections.abc import Iterator

from toolroll.host.runtime.launcher import PACKAGE

_CACHE = "__pycache__"


class SourceStamp:
    """What the files of the package were when the process began."""

    def __init__(self, folder: str = PACKAGE) -> None:
        self._stamps = {path: _stamp(path) for path in _files(folder)}

    def has_changed(self) -> bool:
        """Whether a file has been changed, replaced or removed since then: about a millisecond."""
        return any(_stamp(path) != known for path, known in self._stamps.items())


def _files(folder: str) -> Iterator[str]:
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != _CACHE]
        yield from (os.path.join(path, name) for name in names)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        stamp = os.stat(path)
    except OSError:
        return None
    return stamp.st_mtime_ns, stamp.st_size, stamp.st_ino
