"""List the files beneath a folder, in no order: faster than `Walk` in large trees.

As in `walk`, each entry is opened from the descriptor of the folder above it, so that no link is followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from toolroll.host.files import ignore
from toolroll.host.files.walk import FOLDER, Chain, enter, extend_rules, is_ignored
from toolroll.host.search.query import Scope, SearchRoot

if TYPE_CHECKING:
    from toolroll.text.search.globs import Matcher

Aged = tuple[int, str, int]
"""A file: age (less is newer), path relative to the searched folder, size. The newest sorts first."""
Files = list[os.DirEntry[str]]
"""All entries of a folder that are no folders: links and pipes too."""
ByName = Callable[[str], object]
"""Whether a file with this name is wanted."""

_Held = tuple[Chain, ByName | None]
"""The ignore rules of a folder, and a quick test whether a name may fit any; None without rules."""
_Level = tuple[int, str, _Held, list[str]]
"""A folder on the way down: descriptor, path, rules, and the folders in it that are still to be entered."""
_MAX_OPEN_FOLDERS = 20  # on the way down; deeper ones are opened from the top
_CLOSED = -1
_ENTRIES_PER_CHECK = 200  # entries between two looks at the clock


def list_paths(root: SearchRoot, scope: Scope) -> Iterator[str]:
    """The path of every regular file in scope."""
    wanted = scope.filter()
    for folder, files in walk_folders(root, scope):
        paths = [folder + entry.name for entry in files if entry.is_file(follow_symlinks=False)]
        yield from filter(wanted.includes, paths) if wanted.include else paths


def list_aged(
    root: SearchRoot, scope: Scope, matcher: Matcher, links: list[str] | None = None
) -> tuple[list[Aged], bool]:
    """The regular files in scope that match, in no order, and whether there was time for all. Adds to `links`."""
    found: list[Aged] = []
    every = "**" in matcher.names
    by_name = None if every else matcher.by_name()
    asked = [] if every or by_name else [matcher.matches]
    if scope.include:
        asked.append(scope.filter().includes)
    whole = True
    try:
        for folder, files in walk_folders(root, scope, by_name):
            meant = [one for one in files if all(test(folder + one.name) for test in asked)] if asked else files
            if meant:
                _add(found, folder, meant, links)
    except TimeoutError:
        whole = False
    return found, whole


def _add(found: list[Aged], folder: str, files: Files, links: list[str] | None) -> None:
    for entry in files:
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # deleted meanwhile
        if stat.S_ISREG(about.st_mode):
            found.append((-about.st_mtime_ns, folder + entry.name, about.st_size))
        elif links is not None and stat.S_ISLNK(about.st_mode):
            links.append(folder + entry.name)


def walk_folders(root: SearchRoot, scope: Scope, by_name: ByName | None = None) -> Iterator[tuple[str, Files]]:
    """Each folder in scope, parents first, with its files; their entries are valid until the next folder.

    Only files that `by_name` wants; `scope.include` is left to the caller. A path is empty or ends in a slash; bytes
    that are not UTF-8 are lone surrogates. Counts unreadable folders in `root`.
    """
    reader = _Reader(root, scope, by_name)
    way: list[_Level] = [(os.dup(root.fd), "", reader.above, [] if scope.depth == 0 else ["."])]
    try:
        while way:
            fd, _, _, inner = way[-1]
            if not inner:
                way.pop()
                if fd != _CLOSED:
                    os.close(fd)
                continue
            try:
                level, files = reader.enter(way[-1])
            except OSError:
                root.unreadable += 1
                continue
            way.append(level)
            if reader.passed > _ENTRIES_PER_CHECK:
                root.check()
                reader.passed = 0
            yield level[1], files
            if len(way) > _MAX_OPEN_FOLDERS:
                way[-1] = (_CLOSED, *level[1:])
                os.close(level[0])
            if len(way) - 1 == scope.depth:
                level[3].clear()
    finally:
        for fd, *_ in way:
            if fd != _CLOSED:
                os.close(fd)


class _Reader:
    """Reads folders, and leaves out what is not in scope."""

    def __init__(self, root: SearchRoot, scope: Scope, by_name: ByName | None) -> None:
        self.passed = _ENTRIES_PER_CHECK
        """Entries since the last look at the clock."""
        self._by_name = by_name
        self._top = root.fd
        self._hidden = scope.hidden
        self._ignored = scope.ignored
        self._skip = frozenset((*scope.skip, ".git"))
        self._rules = ignore.IgnoreRules(() if scope.ignored else root.rules)
        self._excludes = scope.filter().excludes if scope.exclude else None
        self._picks = bool(self._excludes or scope.skip or scope.hidden)
        self.above: _Held = ({}, ignore.quick_check(self._rules.every) if self._rules else None)
        """The rules of the folders above."""

    def enter(self, above: _Level) -> tuple[_Level, Files]:
        """Open and read the next folder of `above`."""
        fd, path, held, names = above
        name = names.pop()
        path = "" if name == "." else f"{path}{name}/"
        fd = enter(self._top, path) if fd == _CLOSED else os.open(name, FOLDER, dir_fd=fd)
        try:
            return self._read(fd, path, held)
        except BaseException:
            os.close(fd)
            raise

    def _read(self, fd: int, path: str, held: _Held) -> tuple[_Level, Files]:
        """Read an open folder: its level, and its files that are in scope."""
        inner: list[str] = []
        files: Files = []
        dotted: Files = []
        wanted = self._by_name
        entries = list(os.scandir(fd))
        self.passed += len(entries) + 1
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                dotted.append(entry)
            elif entry.is_dir(follow_symlinks=False):
                inner.append(name)
            elif wanted is None or wanted(name):
                files.append(entry)
        if dotted and not self._ignored:
            held = self._extended(held, fd, path, dotted)
        if dotted and self._hidden:
            inner += [entry.name for entry in dotted if entry.is_dir(follow_symlinks=False)]
            files += [entry for entry in dotted if self._is_file(entry)]
        if held[1] is not None or self._picks:
            inner, files = self._in_scope(path, held, inner, files)
        return (fd, path, held, inner), files

    def _extended(self, held: _Held, fd: int, path: str, dotted: Files) -> _Held:
        """The rules of a folder, extended by its own ignore files."""
        chain = extend_rules(held[0], fd, path, dotted)
        if chain is held[0]:
            return held
        rules = [self._rules, *(rules for levels in chain.values() for _, rules in levels)]
        return chain, ignore.quick_check(rule for one in rules for rule in one.every)

    def _in_scope(self, path: str, held: _Held, inner: list[str], files: Files) -> tuple[list[str], Files]:
        """The folders and files that are neither ignored nor excluded."""
        chain, may_fit = held
        if may_fit is not None:
            rules = self._rules
            inner = [one for one in inner if not (may_fit(one) and is_ignored(path + one, True, chain, rules))]
            files = [
                one for one in files if not (may_fit(one.name) and is_ignored(path + one.name, False, chain, rules))
            ]
        if self._picks:
            inner = [one for one in inner if one not in self._skip and not self._is_excluded(path + one)]
            files = [one for one in files if not self._is_excluded(path + one.name)]
        return inner, files

    def _is_excluded(self, path: str) -> bool:
        return self._excludes is not None and self._excludes(path)

    def _is_file(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry is no folder and its name is wanted."""
        return not entry.is_dir(follow_symlinks=False) and (self._by_name is None or bool(self._by_name(entry.name)))
