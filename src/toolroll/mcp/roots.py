"""The folders that a client works in, as it names them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit


def folder_of(uris: Iterable[str]) -> str | None:
    """The first of these addresses that is a folder of this machine."""
    for uri in uris:
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and "\0" not in path and os.path.isdir(path):
            return os.path.abspath(path)
    return None
