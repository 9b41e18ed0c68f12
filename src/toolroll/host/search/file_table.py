"""Table of the files that a search looks at, with their stamps, kept up to date by inotify."""

from __future__ import annotations

import os
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from toolroll.host.files import ignore
from toolroll.host.files.versions import Stamp, stamp_of
from toolroll.host.files.walk import Chain, Walk
from toolroll.host.runtime.dir_entries import SETTLED_NS
from toolroll.host.runtime.inotify import EventsLostError, FolderWatch
from toolroll.host.search.query import FileEntry, writable

if TYPE_CHECKING:
    from toolroll.host.files.root import Root

MAX_ENTRIES = 300_000
"""Files and folders; a larger tree is not tracked."""

_EXCLUDE = ".git/info/exclude"
_NAMES = frozenset(map(os.fsencode, ignore.NAMES))
_OWN = frozenset(ignore.NAMES[:2])
_MAX_ORDERS = 8
_MAX_MOVES = 500  # changed files; with more it is faster to sort all again

Wants = Callable[[str], object]
"""Whether a path relative to the workspace is wanted."""


class UntrackableTreeError(Exception):
    """The tree is too large, has unreadable folders, or is no longer needed."""


@dataclass(slots=True, eq=False)
class _Folder:
    path: str
    """Empty, or ends in a slash."""
    above: Chain
    number: int
    chain: Chain = field(default_factory=dict)
    files: dict[str, Stamp] = field(default_factory=dict)
    """By path relative to the workspace, as all of these."""
    folders: dict[str, _Folder] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)


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


class FileTable:
    """All files that are neither hidden nor ignored. Not thread-safe."""

    _files: dict[str, Stamp]
    _orders: dict[Hashable, FilesByAge]
    _moves: int
    _links: list[str] | None
    _unsettled: set[str]
    _linked: set[str]
    """Files with several names: inotify does not report changes under the other names."""
    _shared: set[tuple[int, int]]
    """Device and inode number of those found since the last refresh."""
    _folders: dict[str, _Folder]
    _numbers: dict[int, _Folder]
    _uniform: bool
    """No ignore file of a stronger kind exists: those win over nearer ones, so that subfolders would differ."""

    def __init__(self, root: Root, stop: Event) -> None:
        """Read the tree; UntrackableTreeError or OSError if it cannot be tracked. `stop` ends that at once."""
        self._root = root
        self._stop = stop
        self._watch = FolderWatch()
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        """Apply all changes. Raises as the constructor does; after an error the table is of no use."""
        self._moves = 0
        try:
            events = self._watch.take()
        except EventsLostError:
            self._again()
            return
        if self._excluded() != self._exclude:
            self._again()
            return
        dirty: dict[str, bool] = {}
        for number, names in events.items():
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
        if self._shared:  # a further name of a file is not reported under its first one
            for path in [path for path, stamp in self._files.items() if stamp[:2] in self._shared]:
                self._look_at(path, now)
            self._shared.clear()

    def files(self) -> dict[str, Stamp]:
        """The stamp of each file, by path relative to the workspace."""
        return self._files

    def newest(self) -> list[tuple[int, str]]:
        """All files, newest first: age (less is newer) and path."""
        if None not in self._orders:
            self._orders[None] = FilesByAge(sorted((-stamp[3], path) for path, stamp in self._files.items()))
        return self._orders[None].aged

    def order(self, key: Hashable, wants: Wants) -> FilesByAge:
        """The wanted files, newest first. A key must always stand for the same `wants`."""
        if key not in self._orders:
            aged = self.newest()
            if len(self._orders) > _MAX_ORDERS:
                del self._orders[next(one for one in self._orders if one is not None)]
            self._orders[key] = FilesByAge(aged, wants)
        return self._orders[key]

    def has(self, folder: str) -> bool:
        """Whether the table has this folder; its path is empty or ends in a slash."""
        return folder in self._folders and (not folder or self._uniform)

    def leaves_out(self, path: str) -> bool:
        """Whether a file at this path would be hidden or ignored, if there was one."""
        if path in self._files:
            return False
        parts, chain = path.split("/"), self._folders[""].chain
        for at, name in enumerate(parts):
            above = "".join(f"{one}/" for one in parts[:at])
            chain = self._folders[above].chain if above in self._folders else chain
            if name.startswith(".") or self._walk.ignores(above + name, at < len(parts) - 1, chain):
                return True
        return False

    def links(self) -> list[str]:
        """All links, by path relative to the workspace."""
        if self._links is None:
            self._links = [one for known in self._folders.values() for one in known.links]
        return self._links

    def close(self) -> None:
        self._watch.close()

    def _again(self) -> None:
        self._watch.close()
        self._watch = FolderWatch()
        self._build()

    def _build(self) -> None:
        self._files, self._links = {}, None
        self._orders, self._moves = {}, 0
        self._unsettled, self._linked, self._shared = set(), set(), set()
        self._folders, self._numbers, self._uniform = {}, {}, True
        self._exclude = self._excluded()
        self._walk = Walk(self._root.fd, rules=ignore.inherited_rules(self._root, ()))
        self._grow("", {})

    def _grow(self, path: str, above: Chain) -> _Folder | None:
        """Add a folder and all that is in it; None if it is gone."""
        first: _Folder | None = None
        todo: list[tuple[str, Chain, _Folder | None]] = [(path, above, None)]
        while todo:
            if self._stop.is_set() or len(self._files) + len(self._folders) > MAX_ENTRIES:
                raise UntrackableTreeError
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
        """A descriptor of a folder; None if it is gone, which inotify reports for its parent."""
        try:
            return self._walk.enter(path)
        except OSError:
            if path and self._is_gone(path):
                return None
            raise UntrackableTreeError from None  # a search must count what it cannot read

    def _enter(self, fd: int, path: str, above: Chain) -> tuple[_Folder, list[str]]:
        """Add a folder with its files; returns the folders in it, which are still to be added. Closes `fd`."""
        try:
            folder = _Folder(path, above, self._watch.add(fd, os.fstat(fd).st_dev))
            self._folders[path] = folder
            self._numbers[folder.number] = folder
            inner = self._list(folder, fd)
        finally:
            os.close(fd)
        return folder, inner

    def _list(self, folder: _Folder, fd: int) -> list[str]:
        """Update the files of a folder; returns the folders in it."""
        folder.links = []
        self._links = None
        folder.chain, listed = self._walk.look(fd, folder.path, folder.above)
        inner, files, now = [], {}, time.time_ns()
        for seen in listed:
            if seen.kind == "directory":
                inner.append(seen.path)
            elif seen.kind == "file":
                with suppress(OSError):  # deleted meanwhile, which inotify reports
                    files[seen.path] = seen.stat()
            else:
                folder.links.append(seen.path)
        if folder.chain is not folder.above and any(folder.chain.get(name) for name in _OWN):
            self._uniform = False
        for gone in folder.files.keys() - files.keys():
            self._forget(gone)
        folder.files = {path: self._put(path, about, now) for path, about in files.items()}
        return inner

    def _sort_out(self, folder: _Folder, names: dict[bytes, bool], dirty: dict[str, bool]) -> None:
        """Decide what to read again: a folder with all that is in it, the folder, or some of its files."""
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
        """Remove a folder and all that is in it."""
        parent = self._parent(folder.path)
        if parent is not None:
            parent.folders.pop(folder.path, None)
        todo, self._links = [folder], None
        while todo:
            one = todo.pop()
            todo += one.folders.values()
            for path in one.files:
                self._forget(path)
            if self._folders.get(one.path) is one:
                del self._folders[one.path]
            if self._numbers.get(one.number) is one:  # else it was moved, and has its new path already
                del self._numbers[one.number]
                self._watch.remove(one.number)

    def _parent(self, path: str) -> _Folder | None:
        return self._folders.get(path[: path.rfind("/", 0, -1) + 1]) if path else None

    def _look_at(self, path: str, now: int) -> None:
        try:
            about = os.stat(path, dir_fd=self._root.fd, follow_symlinks=False)
        except OSError:
            return  # which inotify reports
        self._folders[path[: path.rfind("/") + 1]].files[path] = self._put(path, about, now)

    def _put(self, path: str, about: os.stat_result, now: int) -> Stamp:
        stamp, before = stamp_of(about), self._files.get(path)
        fresh = max(stamp[3], stamp[4]) > now - SETTLED_NS
        (self._unsettled.add if fresh else self._unsettled.discard)(path)
        if about.st_nlink == 1:
            self._linked.discard(path)
        elif path not in self._linked:
            self._linked.add(path)
            self._shared.add(stamp[:2])
        if stamp == before:
            return stamp
        self._files[path] = stamp
        self._move(path, before, stamp)
        return stamp

    def _forget(self, path: str) -> None:
        stamp = self._files.pop(path, None)
        self._unsettled.discard(path)
        self._linked.discard(path)
        if stamp is not None:
            self._move(path, stamp, None)

    def _move(self, path: str, before: Stamp | None, now: Stamp | None) -> None:
        self._moves += 1
        if self._moves > _MAX_MOVES:
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
        """The stamp of the one ignore file outside the watched folders."""
        try:
            return stamp_of(os.stat(_EXCLUDE, dir_fd=self._root.fd))
        except OSError:
            return None
