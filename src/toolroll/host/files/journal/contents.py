"""The contents that journal entries need, by their digests: whole, as differences, or many in one pack."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import msgspec

from toolroll.host.files.journal.entry import PathState
from toolroll.host.files.journal.packs import PACK, ContentPacks
from toolroll.host.files.reader import read_all
from toolroll.host.files.versions import digest
from toolroll.host.runtime.dir_entries import reopen
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import common_ends

_BLOBS = "journal/blobs"
_MOST_BYTES = 1_000_000_000  # the oldest go first
_LARGE = 65_536  # bytes from which on it pays to look for what is alike
_PART = 8  # a difference may be this part of the content
_DELTA = ".delta"
_MANY = 20  # contents that are kept in one file


@dataclass(frozen=True, slots=True)
class _Delta:
    """A content as another one, kept whole, that differs between its first and its last bytes."""

    root: str
    head: int
    tail: int
    middle: bytes = b""


class Blobs:
    """Contents by their digests, in the state folder. Several processes may keep some."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._packs = ContentPacks(self._folder)
        self.needed: Callable[[], Collection[str]] = tuple
        """The names of contents that stay, however old they are."""

    def keep(self, data: bytes, known: bytes | None = None, like: tuple[str, bytes] | None = None) -> str:
        """Keep a content, whose digest may be known; the name it is found by again.

        `like` is another content, kept before, with its name: then the difference may do.
        """
        name = (known or digest(data)).hex()
        large = len(data) >= _LARGE
        if self._is_intact(name, data, large=large) and self._still(name, large=large):
            return name
        delta = self._difference(data, *like) if large and like is not None else None
        if delta is None:
            self._state.put(_BLOBS, name, data)
        else:
            self._state.put(_BLOBS, name + _DELTA, msgspec.msgpack.encode(delta))
            self._still(delta.root, large=False)  # later than what hangs on it, so that it is not the first to go
        return name

    def keep_many(self, contents: Mapping[str, bytes]) -> None:
        """Keep contents, given by their digests; many of them in one file."""
        if len(contents) < _MANY:
            for name, data in contents.items():
                self.keep(data, bytes.fromhex(name))
            return
        new = {name: data for name, data in contents.items() if name not in self._packs}
        if new:
            with self._state.explaining():
                self._packs.add(new)

    def content(self, name: str) -> bytes:
        """A content that was kept, to the byte; ToolError when it is kept no longer, or damaged."""
        data = self._rebuilt(name)
        if data is None:
            raise ToolError(
                ErrorCode.NOT_FOUND, "The journal no longer keeps that content: it is too old, or was forgotten."
            )
        if digest(data).hex() != name:
            raise ToolError(ErrorCode.IO, "The journal's copy of that content is damaged, so it is not put back.")
        return data

    def keeps(self, state: PathState) -> bool:
        """Whether what stood at a path can be put back: of a file, its content is kept."""
        return not state.is_lost and (state.kind != "file" or self._still(state.content, large=True))

    def damaged(self, *, repair: bool) -> list[str]:
        """The names of contents whose bytes are not what they were; with `repair` those files are removed.

        What is removed is kept again as soon as a file has that content.
        """
        if not os.path.isdir(os.path.join(self._state.path, _BLOBS)):
            return []
        folder = self._folder()
        with reopen(folder) as listed:
            files = sorted(os.listdir(listed))
        bad = []
        for file in (one for one in files if not one.startswith(".") and not one.endswith((PACK, ".draft"))):
            name = file.removesuffix(_DELTA)
            data = self._rebuilt(name)
            if data is None or digest(data).hex() != name:
                bad.append(name)
                if repair:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(file, dir_fd=folder)
        return bad + self._packs.damaged(repair=repair)

    def forget(self, names: Collection[str]) -> int:
        """Remove contents for good; how many there were."""
        folder, known = self._folder(), {name for name in names if self._rebuilt(name) is not None}
        with reopen(folder) as listed:
            deltas = [one.removesuffix(_DELTA) for one in os.listdir(listed) if one.endswith(_DELTA)]
        for name in deltas:  # what differs from one of them is kept whole
            delta = self._delta(name)
            if delta is not None and delta.root in known and name not in known and (data := self._rebuilt(name)):
                self._state.put(_BLOBS, name, data)
                os.unlink(name + _DELTA, dir_fd=folder)
        self._packs.forget(known)
        for name in known:
            for file in (name, name + _DELTA):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file, dir_fd=folder)
        return len(known)

    def sweep(self) -> None:
        """Let the oldest contents go when there are too many."""
        folder = self._folder()
        with reopen(folder) as listed, os.scandir(listed) as found:
            kept = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.name) for entry in found)
        total = sum(size for _, size, _ in kept)
        needed = self.needed() if total > _MOST_BYTES else ()
        for _, size, name in kept:
            if total <= _MOST_BYTES:
                return
            if name in needed or (name.endswith(PACK) and self._packs.has_any(name, needed)):
                continue
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            total -= size

    def _is_intact(self, name: str, data: bytes, *, large: bool) -> bool:
        """Whether this content is kept as it is; to look for a small one in packs costs more than to keep it again."""
        return (self._rebuilt(name) if large else self._read(name)) == data

    def _rebuilt(self, name: str) -> bytes | None:
        """What is kept under a name, right or damaged."""
        data = self._whole(name)
        if data is None and (delta := self._delta(name)) is not None:
            root = self._whole(delta.root)
            data = None if root is None else root[: delta.head] + delta.middle + root[len(root) - delta.tail :]
        return data

    def _still(self, name: str, *, large: bool) -> bool:
        """Whether a content is kept; it then counts as new."""
        if self._touch(name) or self._packs.touch(name):
            return True
        delta = self._delta(name) if large else None
        return delta is not None and self._touch(name + _DELTA) and self._still(delta.root, large=False)

    def _difference(self, data: bytes, name: str, other: bytes) -> _Delta | None:
        """The content as a difference, if it is a small one, from the other or from what that one differs from."""
        head, tail = common_ends(other, data)
        root = name
        if (above := self._delta(name)) is not None:
            root, head, tail = above.root, min(head, above.head), min(tail, above.tail)
        if len(data) - head - tail > len(data) // _PART:
            return None
        return _Delta(root, head, tail, data[head : len(data) - tail])

    def _whole(self, name: str) -> bytes | None:
        data = self._read(name)
        return data if data is not None else self._packs.read(name)

    def _delta(self, name: str) -> _Delta | None:
        data = self._read(name + _DELTA)
        with contextlib.suppress(msgspec.DecodeError):
            return None if data is None else msgspec.msgpack.decode(data, type=_Delta)
        return None

    def _folder(self) -> int:
        return self._state.folder(_BLOBS)

    def _touch(self, file: str) -> bool:
        with contextlib.suppress(FileNotFoundError):
            os.utime(file, dir_fd=self._folder())
            return True
        return False

    def _read(self, file: str) -> bytes | None:
        try:
            fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._folder())
        except FileNotFoundError:
            return None
        try:
            return read_all(fd, os.fstat(fd).st_size)
        finally:
            os.close(fd)
