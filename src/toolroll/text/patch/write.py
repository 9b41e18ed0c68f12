"""Write file changes as one patch for `git apply` and the `patch` tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from toolroll.text.diff import CONTEXT, Block, near_blocks

_MOST_BYTES = 5_000_000  # of a file that is shown as a diff
_NEEDS_QUOTING = re.compile(r'[\x00-\x1f"\\\x7f\udc80-\udcff]')


class FileVersions(NamedTuple):
    """A file before and after a change. None stands for no file."""

    path: str
    before: bytes | None
    after: bytes | None
    mode_before: int = 0o644
    mode_after: int = 0o644

    @property
    def binary(self) -> bool:
        """Whether it is no text that a diff could show."""
        return any(one is not None and (b"\0" in one or len(one) > _MOST_BYTES) for one in (self.before, self.after))

    @staticmethod
    def text(content: bytes | None) -> str:
        return (content or b"").decode("utf-8", "surrogateescape")


def build_patch(changes: Iterable[FileVersions]) -> str:
    """One patch of all changes that a patch can hold; `list_omitted` names the others."""
    return "".join("".join(_build_lines(one)) for one in changes if not _is_unsupported(one))


def list_omitted(changes: Iterable[FileVersions]) -> list[str]:
    """Paths that no patch can hold: binary files, and names that would need quoting."""
    return [one.path for one in changes if _is_unsupported(one)]


def _is_unsupported(change: FileVersions) -> bool:
    return change.binary or bool(_NEEDS_QUOTING.search(change.path))


def _build_lines(change: FileVersions) -> Iterator[str]:
    path, old, new = change.path, change.before, change.after
    yield f"diff --git a/{path} b/{path}\n"
    if old is None:
        yield f"new file mode 100{change.mode_after:o}\n"
    elif new is None:
        yield f"deleted file mode 100{change.mode_before:o}\n"
    elif change.mode_before != change.mode_after:
        yield f"old mode 100{change.mode_before:o}\nnew mode 100{change.mode_after:o}\n"
    names = "/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}"
    # Without the tab, a name ends at its first space.
    first, second = (f"{name}\t" if " " in name else name for name in names)
    a, b = _split_lines(old), _split_lines(new)
    for at, near in enumerate(near_blocks(a, b)):
        yield "" if at else f"--- {first}\n+++ {second}\n"
        for line in _build_hunk(a, b, near):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _build_hunk(a: Sequence[str], b: Sequence[str], near: Sequence[Block]) -> Iterator[str]:
    before, after = min(CONTEXT, near[0][0]), min(CONTEXT, len(a) - near[-1][1])
    old, new = (_describe_range(near[0][side] - before, near[-1][side + 1] + after) for side in (0, 2))
    yield f"@@ -{old} +{new} @@\n"
    start = near[0][0] - before
    for i, j, k, m in near:
        yield from (f" {line}" for line in a[start:i])
        yield from (f"-{line}" for line in a[i:j])
        yield from (f"+{line}" for line in b[k:m])
        start = j
    yield from (f" {line}" for line in a[start : start + after])


def _describe_range(start: int, end: int) -> str:
    """Lines of a file, as the head of a hunk names them."""
    size = end - start
    return str(end) if size == 1 else f"{start + 1 if size else start},{size}"


def _split_lines(content: bytes | None) -> list[str]:
    """Lines with their ends. In a patch only a line feed ends a line."""
    *whole, last = (content or b"").decode("utf-8", "surrogateescape").split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]
