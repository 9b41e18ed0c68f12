"""The files of a workspace that a search looks at, with their states, kept up by what the kernel tells."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from toolroll.host.files import ignore
from toolroll.host.files.walk import Chain, Kind, Walk
from toolroll.host.search.file_list import SETTLED
from toolroll.host.search.index.by_age import Order, Wants
from toolroll.host.search.index.inotify import LostError, Watch

if TYPE_CHECKING:
    from toolroll.host.code.fact_store import Stamp
    from toolroll.host.files.root import Root

MOST = 300_000
"""Files and folders; a larger tree is not kept."""

_EXCLUDE = ".git/info/exclude"
_NAMES = frozenset(map(os.fsencode, ignore.NAMES))
_OWN = frozenset(ignore.NAMES[:2])
_ORDERS = 8  # that are kept up
_MOVES = 500  # changed files, after which it is quicker to put all in order again


class TooMuchError(Exception):
    """The tree is not one to be kept: too large, not wholly readable, or given up."""


@dataclass(slots=True, eq=False)
class _Folder:
    path: str
    """Empty, or with a slash at its end."""
    above: Chain
    number: int
    chain: Chain = field(default_factory=dict)
    files: dict[str, Stamp] = field(default_factory=dict)
    """By path, as all of these are."""
    folders: dict[str, _Folder] = field(default_factory=dict)
    left: list[tuple[str, Kind]] = field(default_factory=list)
    """What is hidden or ignored in it."""


class Table:
    """All that is neither hidden nor ignored. Not for several threads at a time."""

    _files: dict[str, Stamp]
    _orders: dict[Hashable, Order]
    _moves: int
    _changed: set[str] | None
    _left: list[tuple[str, Kind]] | None
    _unsettled: set[str]
    _linked: set[str]
    """Files with several names: what is written under another one is not told here."""
    _shared: set[tuple[int, int]]
    """Device and number of those that were found to be so since the last look."""
    _folders: dict[str, _Folder]
    _numbers: dict[int, _Folder]
    _uniform: bool
    """There are no rules of a stronger kind, which win over nearer ones: a search from further down sees it else."""

    def __init__(self, root: Root, stop: Event) -> None:
        """Look at everything; TooMuchError or OSError when that cannot be kept up. `stop` ends it at once."""
        self._root = root
        self._stop = stop
        self._watch = Watch()
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        """Take in what has changed. The same errors as at first: the table is of no use after one."""
        self._moves = 0
        try:
            told = self._watch.take()
        except LostError:
            self._again()
            return
        if self._excluded() != self._exclude:
            self._again()
            return
        dirty: dict[str, bool] = {}
        for number, names in told.items():
            folder = self._numbers.get(number)
            if folder is not None:
                self._sort_out(folder, names, dirty)
        for path in sorted(dirty):
            known = self._folders.get(path)
            if known is not None:
                self._renew(known, whole=dirty[path])
        now = time.time_ns()
        for path in self._unsettled | self._linked:
            self._look_at(path, now)
        if self._shared:  # of a file that gets another name, nothing is told under its first one
            for path in [path for path, stamp in self._files.items() if stamp[:2] in self._shared]:
                self._look_at(path, now)
            self._shared.clear()

    def files(self) -> dict[str, Stamp]:
        """The state of each file, by path from the workspace."""
        return self._files

    def unsettled(self) -> set[str]:
        """The files that have changed so shortly ago that their state may not tell the next change."""
        return self._unsettled

    def changed(self) -> set[str] | None:
        """The files that came, went or changed since it was last asked; None for all of them."""
        found, self._changed = self._changed, set()
        return found

    def newest(self) -> list[tuple[int, str]]:
        """All files, newest first: the age (less is newer) and the path."""
        if None not in self._orders:
            self._orders[None] = Order(sorted((-stamp[3], path) for path, stamp in self._files.items()))
        return self._orders[None].aged

    def order(self, key: Hashable, wants: Wants) -> Order:
        """The files that are wanted, newest first; a key always stands for the same of them."""
        if key not in self._orders:
            aged = self.newest()
            if len(self._orders) > _ORDERS:
                del self._orders[next(one for one in self._orders if one is not None)]
            self._orders[key] = Order(aged, wants)
        return self._orders[key]

    def has(self, folder: str) -> bool:
        """Whether this folder, empty or with a slash at its end, is one of those that are kept."""
        return folder in self._folders and (not folder or self._uniform)

    def left(self, folder: str) -> list[tuple[str, Kind]]:
        """What is hidden or ignored beneath a folder. Of a folder that is, nothing in it is named."""
        if self._left is None:
            self._left = [one for known in self._folders.values() for one in known.left]
        return [one for one in self._left if one[0].startswith(folder)]

    def close(self) -> None:
        self._watch.close()

    def _again(self) -> None:
        self._watch.close()
        self._watch = Watch()
        self._build()

    def _build(self) -> None:
        self._files, self._changed, self._left = {}, None, None
        self._orders, self._moves = {}, 0
        self._unsettled, self._linked, self._shared = set(), set(), set()
        self._folders, self._numbers, self._uniform = {}, {}, True
        self._exclude = self._excluded()
        self._walk = Walk(self._root.fd, rules=ignore.inherited_rules(self._root, ()))
        self._grow("", {})

    def _grow(self, path: str, above: Chain) -> _Folder | None:
        """Take in a folder and all that is in it; None if it is gone."""
        first: _Folder | None = None
        todo: list[tuple[str, Chain, _Folder | None]] = [(path, above, None)]
        while todo:
            if self._stop.is_set() or len(self._files) + len(self._folders) > MOST:
                raise TooMuchError
            where, rules, parent = todo.pop()
            fd = self._open(where)
            if fd is None:
                continue
            folder, inner = self._enter(fd, where, rules)
            first = first or folder
            if parent is not None:
                parent.folders[where] = folder
            todo += ((f"{name}/", folder.chain, folder) for name in inner)
        return first

    def _open(self, path: str) -> int | None:
        """A descriptor of a folder; None if it is gone, which will be told of the folder above it."""
        try:
            return self._walk.enter(path)
        except OSError:
            if path and self._is_gone(path):
                return None
            raise TooMuchError from None  # a search counts what it cannot read

    def _enter(self, fd: int, path: str, above: Chain) -> tuple[_Folder, list[str]]:
        """A folder with its files, and the folders in it, which are still to be taken in. Closes `fd`."""
        try:
            folder = _Folder(path, above, self._watch.add(fd, os.fstat(fd).st_dev))
            self._folders[path] = folder
            self._numbers[folder.number] = folder
            inner = self._list(folder, fd)
        finally:
            os.close(fd)
        return folder, inner

    def _list(self, folder: _Folder, fd: int) -> list[str]:
        """Bring a folder's own files up to date; its folders as they are now."""
        self._walk.left = folder.left = []
        self._left = None
        folder.chain, listed = self._walk.look(fd, folder.path, folder.above)
        inner, files, now = [], {}, time.time_ns()
        for seen in listed:
            if seen.kind == "directory":
                inner.append(seen.path)
            elif seen.kind == "file":
                with suppress(OSError):  # gone meanwhile, which will be told
                    files[seen.path] = seen.stat()
        if folder.chain is not folder.above and any(folder.chain.get(name) for name in _OWN):
            self._uniform = False
        for gone in folder.files.keys() - files.keys():
            self._forget(gone)
        folder.files = {path: self._put(path, about, now) for path, about in files.items()}
        return inner

    def _sort_out(self, folder: _Folder, names: dict[bytes, bool], dirty: dict[str, bool]) -> None:
        """What has to be done about one folder: look at it again, with all in it, or at some of its files."""
        if names.keys() & _NAMES:
            dirty[folder.path] = True
        elif b"" in names or any(names.values()):
            dirty.setdefault(folder.path, False)
        else:
            for name in names:
                path = folder.path + os.fsdecode(name)
                if path in folder.files:
                    self._unsettled.add(path)
                elif f"{path}/" in self._folders:
                    dirty.setdefault(f"{path}/", False)

    def _renew(self, folder: _Folder, *, whole: bool) -> None:
        fd = self._open(folder.path)
        if fd is None:
            self._drop(folder)
            return
        try:
            same = not whole and self._watch.add(fd, os.fstat(fd).st_dev) == folder.number
            inner = {f"{name}/" for name in self._list(folder, fd)} if same else set()
        finally:
            os.close(fd)
        if not same:
            self._drop(folder)
            self._adopt(self._parent(folder.path), folder.path, folder.above)
            return
        for path in folder.folders.keys() - inner:
            self._drop(folder.folders[path])
        for path in inner - folder.folders.keys():
            self._adopt(folder, path, folder.chain)

    def _adopt(self, parent: _Folder | None, path: str, above: Chain) -> None:
        grown = self._grow(path, above)
        if parent is not None and grown is not None:
            parent.folders[path] = grown

    def _drop(self, folder: _Folder) -> None:
        """Forget a folder and all that is in it."""
        parent = self._parent(folder.path)
        if parent is not None:
            parent.folders.pop(folder.path, None)
        todo, self._left = [folder], None
        while todo:
            one = todo.pop()
            todo += one.folders.values()
            for path in one.files:
                self._forget(path)
            if self._folders.get(one.path) is one:
                del self._folders[one.path]
            if self._numbers.get(one.number) is one:  # else it was moved, and is known under its new path already
                del self._numbers[one.number]
                self._watch.remove(one.number)

    def _parent(self, path: str) -> _Folder | None:
        return self._folders.get(path[: path.rfind("/", 0, -1) + 1]) if path else None

    def _look_at(self, path: str, now: int) -> None:
        try:
            about = os.stat(path, dir_fd=self._root.fd, follow_symlinks=False)
        except OSError:
            return  # which will be told
        self._folders[path[: path.rfind("/") + 1]].files[path] = self._put(path, about, now)

    def _put(self, path: str, about: os.stat_result, now: int) -> Stamp:
        stamp, before = _stamp(about), self._files.get(path)
        fresh = max(stamp[3], stamp[4]) > now - SETTLED
        (self._unsettled.add if fresh else self._unsettled.discard)(path)
        if about.st_nlink == 1:
            self._linked.discard(path)
        elif path not in self._linked:
            self._linked.add(path)
            self._shared.add(stamp[:2])
        if stamp == before:
            return stamp
        self._files[path] = stamp
        if self._changed is not None:
            self._changed.add(path)
        self._move(path, before, stamp)
        return stamp

    def _forget(self, path: str) -> None:
        stamp = self._files.pop(path, None)
        self._unsettled.discard(path)
        self._linked.discard(path)
        if self._changed is not None:
            self._changed.add(path)
        if stamp is not None:
            self._move(path, stamp, None)

    def _move(self, path: str, before: Stamp | None, now: Stamp | None) -> None:
        self._moves += 1
        if self._moves > _MOVES:
            self._orders.clear()
        for order in self._orders.values():
            order.move(path, before, now)

    def _is_gone(self, path: str) -> bool:
        try:
            os.stat(path, dir_fd=self._root.fd, follow_symlinks=False)
        except OSError:
            return True
        return False

    def _excluded(self) -> Stamp | None:
        """The state of the one file with rules that is not in a folder of ours."""
        try:
            return _stamp(os.stat(_EXCLUDE, dir_fd=self._root.fd))
        except OSError:
            return None


def _stamp(about: os.stat_result) -> Stamp:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
