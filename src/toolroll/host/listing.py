"""The files beneath a folder, folder by folder and in no order: the quick way where there is much to pass by.

As in `walk`, everything is opened from the descriptor of the folder above it, so that no link is followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolroll.host import ignore
from toolroll.host.walk import FOLDER, Chain, Kind, enter, extended, is_ignored, kind_of

if TYPE_CHECKING:
    from toolroll.host.query import Ground, Scope
    from toolroll.text.globs import Matcher

Aged = tuple[int, str, int]
"""A file: its age (less is newer), its path from the searched folder, its size. So the newest sorts first."""
Left = list[tuple[str, Kind]]
"""Files and folders that are passed over as hidden or ignored."""
Files = list[os.DirEntry[str]]
"""What is in a folder except folders, so also links and pipes."""

_Level = tuple[int, str, Chain, list[str]]
"""A folder on the way down: its descriptor, its path, the rules in it, the folders in it that are to be entered."""
_HELD = 20  # folders that are kept open on the way down; what is in deeper ones is opened from the top
_CLOSED = -1
_UNCHECKED = 200  # files and folders that may be passed by before the clock is looked at


def names(ground: Ground, scope: Scope) -> Iterator[str]:
    """The path of every regular file in scope, from the searched folder."""
    wanted = scope.filter()
    for folder, files in folders(ground, scope):
        paths = [folder + entry.name for entry in files if entry.is_file(follow_symlinks=False)]
        yield from filter(wanted.includes, paths) if wanted.include else paths


def newest(
    ground: Ground, scope: Scope, matcher: Matcher, most: int | None = None, left: Left | None = None
) -> tuple[list[Aged], bool]:
    """The regular files in scope that match, newest first; and whether that is all.

    It is not if the time was up before, or if there are more than `most`. `left` is as in `folders`.
    """
    found: list[Aged] = []
    includes, by_name = scope.filter().includes, matcher.by_name()
    try:
        for folder, files in folders(ground, scope, left):
            if by_name is not None:
                meant = [entry for entry in files if by_name(entry.name)]
            else:
                meant = [entry for entry in files if matcher.matches(folder + entry.name)]
            if scope.include:
                meant = [entry for entry in meant if includes(folder + entry.name)]
            if meant:
                _add(found, folder, meant)
                if most is not None and len(found) > most:
                    return sorted(found), False
    except TimeoutError:
        return sorted(found), False
    return sorted(found), True


def _add(found: list[Aged], folder: str, files: Files) -> None:
    for entry in files:
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        if stat.S_ISREG(about.st_mode):
            found.append((-about.st_mtime_ns, folder + entry.name, about.st_size))


def folders(ground: Ground, scope: Scope, left: Left | None = None) -> Iterator[tuple[str, Files]]:
    """Every folder in scope before those in it, and its files, which can be asked until the next folder comes.

    A path is empty or has a slash at its end; bytes that are not UTF-8 are lone surrogates. `scope.include` is left
    to the caller. Folders that cannot be read are counted in `ground`. What is hidden or ignored is added to `left`.
    """
    reader, passed = _Reader(ground, scope, left), _UNCHECKED
    way: list[_Level] = [(os.dup(ground.fd), "", {}, [] if scope.depth == 0 else ["."])]
    try:
        while way:
            fd, _, _, inner = way[-1]
            if not inner:
                way.pop()
                _close(fd)
                continue
            try:
                level, files = reader.enter(way[-1])
            except OSError:
                ground.unreadable += 1
                continue
            way.append(level)
            passed += len(files) + 1
            if passed > _UNCHECKED:
                ground.check()
                passed = 0
            yield level[1], files
            if len(way) > _HELD:
                way[-1] = (_CLOSED, *level[1:])
                os.close(level[0])
            if len(way) - 1 == scope.depth:
                level[3].clear()
    finally:
        for fd, *_ in way:
            _close(fd)


def _close(fd: int) -> None:
    if fd != _CLOSED:
        os.close(fd)


class _Reader:
    """Tells what of a folder is in scope."""

    def __init__(self, ground: Ground, scope: Scope, left: Left | None) -> None:
        self._left = left
        self._top = ground.fd
        self._hidden = scope.hidden
        self._ignored = scope.ignored
        self._skip = frozenset((*scope.skip, ".git"))
        self._rules = ignore.Rules(() if scope.ignored else ground.rules)
        self._excludes = scope.filter().excludes if scope.exclude else None
        self._picks = bool(self._rules or self._excludes or scope.skip or scope.hidden)

    def enter(self, above: _Level) -> tuple[_Level, Files]:
        """Open the next folder in the one above it, and read it."""
        fd, path, chain, names = above
        name = names.pop()
        path = "" if name == "." else f"{path}{name}/"
        fd = enter(self._top, path) if fd == _CLOSED else os.open(name, FOLDER, dir_fd=fd)
        try:
            chain, inner, files = self._read(fd, path, chain)
        except BaseException:
            os.close(fd)
            raise
        return (fd, path, chain, inner), files

    def _read(self, fd: int, path: str, chain: Chain) -> tuple[Chain, list[str], Files]:
        """The rules that hold in a folder, the names of the folders in it, and the rest."""
        inner: list[str] = []
        files: Files = []
        dotted: Files = []
        entries = list(os.scandir(fd))
        for entry in entries:
            if entry.name[0] == ".":
                dotted.append(entry)
            elif entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
            else:
                files.append(entry)
        if dotted:
            chain = chain if self._ignored else extended(chain, fd, path, dotted)
            if self._hidden:
                inner += [entry.name for entry in dotted if entry.is_dir(follow_symlinks=False)]
                files += [entry for entry in dotted if not entry.is_dir(follow_symlinks=False)]
        if chain or self._picks:
            files = [entry for entry in files if not self._keeps_out(path + entry.name, chain)]
            inner = [name for name in inner if not self._keeps_out(path + name, chain, folder=True)]
        if self._left is not None and len(entries) > len(inner) + len(files):
            self._left += self._passed(path, entries, {*inner, *(entry.name for entry in files)})
        return chain, inner, files

    def _passed(self, path: str, entries: Files, kept: set[str]) -> Iterator[tuple[str, Kind]]:
        """What of a folder's contents is passed over and could be searched."""
        for entry in entries:
            kind = None if entry.name in kept else kind_of(entry)
            if kind is None or (entry.name == ".git" and kind == "directory"):
                continue
            if self._excludes is None or not self._excludes(path + entry.name):
                yield path + entry.name, kind

    def _keeps_out(self, path: str, chain: Chain, *, folder: bool = False) -> bool:
        if folder and path[path.rfind("/") + 1 :] in self._skip:
            return True
        if self._excludes is not None and self._excludes(path):
            return True
        return not self._ignored and is_ignored(path, folder, chain, self._rules)
