"""Names like one that is missing."""

from __future__ import annotations

import os

from toolroll.host.files.root import Root
from toolroll.result import ToolError

_MOST = 3
_LISTED = 5_000  # names of a folder that are compared


def near_names(root: Root, where: str) -> list[str]:
    """Up to three existing paths like a missing one, from the nearest folder above it that exists."""
    import difflib

    parts = root.text(where).split("/")
    for depth in range(len(parts) - 1, -1, -1):
        folder = "/".join(parts[:depth])
        try:
            fd = root.folder(folder or ".")
        except (OSError, ToolError):
            continue
        with os.scandir(fd) as found:
            names = [entry.name for entry, _ in zip(found, range(_LISTED), strict=False)]
        os.close(fd)
        near = difflib.get_close_matches(parts[depth], names, n=_MOST, cutoff=0.7)
        return [f"{folder}/{name}" if folder else name for name in near]
    return []
