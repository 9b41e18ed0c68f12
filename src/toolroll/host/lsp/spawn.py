"""The environment of a language server."""

from __future__ import annotations

import os


def environment() -> dict[str, str]:
    """The variables that a server gets: where programs are, and its home folder."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
    }
