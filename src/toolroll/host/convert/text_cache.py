"""Cache of the texts of documents, by content: what was converted once is shown and searched at once."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from toolroll.host.convert.formats import READERS_VERSION
from toolroll.host.files import spill
from toolroll.host.files.versions import digest
from toolroll.host.runtime.state import State

_FOLDER = "documents"
_MAX_BYTES = 100_000_000


class CachedText(msgspec.Struct, array_like=True):
    """What a conversion gave: the title, the notes, and each part with its page and title."""

    title: str
    notes: list[str]
    parts: list[tuple[str, int, str]]


class TextCache:
    """Texts of one workspace, in its state folder. The longest unused go when there are too many."""

    def __init__(self, state: State) -> None:
        self._state = state

    def find(self, data: bytes, reader: str) -> CachedText | None:
        """The text that this reader gave for a content; None if it is not known."""
        try:
            folder, name = self._state.folder(_FOLDER), _name(data, reader)
            with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
                os.utime(file.fileno())
                return msgspec.json.decode(file.read(), type=CachedText)
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, data: bytes, reader: str, text: CachedText) -> None:
        """Keep a text if there is room for it; nothing depends on that."""
        kept = msgspec.json.encode(text)
        with suppress(OSError):
            spill.sweep(self._state.folder(_FOLDER), _MAX_BYTES - len(kept))
            self._state.put(_FOLDER, _name(data, reader), kept)


def _name(data: bytes, reader: str) -> str:
    return f"{digest(data).hex()}-{reader}-{READERS_VERSION}"
