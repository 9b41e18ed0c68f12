"""Changes of files as one patch that `git apply` and the `patch` tool take."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolroll.host.files.copies import CopyChange

_ODD = re.compile(r'[\x00-\x1f"\\\x7f\udc80-\udcff]')


def patch(changes: Iterable[CopyChange]) -> str:
    """The patch of all changes that a patch can tell; others are left out (see `left_out`)."""
    return "".join("".join(_of(one)) for one in changes if not _cannot(one))


def left_out(changes: Iterable[CopyChange]) -> list[str]:
    """The paths of the changes that are in no patch: binary files, and names that would need quoting."""
    return [one.path for one in changes if _cannot(one)]


def _cannot(change: CopyChange) -> bool:
    return change.binary or bool(_ODD.search(change.path))


def _of(change: CopyChange) -> Iterator[str]:
    path, old, new = change.path, change.before, change.after
    yield f"diff --git a/{path} b/{path}\n"
    if old is None:
        yield f"new file mode 100{change.mode_after:o}\n"
    elif new is None:
        yield f"deleted file mode 100{change.mode_before:o}\n"
    elif change.mode_before != change.mode_after:
        yield f"old mode 100{change.mode_before:o}\nnew mode 100{change.mode_after:o}\n"
    names = "/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}"
    # A name with a space would end there without the tab.
    first, second = (f"{name}\t" if " " in name else name for name in names)
    for line in difflib.unified_diff(_lines(old), _lines(new), first, second):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: bytes | None) -> list[str]:
    """Lines with their ends; a line feed is the only end that patches know."""
    *whole, last = (content or b"").decode("utf-8", "surrogateescape").split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]
