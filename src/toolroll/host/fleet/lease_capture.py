"""What commands change in a lease: only folders in which it has written are listed, old contents are the base's.

The listing of the frozen base is made once, and every lease starts from it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolroll.host.capture.baseline import TreeBaseline, describe_folder, kind_of, token
from toolroll.host.capture.capture import Capture
from toolroll.host.capture.git_objects import GitIndex, IndexEntry
from toolroll.host.capture.git_refs import GitRefs
from toolroll.host.capture.listing import (
    ITSELF,
    REPOSITORY,
    FolderEntries,
    Listing,
    Rules,
    Stamp,
    TreeLister,
    is_folder,
    is_listed,
    stamp_entry,
    stamp_folder,
    stamp_status,
)
from toolroll.host.files.journal.entry import MOST_KEPT, PathState
from toolroll.host.files.root import Root
from toolroll.host.forks.overlay import list_changed
from toolroll.host.forks.tree_copy import FOLDER
from toolroll.host.forks.views import find_node
from toolroll.host.runtime.dir_entries import Parts, closing_fd
from toolroll.host.sandbox.git.baseline import take_baseline
from toolroll.host.sandbox.git.vault import Vault

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import Launcher

_IGNORE_FILE, _INDEX = ".gitignore", ".git/index"
_OF_BASE = "base"  # in place of the name of a content


class FrozenListing:
    """What stands at each path of a frozen base. Read only, and shared by all leases."""

    def __init__(self, root: Root, launcher: Launcher) -> None:
        self.root = root
        git = GitIndex(root.path, launcher)
        git.refresh()
        self.is_tracked = git.is_tracked
        self._lister = TreeLister(root, "", git.is_tracked)
        self.listing: Listing = self._lister.refresh()
        self.rules = self._lister.rules
        self.has_linked = bool(self._lister.linked())
        self.git = take_baseline(root.fd)

    def read_index(self) -> bytes:
        """The index of the repository."""
        with open(os.path.join(self.root.path, _INDEX), "rb") as file:
            return file.read()


class LeaseLister(TreeLister):
    """Lists again what the upper folder of a lease has, and takes the rest from the base."""

    def __init__(self, root: Root, frozen: FrozenListing, upper: str) -> None:
        super().__init__(root, "", frozen.is_tracked)
        self._upper = upper
        self.start_from(frozen.listing, frozen.rules)
        self._frozen = frozen
        self._merged: set[str] = set()  # folders that are the base's with some entries changed
        self._seen: dict[str, set[tuple[str, bool, Stamp]]] = {}  # what the upper folder had at the last look
        self.touched: set[str] = set()
        """The folders that were listed, or dropped, since the lease was made."""

    def _changed(self) -> set[str] | None:
        """The folders where the lease has changed something since the last look.

        None for all, where it has changed what is ignored.
        """
        before, self._seen, whole = self._seen, {}, set[str]()
        with closing_fd(os.open(self._upper, FOLDER)) as upper:
            found = {"": {("", False, stamp_folder(upper))}}
            for path, is_whole, about in list_changed(upper):
                folder, slash, name = path.rpartition("/")
                if name == _IGNORE_FILE or path == ".git/info/exclude":
                    return None
                if path.startswith(".git/"):
                    continue
                found[folder + slash].add((name, is_whole, stamp_entry(about)))
                if stat.S_ISDIR(about.st_mode):
                    found[f"{path}/"] = {("", is_whole, stamp_status(about))}
                    whole |= {f"{path}/"} if is_whole else set()
        self._seen = found
        changed = {path for path, entries in found.items() if entries != before.get(path)}
        self._merged = set() if whole or self._frozen.has_linked else changed & self._frozen.listing.keys()
        return changed

    def _again(self) -> None:
        self._merged = set()
        super()._again()

    def _entries(self, fd: int, path: str) -> FolderEntries:
        """What is in a folder: where that is possible, only what the lease has changed there is looked at."""
        if path not in self._merged:
            return super()._entries(fd, path)
        found, linked = {**self._frozen.listing[path], ITSELF: stamp_folder(fd)}, set[int]()
        for name in os.listdir(os.path.join(self._upper, path)):
            found.pop(name, None)
            with suppress(FileNotFoundError):  # it was deleted in the lease
                about = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if is_listed(name, top=not path):
                    found[name] = stamp_entry(about)
                    linked |= {about.st_ino} if about.st_nlink > 1 and not is_folder(found[name]) else set()
        folders = [name for name, stamp in found.items() if name and is_folder(stamp) and name != REPOSITORY]
        return found, folders, linked

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


class LeaseRefs(GitRefs):
    """The refs and the index of a lease. The index of the base is kept for `undo` only when another one is there."""

    def __init__(self, frozen: FrozenListing, upper: str, *own: Any) -> None:
        super().__init__(*own)
        self._frozen, self._upper = frozen, upper

    def _keep_content(self) -> str:
        is_own = os.path.lexists(os.path.join(self._upper, _INDEX))
        return super()._keep_content() if is_own else _OF_BASE

    def _name_kept(self, name: str) -> str:
        return self._blobs.keep(self._frozen.read_index()) if name == _OF_BASE else name


class LeaseCapture(Capture):
    """Captures what commands change in a lease."""

    def __init__(self, frozen: FrozenListing, upper: str, *own: Any) -> None:
        self._frozen, self._upper = frozen, upper
        super().__init__(*own)

    def _make_baseline(self, *own: Any) -> LeaseBaseline:
        return LeaseBaseline(self._frozen, self._upper, *own)

    def _make_refs(self, *own: Any) -> LeaseRefs:
        return LeaseRefs(self._frozen, self._upper, *own)


class NoVault(Vault):
    """Keeps no objects and refs: those of the base are frozen, and a lease is thrown away."""

    def refresh(self, repositories: Sequence[Parts]) -> None:
        pass

    load = refresh

    def put_back(self, repositories: Sequence[Parts]) -> list[str]:  # noqa: ARG002
        return []
