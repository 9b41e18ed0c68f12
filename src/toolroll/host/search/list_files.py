"""The files beneath a folder, folder by folder and in no order: the quick way where there is much to pass by.

As in `walk`, everything is opened from the descriptor of the folder above it, so that no link is followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from toolroll.host.files import ignore
from toolroll.host.files.walk import FOLDER, Chain, Kind, enter, extend_rules, is_ignored, kind_of

if TYPE_CHECKING:
    from toolroll.host.search.query import Ground, Scope
    from toolroll.text.search.globs import Matcher

Aged = tuple[int, str, int]
"""A file: its age (less is newer), its path from the searched folder, its size. So the newest sorts first."""
Left = list[tuple[str, Kind]]
"""Files and folders that are passed over as hidden or ignored."""
Files = list[os.DirEntry[str]]
"""What is in a folder except folders, so also links and pipes."""
ByName = Callable[[str], object]
"""Whether a file is wanted, told by its name."""

_Held = tuple[Chain, ByName | None]
"""The rules that hold in a folder, and what tells by a name whether any may fit; None if there are none."""
_Level = tuple[int, str, _Held, list[str]]
"""A folder on the way down: its descriptor, its path, the rules in it, the folders in it that are to be entered."""
_HELD = 20  # folders that are kept open on the way down; what is in deeper ones is opened from the top
_CLOSED = -1
_UNCHECKED = 200  # files and folders that may be passed by before the clock is looked at


def names(ground: Ground, scope: Scope, left: Left | None = None) -> Iterator[str]:
    """The path of every regular file in scope, from the searched folder. `left` is as in `folders`."""
    wanted = scope.filter()
    for folder, files in folders(ground, scope, left):
        paths = [folder + entry.name for entry in files if entry.is_file(follow_symlinks=False)]
        yield from filter(wanted.includes, paths) if wanted.include else paths


def newest(ground: Ground, scope: Scope, matcher: Matcher) -> tuple[list[Aged], bool]:
    """The regular files in scope that match, newest first; and whether there was time for all."""
    found, whole = aged(ground, scope, matcher)
    found.sort()
    return found, whole


def aged(ground: Ground, scope: Scope, matcher: Matcher) -> tuple[list[Aged], bool]:
    """The same in no order."""
    found: list[Aged] = []
    every = "**" in matcher.names
    by_name = None if every else matcher.by_name()
    asked = [] if every or by_name else [matcher.matches]
    if scope.include:
        asked.append(scope.filter().includes)
    whole = True
    try:
        for folder, files in folders(ground, scope, None, by_name):
            meant = [one for one in files if all(tell(folder + one.name) for tell in asked)] if asked else files
            if meant:
                _add(found, folder, meant)
    except TimeoutError:
        whole = False
    return found, whole


def _add(found: list[Aged], folder: str, files: Files) -> None:
    for entry in files:
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        if stat.S_ISREG(about.st_mode):
            found.append((-about.st_mtime_ns, folder + entry.name, about.st_size))


def folders(
    ground: Ground, scope: Scope, left: Left | None = None, by_name: ByName | None = None
) -> Iterator[tuple[str, Files]]:
    """Every folder in scope before those in it, and its files, which can be asked until the next folder comes.

    Of the files those that `by_name` wants, if it is given; `scope.include` is left to the caller. A path is empty or
    has a slash at its end; bytes that are not UTF-8 are lone surrogates. Folders that cannot be read are counted in
    `ground`. What is hidden or ignored is added to `left`.
    """
    reader = _Reader(ground, scope, left, by_name)
    way: list[_Level] = [(os.dup(ground.fd), "", reader.above, [] if scope.depth == 0 else ["."])]
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
                ground.unreadable += 1
                continue
            way.append(level)
            if reader.passed > _UNCHECKED:
                ground.check()
                reader.passed = 0
            yield level[1], files
            if len(way) > _HELD:
                way[-1] = (_CLOSED, *level[1:])
                os.close(level[0])
            if len(way) - 1 == scope.depth:
                level[3].clear()
    finally:
        for fd, *_ in way:
            if fd != _CLOSED:
                os.close(fd)


class _Reader:
    """Tells what of a folder is in scope."""

    def __init__(self, ground: Ground, scope: Scope, left: Left | None, by_name: ByName | None) -> None:
        self.passed = _UNCHECKED
        """Files and folders that were passed by since somebody set it to zero."""
        self._left = left
        self._by_name = by_name
        self._top = ground.fd
        self._hidden = scope.hidden
        self._ignored = scope.ignored
        self._skip = frozenset((*scope.skip, ".git"))
        self._rules = ignore.IgnoreRules(() if scope.ignored else ground.rules)
        self._excludes = scope.filter().excludes if scope.exclude else None
        self._picks = bool(self._excludes or scope.skip or scope.hidden)
        self.above: _Held = ({}, ignore.quick_check(self._rules.every) if self._rules else None)
        """The rules that hold everywhere."""

    def enter(self, above: _Level) -> tuple[_Level, Files]:
        """Open the next folder in the one above it, and read it."""
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
        """What is to be known of an open folder, and what is in it except folders, as far as it is wanted."""
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
        if self._left is not None and len(entries) > len(inner) + len(files):
            self._left += self._passed(path, entries, {*inner, *(entry.name for entry in files)})
        return (fd, path, held, inner), files

    def _extended(self, held: _Held, fd: int, path: str, dotted: Files) -> _Held:
        """The rules that hold in a folder with these ignore files, if they are such."""
        chain = extend_rules(held[0], fd, path, dotted)
        if chain is held[0]:
            return held
        rules = [self._rules, *(rules for levels in chain.values() for _, rules in levels)]
        return chain, ignore.quick_check(rule for one in rules for rule in one.every)

    def _in_scope(self, path: str, held: _Held, inner: list[str], files: Files) -> tuple[list[str], Files]:
        """Those folders and files that are neither ignored nor excluded."""
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
        """Whether it is no folder, and its name is wanted."""
        return not entry.is_dir(follow_symlinks=False) and (self._by_name is None or bool(self._by_name(entry.name)))

    def _passed(self, path: str, entries: Files, kept: set[str]) -> Iterator[tuple[str, Kind]]:
        """What of a folder's contents is passed over and could be searched."""
        for entry in entries:
            kind = None if entry.name in kept else kind_of(entry)
            if kind is None or (entry.name == ".git" and kind == "directory"):
                continue
            if kind != "directory" and not self._is_file(entry):
                continue
            if not self._is_excluded(path + entry.name):
                yield path + entry.name, kind
