"""Files sorted by age, kept sorted while they change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.search.query import FileEntry, writable

if TYPE_CHECKING:
    from toolroll.host.files.versions import Stamp

Wants = Callable[[str], object]
"""Whether a path relative to the workspace is wanted."""


class FilesByAge:
    """Some of the files of a table, newest first. Not thread-safe."""

    def __init__(self, aged: Iterable[tuple[int, str]], wants: Wants | None = None) -> None:
        """Takes sorted files, as age (less is newer) and path, and keeps those that are wanted."""
        self._wants = wants
        self.aged = [one for one in aged if wants(one[1])] if wants else list(aged)
        self._paths: list[str] | None = None
        self._lines: dict[tuple[int, int], str] = {}
        self._first: Sequence[FileEntry] = ()

    def move(self, path: str, before: Stamp | None, now: Stamp | None) -> None:
        """Note that a file was created (no stamp before), deleted (none now) or changed."""
        if self._wants is not None and not self._wants(path):
            return
        if before is not None:
            del self.aged[bisect_left(self.aged, (-before[3], path))]
        if now is not None:
            insort(self.aged, (-now[3], path))
        self._paths = None
        self._lines.clear()
        self._first = ()

    def paths(self, cut: int) -> list[str]:
        """All paths without their first `cut` characters, the same in all calls; the same list until a file changes."""
        if self._paths is None:
            self._paths = [path[cut:] for _, path in self.aged]
        return self._paths

    def first(self, count: int | None, files: Mapping[str, Stamp]) -> Sequence[FileEntry]:
        """The first `count` files, or all; the first ones are the same object until a file changes."""
        if count is None or len(self._first) != min(count, len(self.aged)):
            made = [FileEntry(writable(path), "file", files[path][2], -age) for age, path in self.aged[:count]]
            if count is None:
                return made
            self._first = made
        return self._first

    def lines(self, start: int, end: int) -> str:
        """Some of the paths, one per line."""
        if (start, end) not in self._lines:
            self._lines.clear()
            self._lines[start, end] = writable("\n".join([path for _, path in self.aged[start:end]]))
        return self._lines[start, end]
