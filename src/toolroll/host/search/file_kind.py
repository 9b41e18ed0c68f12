"""Classify files before a search: text, binary, too big."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from toolroll.host.search.query import SearchRoot

FileKind = Literal["text", "binary", "too big", "unreadable", "gone"]
SEARCHABLE: tuple[FileKind, ...] = ("text", "unreadable")
"""Kinds that can be named to ripgrep: it takes all files for text, and counts those that it cannot read."""

_BLOCK = 1 << 20
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # which says nothing about the file


def classify_file(root: SearchRoot, path: str, max_bytes: int) -> FileKind:
    """The kind of a file, by its path in the searched folder; "gone" if that leads out of it. Notes its age."""
    try:
        fd = root.open(path)
    except PermissionError:
        return "unreadable"
    except OSError as error:
        if error.errno in _OUT_OF_RESOURCES:
            raise
        return "gone"
    try:
        about = os.fstat(fd)
        root.ages[path] = -about.st_mtime_ns
        if about.st_size > max_bytes:
            return "too big"
        return "binary" if is_binary(fd, about.st_size) else "text"
    except OSError:
        return "unreadable"
    finally:
        os.close(fd)


def is_binary(fd: int, size: int = _BLOCK) -> bool:
    """Whether a file holds a NUL character, in UTF-16 too; `size` bytes are likely to be all of it."""
    step = size + 2 - size % 2 if size < _BLOCK else _BLOCK
    at, block = 0, os.pread(fd, step, 0)
    if b"\0" not in block and len(block) < step:  # nearly all
        return False
    wide = block.startswith((b"\xff\xfe", b"\xfe\xff"))
    while block:
        if b"\0" in block and (not wide or _has_wide_nul(block)):
            return True
        at += len(block)
        block = os.pread(fd, _BLOCK, at)
    return False


def _has_wide_nul(block: bytes) -> bool:
    return 0 in memoryview(block)[: len(block) & ~1].cast("H")
