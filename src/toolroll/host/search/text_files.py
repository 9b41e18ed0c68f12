"""Whether a file is one for a search: text, and not too large. It is told by a look at all of it, as ripgrep would."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from toolroll.host.search.query import Ground

Sort = Literal["text", "binary", "too big", "unreadable", "gone"]

SEARCHABLE: tuple[Sort, ...] = ("text", "unreadable")
"""What can be given by its name to ripgrep, which takes all for text and counts what it may not read."""

_BLOCK = 1 << 20
_LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # which says nothing of the file


def sort_of(ground: Ground, path: str, max_bytes: int) -> Sort:
    """What sort of file is at a path from the searched folder; nothing is, if that leads out of it."""
    try:
        fd = ground.open(path)
    except PermissionError:
        return "unreadable"
    except OSError as error:
        if error.errno in _LACKING:
            raise
        return "gone"
    try:
        about = os.fstat(fd)
        ground.ages[path] = -about.st_mtime_ns
        if about.st_size > max_bytes:
            return "too big"
        return "binary" if is_binary(fd, about.st_size) else "text"
    except OSError:
        return "unreadable"
    finally:
        os.close(fd)


def is_text(ground: Ground, path: str, max_bytes: int) -> bool:
    """Whether what is at a path can be given by its name to ripgrep."""
    return sort_of(ground, path, max_bytes) in SEARCHABLE


def is_binary(fd: int, size: int = _BLOCK) -> bool:
    """Whether a file holds a NUL, in whatever encoding it says it is; `size` bytes are likely to be all of it."""
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
    return b"\0\0" in (block[at : at + 2] for at in range(0, len(block), 2))
