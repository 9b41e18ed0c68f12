"""Whether a file is one for a search: text, and not too large. It is told by a look at all of it, as ripgrep would."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from toolroll.host.query import Ground

Sort = Literal["text", "binary", "too big", "unreadable", "gone"]

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
    """Whether a file can be given by its name to ripgrep, which takes all for text and counts what it may not read."""
    return sort_of(ground, path, max_bytes) in ("text", "unreadable")


def is_binary(fd: int, size: int = _BLOCK) -> bool:
    """Whether a file holds a NUL, in whatever encoding it says it is; `size` bytes are likely to be all of it."""
    at, wide, step = 0, False, min(size + 2 - size % 2, _BLOCK)
    while block := os.pread(fd, step, at):
        wide = wide or (at == 0 and block.startswith((b"\xff\xfe", b"\xfe\xff")))
        if b"\0" in block and (not wide or _has_wide_nul(block)):
            return True
        if len(block) < step:
            break
        at, step = at + step, _BLOCK
    return False


def _has_wide_nul(block: bytes) -> bool:
    return b"\0\0" in (block[at : at + 2] for at in range(0, len(block), 2))
