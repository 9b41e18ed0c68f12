"""The ways to see a workspace without changing it: an overlay, a copy by reflinks, a copy of bytes."""

from __future__ import annotations

import errno
import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from toolroll.host.files.atomic import NO_ATTRIBUTES, read_attributes
from toolroll.host.files.journal.entry import PathState, look
from toolroll.host.forks import overlay
from toolroll.host.forks.place import UPPER, WORK, ForkPlace
from toolroll.host.forks.tree_copy import (
    FOLDER,
    CopiedNode,
    NodeStamp,
    TreeCopy,
    open_folder,
)
from toolroll.host.runtime.dir_entries import SETTLED_NS, closing_fd, open_dir, reopen

ForkKind = Literal["overlay", "reflink", "copy"]


class Node(NamedTuple):
    """What is at a path, of the workspace or of its fork."""

    status: os.stat_result
    state: PathState
    data: bytes | None
    """The content of a file."""
    attributes: Mapping[str, bytes] = NO_ATTRIBUTES


class ForkView(ABC):
    """One way: says which paths may differ, and which of the workspace were changed since."""

    kind: ForkKind
    left_out: tuple[str, ...] = ()
    """Paths that the fork has not got: they are not compared."""

    @abstractmethod
    def touched(self, base: int, fork: int) -> Iterator[str]:
        """The paths that may differ from what they were; folders are given as descriptors."""

    @abstractmethod
    def is_moved(self, path: str, base: Node | None, replaced: Container[str]) -> bool:
        """Whether what is at a path of the workspace now is not what was there at the time of the fork.

        `replaced`: paths at which the fork is known to have had something at first.
        """

    def settle(self) -> None:  # noqa: B027
        """Return when the fork may be written to."""

    def is_unchanged(self, path: str, fork: Node | None) -> bool:  # noqa: ARG002
        """Whether a path of the fork is known to be what it was."""
        return False


class CopyView(ForkView):
    """A copy of every file."""

    def __init__(self, base: int, fork: int, copy: TreeCopy) -> None:
        self.kind = "reflink" if copy.reflink else "copy"
        self._copy = copy
        copy.copy(base, fork)
        self.left_out = tuple(copy.left_out)

    def touched(self, base: int, fork: int) -> Iterator[str]:  # noqa: ARG002
        seen = set()
        for path, status in walk(fork):
            seen.add(path)
            if self._copy.is_changed(path, NodeStamp.of(status)):
                yield path
        yield from (path for path in self._copy.nodes if path not in seen)

    def is_moved(self, path: str, base: Node | None, replaced: Container[str]) -> bool:  # noqa: ARG002
        known = self._copy.nodes.get(path)
        if known is None or base is None:
            return (known is None) is not (base is None)
        return not _is_same(base, known.base, known)

    def is_unchanged(self, path: str, fork: Node | None) -> bool:
        known = self._copy.nodes.get(path)
        return known is not None and fork is not None and _is_same(fork, known.copy, known)


class OverlayView(ForkView):
    """A mount on top of the workspace."""

    kind = "overlay"

    def __init__(self, workspace: str, base: int, place: ForkPlace) -> None:
        self._base = base
        self._upper = place.folder(UPPER)
        os.chmod(self._upper, stat.S_IMODE(os.stat(workspace).st_mode))
        if place.home.has_foreign_owner:
            raise OSError(errno.EOVERFLOW, "files of other users cannot be written in an overlay")
        overlay.mount(workspace, self._upper, place.folder(WORK), place.workspace)
        place.home.mounts.take_change()
        self._since = time.time_ns()

    def touched(self, base: int, fork: int) -> Iterator[str]:
        seen: set[str] = set()
        with closing_fd(os.open(self._upper, FOLDER)) as upper:
            for path, whole, _ in overlay.list_changed(upper):
                seen.add(path)
                if whole:
                    seen.update(one for side in (base, fork) for one in beneath(side, path))
        yield from seen

    def is_moved(self, path: str, base: Node | None, replaced: Container[str]) -> bool:
        if base is not None:
            return base.state.kind != "directory" and base.status.st_ctime_ns > self._since
        above = _nearest_folder(self._base, path)
        return above.st_ctime_ns > self._since and (
            overlay.was_copied_up(os.path.join(self._upper, path)) or path in replaced
        )

    def settle(self) -> None:
        """Wait until the clock that files are stamped by has moved on.

        What the workspace gets in the tick in which the fork was made counts as older than the fork, which is right
        as long as nothing is written in the fork before the next tick.
        """
        overlay.wait_beyond(self._since)


def _is_same(now: Node, stamp: NodeStamp, known: CopiedNode) -> bool:
    """Whether a node is what it was: by its stamp if that is old enough, else by mode, attributes and content."""
    if now.status.st_mode != stamp.mode or now.attributes != known.attributes:
        return False
    if now.state.kind == "directory":
        return True
    if NodeStamp.of(now.status) == stamp and (stamp.changed < known.copy.changed - SETTLED_NS or not known.digest):
        return True
    return known.digest is not None and now.state.content == known.digest.hex()


def _nearest_folder(folder: int, path: str) -> os.stat_result:
    """The status of the deepest folder on the way to a path that is there."""
    *above, _ = path.split("/")
    while above:
        with suppress(FileNotFoundError, NotADirectoryError), open_dir(folder, tuple(above)) as here:
            return os.fstat(here)
        above.pop()
    return os.fstat(folder)


def find_node(folder: int, path: str) -> Node | None:
    """What is at a path beneath an open folder, where no step on the way is a link; None if nothing is."""
    *above, name = path.split("/")
    with suppress(FileNotFoundError, NotADirectoryError), open_dir(folder, tuple(above)) as here:
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
        state, data = look(here, name)
        if state is None:
            return None
        where = f"/proc/self/fd/{here}/{name}"
        return Node(status, state, data, NO_ATTRIBUTES if state.kind == "link" else read_attributes(where))
    return None


def walk(folder: int, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Every path beneath an open folder, with its status; links are not followed."""
    with reopen(folder) as listed:
        names = os.listdir(listed)
    for name in names:
        path = f"{prefix}{name}"
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            with open_folder(name, folder) as inner:
                yield from walk(inner, f"{path}/")


def beneath(folder: int, path: str) -> Iterator[str]:
    """The paths beneath a path, if that is a folder."""
    with (
        suppress(FileNotFoundError, NotADirectoryError),
        open_dir(folder, tuple(path.split("/"))) as here,
    ):
        yield from (one for one, _ in walk(here, f"{path}/"))
