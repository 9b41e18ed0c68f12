"""Packs: many contents in one file, where a file for each of them would cost more than the contents."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

import msgspec

from toolroll.host.files.versions import digest

PACK = ".pack"
"""How the names of packs end."""
_TAIL = 8  # bytes at the end of a pack: how long the index before them is
_Index = Mapping[str, tuple[int, int]]  # by name: where a content begins, and its size


class ContentPacks:
    """The packs of a folder, to which several processes may add some. A pack never changes."""

    def __init__(self, folder: Callable[[], int]) -> None:
        self._folder = folder
        self._indexes: dict[str, _Index] = {}

    def add(self, contents: Mapping[str, bytes]) -> None:
        """Keep contents by their names in a new pack."""
        pack, folder = os.urandom(12).hex() + PACK, self._folder()
        index, start = {}, 0
        for name, data in contents.items():
            index[name] = start, len(data)
            start += len(data)
        listed, draft = msgspec.msgpack.encode(index), f"{pack}.draft"
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
            with os.fdopen(fd, "wb") as file:
                file.writelines((*contents.values(), listed, len(listed).to_bytes(_TAIL, "little")))
            os.rename(draft, pack, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            raise
        self._indexes[pack] = index

    def read(self, name: str) -> bytes | None:
        """A content; None if no pack has it."""
        pack = self._find(name)
        if pack is None:
            return None
        start, size = self._indexes[pack][name]
        with suppress(FileNotFoundError), open(self._open(pack), "rb") as file:
            return os.pread(file.fileno(), size, start)
        return None

    def touch(self, name: str) -> bool:
        """Whether a pack has a content; that pack then counts as new."""
        pack = self._find(name)
        if pack is not None:
            with suppress(FileNotFoundError):
                os.utime(pack, dir_fd=self._folder())
                return True
        return False

    def has_any(self, pack: str, names: Collection[str]) -> bool:
        """Whether a pack has one of these contents."""
        self._look()
        return not self._indexes.get(pack, {}).keys().isdisjoint(names)

    def damaged(self, *, repair: bool) -> list[str]:
        """The names of contents that are not what they were; with `repair` they are removed."""
        self._look()
        names = {name for index in self._indexes.values() for name in index}
        bad = sorted(one for one in names if (data := self.read(one)) is None or digest(data).hex() != one)
        if repair:
            self.forget(set(bad))
        return bad

    def forget(self, names: Collection[str]) -> None:
        """Write the packs that have some of these contents again, without them."""
        self._look()
        for pack, index in list(self._indexes.items()):
            if not index.keys().isdisjoint(names):
                rest = {name: data for name in index.keys() - names if (data := self.read(name)) is not None}
                if rest:
                    self.add(rest)
                os.unlink(pack, dir_fd=self._folder())
                del self._indexes[pack]

    def __contains__(self, name: str) -> bool:
        """Whether one of the packs that were read already has a content."""
        return any(name in index for index in self._indexes.values())

    def _find(self, name: str) -> str | None:
        """The pack that has a content."""
        if name not in self:
            self._look()
        return next((pack for pack, index in self._indexes.items() if name in index), None)

    def _look(self) -> None:
        """Read the indexes of packs that came since, and forget those that are gone."""
        now = {name for name in os.listdir(self._folder()) if name.endswith(PACK)}
        self._indexes = {pack: index for pack, index in self._indexes.items() if pack in now}
        for pack in now - self._indexes.keys():
            with suppress(OSError, msgspec.DecodeError), open(self._open(pack), "rb") as file:
                end = os.fstat(file.fileno()).st_size - _TAIL
                size = int.from_bytes(os.pread(file.fileno(), _TAIL, end), "little")
                listed = os.pread(file.fileno(), size, end - size) if size <= end else b""
                self._indexes[pack] = msgspec.msgpack.decode(listed, type=dict[str, tuple[int, int]])

    def _open(self, pack: str) -> int:
        return os.open(pack, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._folder())
