"""Walk a folder on directory descriptors: no link is followed, even if one is swapped in meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolroll.host.files import ignore

Kind = Literal["file", "directory", "link"]

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened from the one above it, in order to be listed."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Chain = Mapping[str, tuple[tuple[int, ignore.IgnoreRules], ...]]
"""For each kind of ignore file the rules that hold in a folder, nearest first, and where paths start."""


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """Something that the walk came by. `stat` and `open` work until the walk goes on."""

    path: str
    """From the folder of the walk, with forward slashes; bytes that are not UTF-8 are lone surrogates."""
    kind: Kind
    _entry: os.DirEntry[str]
    _folder: int

    def stat(self) -> os.stat_result:
        return self._entry.stat(follow_symlinks=False)

    def link(self) -> str:
        """Where the link leads."""
        return os.readlink(self._entry.name, dir_fd=self._folder)

    def open(self) -> int:
        """A descriptor of the file for reading, which never waits; check that it is a regular file."""
        return os.open(self._entry.name, _FILE, dir_fd=self._folder)


class Walk:
    """All that is in an open folder, by name, each folder before its contents. Iterate over it once.

    `hidden` shows names with a dot, `ignored` what ignore files keep out; folders named in `skip` and
    `.git` stay out in any case. `rules` are lines from ignore files above (see `ignore.inherited`).
    """

    def __init__(
        self,
        fd: int,
        *,
        hidden: bool = False,
        ignored: bool = False,
        skip: Collection[str] = (),
        depth: int | None = None,
        rules: Sequence[str] = (),
        excludes: Callable[[str], bool] | None = None,
    ) -> None:
        self._fd = fd
        self._hidden = hidden
        self._ignored = ignored
        self._skip = frozenset(skip)
        self._depth = depth
        self._rules = ignore.IgnoreRules(rules)
        self._excludes = excludes
        self.unreadable = 0
        """Folders that could not be entered."""

    def __iter__(self) -> Iterator[WalkEntry]:
        todo: list[tuple[str, int, Chain]] = [("", 1, {})] if self._depth != 0 else []
        while todo:
            path, depth, above = todo.pop()
            try:
                fd = self.enter(path)
            except OSError:
                self.unreadable += 1
                continue
            inner: list[tuple[str, int, Chain]] = []
            try:
                chain, listed = self.look(fd, path, above)
                for seen in listed:
                    yield seen
                    if seen.kind == "directory" and depth != self._depth:
                        inner.append((f"{seen.path}/", depth + 1, chain))
            finally:
                os.close(fd)
            todo += reversed(inner)

    def look(self, fd: int, path: str, above: Chain) -> tuple[Chain, Iterator[WalkEntry]]:
        """What is in one open folder, whose `path` is empty or ends in "/", and the rules that hold in it."""
        with os.scandir(fd) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        chain = above if self._ignored else extend_rules(above, fd, path, entries)
        return chain, self._list(fd, path, entries, chain)

    def enter(self, path: str) -> int:
        """Open a folder of the walk, whose `path` is empty or ends in "/"."""
        return enter(self._fd, path)

    def ignores(self, path: str, folder: bool, chain: Chain) -> bool:
        """Whether ignore files keep out what is at a path, by the rules of the folder that it is in."""
        return is_ignored(path, folder, chain, self._rules)

    def _list(self, fd: int, path: str, entries: list[os.DirEntry[str]], chain: Chain) -> Iterator[WalkEntry]:
        for entry in entries:
            kind = kind_of(entry)
            where = path + entry.name
            if (
                kind is None
                or (entry.name == ".git" and kind == "directory")
                or (self._excludes and self._excludes(where))
            ):
                continue
            hidden = entry.name.startswith(".") and not self._hidden
            if not hidden and not self._is_ignored(entry.name, where, kind, chain):
                yield WalkEntry(where, kind, entry, fd)

    def _is_ignored(self, name: str, path: str, kind: Kind, chain: Chain) -> bool:
        folder = kind == "directory"
        if folder and name in self._skip:
            return True
        return not self._ignored and is_ignored(path, folder, chain, self._rules)


def enter(top: int, path: str) -> int:
    """Open a folder from the top, step by step, so that the depth of a tree needs no more descriptors."""
    fd = os.open(".", FOLDER, dir_fd=top)
    for name in path.split("/")[:-1]:
        try:
            inner = os.open(name, FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def is_ignored(path: str, folder: bool, chain: Chain, weakest: ignore.IgnoreRules) -> bool:
    """Whether ignore files keep out a file or folder: those on the way to it, else those above the whole walk."""
    for levels in chain.values():
        for start, rules in levels:
            verdict = rules.verdict(path[start:] if start else path, folder)
            if verdict is not None:
                return verdict
    return bool(weakest.verdict(path, folder))


def extend_rules(above: Chain, fd: int, path: str, entries: list[os.DirEntry[str]]) -> Chain:
    """The rules that hold in a folder: those from above, and those of its own ignore files."""
    own = {entry.name for entry in entries} & set(ignore.NAMES)
    if not own:
        return above
    return {
        name: (((len(path), ignore.IgnoreRules(ignore.read(fd, name))),) if name in own else ()) + above.get(name, ())
        for name in ignore.NAMES  # strongest first
    }


def kind_of(entry: os.DirEntry[str]) -> Kind | None:
    """What is in a folder under a name; None for what no search ever looks at."""
    if entry.is_symlink():
        return "link"
    if entry.is_dir():
        return "directory"
    return "file" if entry.is_file() else None
