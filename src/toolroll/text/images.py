"""Which files are pictures that a model can be shown."""

from __future__ import annotations

MOST_BYTES = 5_000_000
_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


def mime_type(path: str) -> str | None:
    """The picture's type by its name, or None for other files."""
    dot = path.rfind(".")
    return _TYPES.get(path[dot:].lower()) if dot >= 0 else None
