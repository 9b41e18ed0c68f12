"""The workspace folders (roots) that a client declares."""

from __future__ import annotations

import os
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit


def find_folder(uris: Iterable[str]) -> str | None:
    """The first of these URIs that is a folder on this machine."""
    for uri in uris:
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and "\0" not in path and os.path.isdir(path):
            return os.path.abspath(path)
    return None
