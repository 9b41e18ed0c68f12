"""The contents that the journal needs: each is kept once, a large one that is like another as the difference."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass

import msgspec

from toolroll.host.files.digests import digest
from toolroll.host.files.document import read_all
from toolroll.host.runtime.state import State as Folder
from toolroll.result import ErrorCode, ToolError
from toolroll.text.diff import common_ends

_BLOBS = "journal/blobs"
_MOST_BYTES = 1_000_000_000  # the oldest go first
_LARGE = 1 << 16  # bytes from which on it pays to look for what is alike
_PART = 8  # a difference may be this part of the content
_DELTA = ".delta"


@dataclass(frozen=True, slots=True)
class _Delta:
    """A content as another one, kept whole, that differs between its first and its last bytes."""

    root: str
    head: int
    tail: int
    middle: bytes = b""


class Blobs:
    """Contents by their digests, in the state folder. Several processes may keep some."""

    def __init__(self, state: Folder) -> None:
        self._state = state

    def keep(self, data: bytes, known: bytes | None = None, like: tuple[str, bytes] | None = None) -> str:
        """Keep a content, whose digest may be known; the name it is found by again.

        `like` is another content, kept before, with its name: then the difference may do.
        """
        name = (known or digest(data)).hex()
        large = len(data) >= _LARGE
        if self._still(name, large):
            return name
        delta = self._difference(data, *like) if large and like is not None else None
        if delta is None:
            self._put(name, data)
        else:
            self._put(name + _DELTA, msgspec.msgpack.encode(delta))
            self._touch(delta.root)  # later than what hangs on it, so that it is not the first to go
        return name

    def content(self, name: str) -> bytes:
        """A content that was kept, to the byte; ToolError when it is kept no longer."""
        data = self._read(name)
        if data is None and (delta := self._delta(name)) is not None:
            root = self._read(delta.root) or b""
            data = root[: delta.head] + delta.middle + root[len(root) - delta.tail :]
        if data is None or digest(data).hex() != name:
            raise ToolError(ErrorCode.NOT_FOUND, "The journal no longer keeps that content; it is too old.")
        return data

    def sweep(self) -> None:
        """Let the oldest contents go when there are too many."""
        folder = self._folder()
        with os.scandir(folder) as found:
            kept = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.name) for entry in found)
        total = sum(size for _, size, _ in kept)
        for _, size, name in kept:
            if total <= _MOST_BYTES:
                return
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            total -= size

    def _still(self, name: str, large: bool) -> bool:
        """Whether a content is kept; it then counts as new."""
        if self._touch(name):
            return True
        delta = self._delta(name) if large else None
        return delta is not None and self._touch(name + _DELTA) and self._touch(delta.root)

    def _difference(self, data: bytes, name: str, other: bytes) -> _Delta | None:
        """The content as a difference, if it is a small one, from the other or from what that one differs from."""
        head, tail = common_ends(other, data)
        root = name
        if (above := self._delta(name)) is not None:
            root, head, tail = above.root, min(head, above.head), min(tail, above.tail)
        if len(data) - head - tail > len(data) // _PART:
            return None
        return _Delta(root, head, tail, data[head : len(data) - tail])

    def _delta(self, name: str) -> _Delta | None:
        data = self._read(name + _DELTA)
        return None if data is None else msgspec.msgpack.decode(data, type=_Delta)

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

    def _put(self, file: str, data: bytes) -> None:
        folder = self._folder()
        draft = f"{file}.{os.getpid()}.{threading.get_ident()}"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600, dir_fd=folder)
        with os.fdopen(fd, "wb", buffering=0) as whole:
            rest = memoryview(data)
            while rest:
                rest = rest[whole.write(rest) or 0 :]
        os.rename(draft, file, src_dir_fd=folder, dst_dir_fd=folder)
