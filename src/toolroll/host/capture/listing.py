"""List a workspace: what stands at each path, folder by folder; a watch tells which folders to list again."""

from __future__ import annotations

import os
import stat
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING

from toolroll.host.files.atomic import is_passing_name
from toolroll.host.files.ignore import IgnoreRules, read
from toolroll.host.files.walk import FOLDER, enter
from toolroll.host.runtime.inotify import EventsLostError, FolderWatch
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root

Stamp = tuple[int, int, int, int, int]
"""Mode, inode, size, times of modification and change in ns. Of a folder in another one only the first two."""
Listing = dict[str, dict[str, Stamp]]
"""By folder, whose path is empty or ends in a slash: its entries. An ignored folder is an entry without a listing.

The entry `ITSELF` is the folder's own stamp, with its times.
"""
ITSELF = ""
Differences = dict[str, tuple[Stamp | None, Stamp | None]]
"""By path: what stood there before, and what does now."""
NewFiles = dict[str, dict[str, Stamp]]
"""Regular files that are new, like a listing."""
Rules = tuple[tuple[int, IgnoreRules], ...]
FolderEntries = tuple[dict[str, Stamp], list[str], set[int]]
"""What is in a folder, the folders among it that may be listed, and the inodes of files with several names."""

REPOSITORY = ".git"  # of a folder further down it is taken as a whole
_IGNORE_FILE = ".gitignore"
_MAX_DEPTH = 200  # folders below are taken as a whole, like ignored ones
_MAX_ENTRIES = 200_000  # of what is not ignored; a larger tree takes seconds to list
_KIND, _IS_FOLDER = 0o170000, stat.S_IFDIR  # in a loop over all files a call of `stat.S_ISDIR` counts
_WATCH_FROM = 50  # entries: a smaller tree is listed in a fraction of a millisecond

CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage"})
"""Names of what test runs and interpreters leave behind: such folders are taken as a whole, like ignored ones."""


class TreeLister:
    """Lists one root again and again; folders in which nothing changed keep the same object. Not thread-safe."""

    def __init__(self, root: Root, name: str, is_tracked: Callable[[str], bool]) -> None:
        """Paths begin with `name`, if that is not empty. `is_tracked`: whether git has files beneath a folder."""
        self._root = root
        self._prefix = f"{name}/" if name else ""
        self._is_tracked = is_tracked
        self._listing: Listing = {}
        self._rules: MutableMapping[str, Rules] = {}
        self._watch: FolderWatch | None = None
        self._numbers: dict[int, str] = {}
        self._times = 0  # a watch pays from the second command on
        self._can_watch = True
        self._linked: dict[str, set[int]] = {}
        """Files with several names, by folder: a change by another name is not reported."""
        self._skipped: frozenset[str] = frozenset()
        self._listed: Container[str] = ()
        self._is_forced = False  # whether an ignored folder is listed
        self._count = 0  # of entries that were listed by this refresh

    def refresh(self, listed: Container[str] = ()) -> Listing:
        """Everything that is there now, but `.git` folders and the insides of ignored folders.

        Folders in `listed` are listed also where they are ignored by now. ToolError if there is too much; it is not
        tried again then.
        """
        self._count = self._count if self._count > _MAX_ENTRIES else 0
        self._listed, again = listed, self._is_forced and not listed
        changed = self._changed() if self._listing and not again else None
        if changed is None:
            self._again()
        else:
            listing = dict(self._listing) if changed else self._listing
            self._listing = listing
            known = self.linked()
            for path in sorted(changed):
                if path in listing:
                    self._renew(path)
            if not known.issuperset(self.linked()):  # the other name may be anywhere
                self._again()
        return self._listing

    @property
    def rules(self) -> MutableMapping[str, Rules]:
        """The ignore rules that hold in each folder."""
        return self._rules

    def start_from(self, listing: Listing, rules: MutableMapping[str, Rules]) -> None:
        """Take over the listing of a frozen tree that this one is a fork of, without copying it."""
        self._listing, self._rules = listing, ChainMap({}, rules)

    def linked(self) -> set[int]:
        """The inodes of files that have several names."""
        return set[int]().union(*self._linked.values())

    def close(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def _changed(self) -> set[str] | None:
        """The folders to list again; None for all of them."""
        if self._watch is None:
            return None
        try:
            events = self._watch.take()
        except EventsLostError:
            return None
        changed = {self._numbers[number] for number in events if number in self._numbers}
        named = _IGNORE_FILE.encode()
        return None if any(named in names for names in events.values()) else changed | self._linked.keys()

    def _again(self) -> None:
        self.close()
        self._numbers, self._rules, self._linked, self._is_forced = {}, {}, {}, False
        trust = self._root.trust
        self._skipped = frozenset(trust.hidden_in(())) if trust.hides else frozenset()
        before, self._listing = self._listing, {}
        self._times += 1
        if self._times > 2 and self._can_watch and sum(map(len, before.values())) >= _WATCH_FROM:
            with suppress(OSError):
                self._watch = FolderWatch()
        self._grow("", self._own_rules())

    def _own_rules(self) -> Rules:
        try:
            folder = os.open(".git/info", FOLDER, dir_fd=self._root.fd)
        except OSError:
            return ()
        try:
            return ((0, IgnoreRules(read(folder, "exclude"))),)
        finally:
            os.close(folder)

    def _grow(self, path: str, rules: Rules) -> None:
        """List a folder and everything below it."""
        try:
            fd = enter(self._root.fd, path)
        except OSError:
            return  # gone, or not for us to read: it counts like an ignored one
        self._list(fd, path, rules, deep=True)

    def _list(self, fd: int, path: str, rules: Rules, *, deep: bool) -> dict[str, tuple[str, Rules]]:
        """List an open folder, which is closed; the folders in it that are to be listed too, unless `deep` did."""
        try:
            self._follow(fd, path)
            try:
                found, folders, linked = self._entries(fd, path)
            except PermissionError:  # its names can be read and nothing else: it counts like an ignored one
                self._drop(path)
                return {}
            if linked or self._prefix + path in self._linked:
                self._linked[self._prefix + path] = linked
            if _IGNORE_FILE in found:
                rules = ((len(path), IgnoreRules(read(fd, _IGNORE_FILE))), *rules)
            self._rules[path] = rules
            self._listing[self._prefix + path] = found
            self._add(len(found))
            if self._skipped:
                for name in [name for name in found if path + name in self._skipped]:
                    del found[name]
                folders = [name for name in folders if name in found]
            inner = {name: (f"{path}{name}/", rules) for name in folders if not self._is_ignored(path + name, rules)}
            if deep and path.count("/") < _MAX_DEPTH:
                for name, (below, _) in inner.items():
                    with suppress(OSError):
                        self._list(os.open(name, FOLDER, dir_fd=fd), below, rules, deep=True)
            return inner
        finally:
            os.close(fd)

    def _entries(self, fd: int, path: str) -> FolderEntries:
        return _entries(fd, top=not path)

    def _add(self, count: int) -> None:
        self._count += count
        if self._count > _MAX_ENTRIES:
            self._listing = {}
            raise ToolError(ErrorCode.TOO_LARGE, f"the workspace has more than {_MAX_ENTRIES:,} files")

    def _renew(self, full: str) -> None:
        """List a folder of the listing again, add the new folders in it, and drop those that are gone."""
        path = full[len(self._prefix) :]
        before = self._listing[full]
        try:
            fd = enter(self._root.fd, path)
        except OSError:
            self._drop(path)
            return
        inner = self._list(fd, path, self._outer_rules(path), deep=False)
        now = self._listing.get(full, {})
        for name, stamp in before.items():
            if is_folder(stamp) and name and now.get(name) != stamp:
                self._drop(f"{path}{name}/")
        for below, rules in inner.values():
            if self._prefix + below not in self._listing:
                self._grow(below, rules)

    def _outer_rules(self, path: str) -> Rules:
        """The rules for a folder, without those of its own ignore file."""
        return tuple(one for one in self._rules.get(path, ()) if one[0] != len(path) or not path)

    def _drop(self, path: str) -> None:
        for one in [one for one in self._listing if one.startswith(self._prefix + path)]:
            del self._listing[one]

    def _follow(self, fd: int, path: str) -> None:
        """Watch a folder; where that cannot be done, everything is listed each time."""
        if self._watch is None:
            return
        try:
            self._numbers[self._watch.add(fd, os.fstat(fd).st_dev)] = self._prefix + path
        except OSError:
            self._can_watch = False
            self.close()

    def _is_ignored(self, path: str, rules: Rules) -> bool:
        if path.rpartition("/")[2] in CACHES:
            return not self._is_tracked(f"{path}/")
        for start, one in rules:
            verdict = one.verdict(path[start:], True)
            if verdict is not None:
                if verdict and f"{self._prefix}{path}/" in self._listed:
                    self._is_forced, verdict = True, False
                return verdict and not self._is_tracked(f"{path}/")
        return False


def is_listed(name: str, *, top: bool) -> bool:
    """Whether an entry counts: not the repository at the top, and no file of ours in the making."""
    return not (top and name == REPOSITORY) and not is_passing_name(name)


def stamp_folder(fd: int) -> Stamp:
    """The own stamp of an open folder."""
    return stamp_status(os.fstat(fd))


def stamp_status(about: os.stat_result) -> Stamp:
    """The own stamp of a folder with this status."""
    return about.st_mode, about.st_ino, 0, about.st_mtime_ns, about.st_ctime_ns


def stamp_entry(about: os.stat_result) -> Stamp:
    """The stamp of what is in a folder."""
    if stat.S_ISDIR(about.st_mode):
        return about.st_mode, about.st_ino, 0, 0, 0
    return about.st_mode, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _entries(fd: int, *, top: bool) -> FolderEntries:
    """What is in an open folder.

    The repository at the top has its own guard; one further down is an entry, but is not listed itself.
    """
    found: dict[str, Stamp] = {ITSELF: stamp_folder(fd)}
    folders: list[str] = []
    linked: set[int] = set()
    with os.scandir(fd) as entries:
        for entry in entries:
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            name, mode = entry.name, about.st_mode
            if mode & _KIND == _IS_FOLDER:
                found[name] = mode, about.st_ino, 0, 0, 0
                folders.append(name)
            else:
                found[name] = mode, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
                if about.st_nlink > 1:
                    linked.add(about.st_ino)
    for name in [name for name in found if name[:1] == "." and not is_listed(name, top=top)]:
        del found[name]
    return found, [name for name in folders if name in found and name != REPOSITORY], linked


def differences(before: Listing, after: Listing) -> Iterator[tuple[str, Stamp | None, Stamp | None]]:
    """The paths at which something else stands, with what stood there and what does now, None for nothing.

    What is in a folder that is ignored in one of the two is not compared.
    """
    for folder, old, new in _folder_differences(before, after):
        yield from _differing(folder, old, new)


def split_differences(before: Listing, after: Listing, most: int) -> tuple[Differences, NewFiles]:
    """`differences`, but if there are more than `most` new regular files, these apart, by folder."""
    changed = sorted(_folder_differences(before, after))
    more: NewFiles = {}
    for folder, old, new in changed:
        fresh = {name: new[name] for name in new.keys() - old.keys()} if old else new
        files = {name: stamp for name, stamp in fresh.items() if stamp[0] & _KIND == stat.S_IFREG}
        if files:
            more[folder] = files
    if sum(map(len, more.values())) <= most:
        more = {}
    found: Differences = {}
    for folder, old, new in changed:
        apart = more.get(folder, {})
        rest = {name: stamp for name, stamp in new.items() if name not in apart} if apart else new
        found |= {path: (was, now) for path, was, now in _differing(folder, old, rest)}
    return found, more


def _folder_differences(before: Listing, after: Listing) -> Iterator[tuple[str, dict[str, Stamp], dict[str, Stamp]]]:
    if before is after:
        return
    both = ((one, before.get(one), after.get(one)) for one in before.keys() | after.keys())
    changed = [one for one, old, new in both if old is not new and old != new]
    closed = tuple(one for one in changed if (one in before) != (one in after) and _stands(one, before, after))
    for folder in changed:
        if not closed or not folder.startswith(closed):
            yield folder, before.get(folder, {}), after.get(folder, {})


def _differing(
    folder: str, old: dict[str, Stamp], new: dict[str, Stamp]
) -> Iterator[tuple[str, Stamp | None, Stamp | None]]:
    for name in old.keys() | new.keys() if old and new else old or new:
        was, now = old.get(name), new.get(name)
        if was != now and name:
            yield folder + name, was, now


def changed_folders(before: Listing, after: Listing) -> Iterator[tuple[str, Stamp, Stamp]]:
    """The folders that are in both listings and have other times now, with their stamps; not the top of all."""
    for folder, old in before.items():
        new = after.get(folder)
        if new is not None and new is not old and new[ITSELF] != old[ITSELF] and folder:
            yield folder[:-1], old[ITSELF], new[ITSELF]


def keep_entries(before: Listing, after: Listing, paths: Iterable[str]) -> Listing:
    """A later listing in which these paths are as they were before."""
    changed: dict[str, dict[str, Stamp]] = {}
    for path in paths:
        above, slash, name = path.rpartition("/")
        folder = above + slash
        old = before.get(folder, {})
        if folder not in changed:
            changed[folder] = dict(after.get(folder) or {name: old[name] for name in (ITSELF,) if name in old})
        if name in old:
            changed[folder][name] = old[name]
        else:
            changed[folder].pop(name, None)
    return {**after, **{folder: names for folder, names in changed.items() if names}} if changed else after


def is_folder(stamp: Stamp) -> bool:
    """Whether a folder has this stamp."""
    return stamp[0] & _KIND == _IS_FOLDER


def _stands(folder: str, *listings: Listing) -> bool:
    """Whether a folder is an entry of the folder above it in all of these listings."""
    above, _, name = folder[:-1].rpartition("/")
    above = f"{above}/" if above else ""
    return all(stat.S_ISDIR(one.get(above, {}).get(name, (0,))[0]) for one in listings)
