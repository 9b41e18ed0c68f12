"""Which objects the packs of a repository hold, by their index files."""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from contextlib import suppress

_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = struct.Struct(">256I")
_START = len(_MAGIC) + _FANOUT.size
_TRAILER = 2  # hashes at the end: of the pack and of the index
_MAX_BYTES = 256 << 20


class PackIndex:
    """The sorted names of the objects of one pack."""

    def __init__(self, data: bytes, size: int) -> None:
        """`size` is that of a name in bytes. ValueError for what is no index of version 2, which git writes."""
        if not data.startswith(_MAGIC) or len(data) < _START + _TRAILER * size:
            raise ValueError("this is no index of a pack")
        self._count: int = _FANOUT.unpack_from(data, len(_MAGIC))[-1]
        self._size = size
        self._data = data
        if len(data) < _START + self._count * (size + 8) + _TRAILER * size:
            raise ValueError("the index of the pack is cut off")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        at = _START + number * self._size
        return self._data[at : at + self._size]

    def __contains__(self, name: bytes) -> bool:
        at = bisect_left(self, name)
        return at < self._count and self[at] == name


def read_indexes(folder: int, names: list[str]) -> list[PackIndex]:
    """The indexes of the packs among these names of a folder; those that cannot be read are left out."""
    found = []
    for name in names:
        stem, _, kind = name.partition(".")
        if kind != "idx" or f"{stem}.pack" not in names:
            continue
        with suppress(OSError, ValueError):
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(fd, "rb") as file:
                found.append(PackIndex(file.read(_MAX_BYTES), len(stem.removeprefix("pack-")) // 2))
    return found
