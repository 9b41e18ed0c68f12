"""The forks of a kit: opened, found by their numbers, merged and dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolroll.host.forks.fork import Fork, ForkChange, open_fork, summarize
from toolroll.host.forks.merge import Merge
from toolroll.result import ErrorCode, ToolError
from toolroll.text.files.changes import Change
from toolroll.text.patch.write import FileVersions, build_patch, list_omitted

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.forks.views import ForkKind, Node

_MAX_OPEN = 100


@dataclass(frozen=True, slots=True)
class OpenFork:
    """A fork under its number, and the kit on it."""

    number: int
    fork: Fork
    kit: Any
    title: str = ""

    def rows(self, paths: Sequence[str] = ()) -> list[ForkChange]:
        """What differs: everything, or at these paths and beneath them."""
        found = self.fork.compare()
        return found if not paths else [one for one in found if any(_is_at(one.path, path) for path in paths)]

    def changes(self) -> list[Change]:
        return summarize(self.rows())

    def diff(self) -> str:
        return write_diff(self.rows())


def write_diff(rows: Sequence[ForkChange]) -> str:
    """The differences of files as one patch; what no patch can hold is named."""
    files = [_as_file(one) for one in rows if _is_file(one.base) or _is_file(one.fork)]
    omitted = list_omitted(files)
    return build_patch(files) + (f"Not shown: {', '.join(omitted)}.\n" if omitted else "")


class Forks:
    """The open forks of one workspace."""

    def __init__(self, root: Root, max_bytes: int, open_kit: Callable[[Fork, int], Any] | None) -> None:
        """`open_kit` opens a kit on a fork; without it there are none."""
        self._root = root
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._open: dict[int, OpenFork] = {}
        self._last = 0
        self._open_kit = open_kit

    def open(self, kind: ForkKind | None = None, title: str = "") -> OpenFork:
        """Make a fork, with a kit on it."""
        if self._open_kit is None:
            raise ToolError(ErrorCode.UNSUPPORTED, "Forks need local files and commands, which this kit has not.")
        with self._lock:
            if len(self._open) >= _MAX_OPEN:
                raise ToolError(ErrorCode.TOO_LARGE, f"{_MAX_OPEN} forks are open. Use `commit` or `discard` on some.")
            self._last += 1
            number = self._last
        fork = open_fork(self._root, self._max_bytes, kind)
        try:
            made = OpenFork(number, fork, self._open_kit(fork, number), title)
        except BaseException:
            fork.close()
            raise
        with self._lock:
            self._open[number] = made
        return made

    def get(self, number: int) -> OpenFork:
        """The fork of this number; ToolError if there is none."""
        with self._lock:
            if (found := self._open.get(number)) is not None:
                return found
            there = ", ".join(map(str, self._open)) or "none"
        raise ToolError(ErrorCode.NOT_FOUND, f"There is no fork {number}. Open forks: {there}.")

    def merge(self, number: int, files: Workspace, paths: Sequence[str] = ()) -> list[Change]:
        """Carry the differences of a fork over, as steps of the call that these files belong to."""
        found = self.get(number)
        if not paths:
            found.fork.check_refs()
        rows = found.rows(paths)
        Merge(files).apply(rows)
        found.fork.accept(rows)
        return summarize(rows)

    def drop(self, number: int) -> None:
        """Remove a fork; nothing if that is done already."""
        with self._lock:
            found = self._open.pop(number, None)
        if found is not None:
            found.kit.close()
            found.fork.close()

    def close(self) -> None:
        for number in list(self._open):
            self.drop(number)


def _is_at(path: str, wanted: str) -> bool:
    return wanted in (".", path) or path.startswith(f"{wanted}/")


def _is_file(node: Node | None) -> bool:
    return node is not None and node.state.kind == "file"


def _as_file(row: ForkChange) -> FileVersions:
    base, fork = (one if _is_file(one) else None for one in (row.base, row.fork))
    modes = [0o755 if one is not None and one.state.mode & 0o100 else 0o644 for one in (base, fork)]
    return FileVersions(row.path, base and base.data, fork and fork.data, *modes)
