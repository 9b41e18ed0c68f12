"""What commands change in a lease: only folders in which it has written are listed, old contents are the base's.

The listing of the frozen base is made once, and every lease starts from it.
"""

from __future__ import annotations

import os
import stat
from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolroll.host.capture.baseline import TreeBaseline, describe_folder, kind_of, token
from toolroll.host.capture.capture import Capture
from toolroll.host.capture.git_objects import GitIndex, IndexEntry
from toolroll.host.capture.listing import Listing, Rules, Stamp, TreeLister, is_folder
from toolroll.host.files.journal.entry import MOST_KEPT, PathState
from toolroll.host.files.root import Root
from toolroll.host.forks.overlay import list_changed
from toolroll.host.forks.tree_copy import FOLDER
from toolroll.host.forks.views import find_node
from toolroll.host.runtime.dir_entries import Parts, closing_fd
from toolroll.host.sandbox.git.vault import Vault

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.sandbox.git.guard import GitGuard

_IGNORE_FILE = ".gitignore"


class FrozenListing:
    """What stands at each path of a frozen base. Read only, and shared by all leases."""

    def __init__(self, root: Root, launcher: Launcher) -> None:
        self.root = root
        git = GitIndex(root.path, launcher)
        git.refresh()
        self.is_tracked = git.is_tracked
        self._lister = TreeLister(root, "", git.is_tracked)
        self.listing: Listing = self._lister.refresh()
        self.rules: dict[str, Rules] = self._lister._rules


class LeaseLister(TreeLister):
    """Lists again what the upper folder of a lease has, and takes the rest from the base."""

    def __init__(self, root: Root, frozen: FrozenListing, upper: str) -> None:
        super().__init__(root, "", frozen.is_tracked)
        self._upper = upper
        self._listing = frozen.listing
        self._rules = ChainMap({}, frozen.rules)  # type: ignore[assignment]  # no copy: there are many leases
        self.touched: set[str] = set()
        """The folders that were listed, or dropped, since the lease was made."""

    def _changed(self) -> set[str] | None:
        """The folders that the lease has a part of; None for all, where it has changed what is ignored."""
        found = {""}
        with closing_fd(os.open(self._upper, FOLDER)) as upper:
            for path, _ in list_changed(upper):
                if path.rpartition("/")[2] == _IGNORE_FILE or path == ".git/info/exclude":
                    return None
                if not path.startswith(".git/") and stat.S_ISDIR(
                    os.stat(path, dir_fd=upper, follow_symlinks=False).st_mode
                ):
                    found.add(f"{path}/")
        return found

    def _list(self, fd: int, path: str, rules: Rules, *, deep: bool) -> dict[str, tuple[str, Rules]]:
        self.touched.add(path)
        return super()._list(fd, path, rules, deep=deep)

    def _drop(self, path: str) -> None:
        self.touched.update(one for one in self._listing if one.startswith(path))
        super()._drop(path)


class LeaseBaseline(TreeBaseline):
    """The baseline of a lease: only of folders in which it has written. All else is as the base has it."""

    def __init__(self, frozen: FrozenListing, upper: str, *own: Any) -> None:
        """`own`: the arguments of a baseline."""
        super().__init__(*own)
        self._frozen = frozen
        self._lister = LeaseLister(self._root, frozen, upper)
        self._listers = [self._lister]
        self._is_loaded, self._git = True, {}
        self._known: set[str] = set()  # the folders of the listing, now or before

    def stamp(self, path: str) -> Stamp | None:
        folder, slash, name = path.rpartition("/")
        above = folder + slash
        listing = self.listing if above in self._known else self._frozen.listing
        return listing.get(above, {}).get(name)

    def _list(self, listed: Container[str]) -> Listing:
        """What stands now in the folders that the lease has touched; the listing before gets the same folders."""
        every = self._lister.refresh(listed)
        for folder in self._lister.touched - self._known:
            self._known.add(folder)
            if (before := self._frozen.listing.get(folder)) is not None:
                self.listing[folder] = before
        return {folder: every[folder] for folder in self._known if folder in every}

    def states(self, paths: Iterable[str]) -> dict[str, PathState]:
        named = list(paths)
        kept = super().states(path for path in named if path in self._sources)
        return kept | {path: state for path in named if path not in kept and (state := self._frozen_state(path))}

    def _frozen_state(self, path: str) -> PathState | None:
        stamp = self.stamp(path)
        if stamp is None:
            return None
        if is_folder(stamp):
            return describe_folder(path, stamp, self.listing, self._attributes.get(path, {}))
        node = find_node(self._frozen.root.fd, path) if stamp[2] <= MOST_KEPT and kind_of(stamp) != "other" else None
        if node is None:
            return PathState(kind_of(stamp), stat.S_IMODE(stamp[0]), token(stamp), stamp[3])
        if node.data is None:
            return node.state
        self._blobs.keep(node.data, bytes.fromhex(node.state.content))
        return replace(node.state, mtime_ns=stamp[3], attributes=node.attributes)

    def unkept(self) -> Iterator[tuple[str, int | None]]:
        """What the lease itself has written and the base does not have."""
        for path, source in self._sources.items():
            if not source and (stamp := self.stamp(path)) is not None:
                yield path, stamp[2]

    def _entry(self, path: str) -> IndexEntry | None:  # noqa: ARG002 - contents come from the base, not from git
        return None

    def _converts(self) -> bool:
        return False

    def _save(self) -> None:
        """A lease ends with its process."""


class LeaseCapture(Capture):
    """Captures what commands change in a lease."""

    def __init__(self, frozen: FrozenListing, upper: str, root: Root, *own: Any) -> None:
        super().__init__(root, *own)
        state, journal, _, launcher, limits = own
        self._baseline = LeaseBaseline(frozen, upper, root, state, journal.log.blobs, launcher, limits)
        self._blobs.needed = self._baseline.contents_kept


class NoVault(Vault):
    """Keeps no objects and refs: those of the base are frozen, and a lease is thrown away."""

    def refresh(self, repositories: Sequence[Parts]) -> None:
        pass

    load = refresh

    def put_back(self, repositories: Sequence[Parts]) -> list[str]:  # noqa: ARG002
        return []


def keep_no_objects(guard: GitGuard) -> None:
    """Let the guard of a lease hold hooks and settings only."""
    guard._in_use, vault = guard._parts()
    guard._vault = NoVault(vault._root, vault._folder)
