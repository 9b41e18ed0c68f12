"""The environment of a language server."""

from __future__ import annotations

import os


def environment() -> dict[str, str]:
    """What a server gets of our environment: where programs are, and where it may keep what is its own."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
    }
