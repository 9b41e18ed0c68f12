"""The baseline of a repository: what makes git run programs or look elsewhere, as it was while nothing ran.

It covers the repository of a workspace, its submodules and its worktrees. `restore.py` puts back what differs from it,
`gitguard.py` decides when it is taken.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from toolroll.host.files.openat import PATH
from toolroll.host.runtime import dir_entries
from toolroll.host.runtime.dir_entries import DirEntry, Parts, open_dir

GIT: Parts = (".git",)
SPOTS: tuple[Parts, ...] = (
    ("config",),
    ("config.worktree",),
    ("commondir",),
    ("gitdir",),
    ("hooks",),
    ("info",),
    ("objects", "info", "alternates"),
)
"""In a repository's folder: what makes git run programs or look elsewhere; folders with all that is in them."""
MAX_NAMES = 2000  # names in one folder that are compared
MAX_BYTES = 8 << 20  # bytes of all files of a baseline together
MAX_DEPTH = 16
_NESTED = ("modules", "worktrees")  # where the folders of further repositories are
_MAX_REPOSITORIES = 1000
_MAX_MOUNTED = 17  # each takes about four mounts before every command; the rest is watched


@dataclass(slots=True)
class Baseline:
    """The spots of a repository and its nested repositories at one time."""

    repositories: list[Parts] = field(default_factory=list)
    entries: dict[Parts, DirEntry] = field(default_factory=dict)
    crowded: set[Parts] = field(default_factory=set)  # folders with more names than are compared

    def children(self, parts: Parts) -> list[str]:
        size = len(parts)
        return [one[-1] for one in self.entries if len(one) == size + 1 and one[:size] == parts]

    def mounts(self) -> tuple[list[Parts], list[Parts]]:
        """What a sandbox with mounts holds: folders that must keep their name, and what in them is read-only."""
        mounted = [one for one in self.repositories if not is_worktree(one)][:_MAX_MOUNTED]
        spots = [(*one, *spot) for one in mounted for spot in SPOTS]
        keep = [one for one in spots if one in self.entries and not stat.S_ISLNK(self.entries[one].mode)]
        if GIT in self.entries and stat.S_ISREG(self.entries[GIT].mode):
            keep.append(GIT)
        inside = (*mounted, *keep)
        hold = {one[:depth] for one in inside for depth in range(1, len(one))} | set(mounted)
        return sorted(hold), keep

    def watched(self) -> dict[Parts, set[str] | None]:
        """The folders in which a change can make a difference, each with the names that matter; None for all."""
        found: dict[Parts, set[str] | None] = {(): {GIT[0]}}

        def add(parts: Parts) -> None:
            for depth in range(len(parts)):
                names = found.setdefault(parts[:depth], set())
                if names is not None:
                    names.add(parts[depth])

        for repository in self.repositories:
            for spot in SPOTS:
                add((*repository, *spot))
        spots = {(*one, *spot) for one in self.repositories for spot in SPOTS}
        for parts, entry in self.entries.items():
            if entry.is_folder and any(parts[: len(one)] == one for one in spots):
                found[parts] = None
        return found

    def paths(self) -> tuple[list[str], list[str]]:
        """What must be looked at to know that nothing has changed: paths by their whole stamps, and folders of which
        only the identity counts, as commands change what is in them.
        """
        spots = {(*one, *spot) for one in self.repositories for spot in SPOTS}
        above = {one[:depth] for one in (*spots, *self.repositories) for depth in range(1, len(one))}
        nested = {(*one, kind) for one in self.repositories for kind in _NESTED}
        nested |= {one[:depth] for one in self.repositories[1:] for depth in range(2, len(one))}
        nested -= set(self.repositories)  # a folder in which repositories come and go
        known = (one for one in self.entries if not one[-1].endswith(".sample"))  # git never runs those
        whole = {GIT, *spots, *known, *nested} - (above - nested)
        return ["/".join(one) for one in sorted(whole)], ["/".join(one) for one in sorted(above - nested)]

    def encode(self) -> bytes:
        rows = [(_packed(parts), one.mode, *one.owner, one.data) for parts, one in self.entries.items()]
        return msgspec.msgpack.encode([[*map(_packed, self.repositories)], [*map(_packed, self.crowded)], rows])

    @classmethod
    def decode(cls, data: bytes) -> Baseline:
        """From a file; msgspec.MsgspecError for what `encode` did not write."""
        kind = tuple[list[bytes], list[bytes], list[tuple[bytes, int, int, int, bytes | None]]]
        repositories, crowded, rows = msgspec.msgpack.decode(data, type=kind)
        found = {_unpacked(name): DirEntry(mode, (user, group), (), kept) for name, mode, user, group, kept in rows}
        return cls([*map(_unpacked, repositories)], found, set(map(_unpacked, crowded)))


def is_worktree(repository: Parts) -> bool:
    """Whether this is the folder of a linked working tree: git removes it, so that it is watched and not mounted."""
    return repository[-2:-1] == ("worktrees",)


def is_for_web_servers(parts: Parts) -> bool:
    """Whether `git gc` writes this, which makes git run nothing: info/refs, and its drafts."""
    return parts[-2:-1] == ("info",) and (parts[-1] == "refs" or parts[-1].startswith("refs_"))


def points(repository: Parts) -> Iterator[tuple[Parts, bool]]:
    """What is looked at in a repository's folder, outer things first, and whether all that is in it counts too."""
    yield repository, False
    for spot in SPOTS:
        for depth in range(1, len(spot)):
            yield (*repository, *spot[:depth]), False
        yield (*repository, *spot), True


def take_baseline(root: int, known: Baseline | None = None) -> Baseline:
    """The baseline of the folder `root` now; files that have not changed since `known` are not read again."""
    return _Reader(root, {} if known is None else known.entries).read()


class _Reader:
    """Reads one baseline."""

    def __init__(self, root: int, known: dict[Parts, DirEntry]) -> None:
        self._root = root
        self._known = known
        self._taken = Baseline()
        self._left = MAX_BYTES

    def read(self) -> Baseline:
        self._add(self._root, GIT, deep=False)
        start = _start(self._root, self._taken.entries.get(GIT))
        if start is not None:
            self._taken.repositories = list(self._repositories(start))
        for repository in self._taken.repositories:
            for parts, deep in points(repository):
                try:
                    with open_dir(self._root, parts[:-1]) as folder:
                        self._add(folder, parts, deep=deep)
                except OSError:
                    continue  # no such folder, or a link in its place, which is kept as such
        return self._taken

    def _add(self, folder: int, parts: Parts, *, deep: bool) -> None:
        taken = self._taken
        entry = taken.entries.get(parts)
        if entry is None:
            entry = dir_entries.look(folder, parts[-1], self._known.get(parts), self._left)
            if entry is None:
                return
            self._left -= len(entry.data or b"")
            taken.entries[parts] = entry
        if not (deep and entry.is_folder) or len(parts) > MAX_DEPTH:
            return
        found = dir_entries.names(folder, parts[-1], MAX_NAMES)
        if found is None:
            taken.crowded.add(parts)
            return
        with open_dir(folder, parts[-1:]) as inside:
            for name in found:
                self._add(inside, (*parts, name), deep=True)

    def _repositories(self, start: Parts) -> Iterator[Parts]:
        """The folder of the repository, and those of its submodules and worktrees."""
        todo, seen = [start], 0
        while todo and seen < _MAX_REPOSITORIES:
            here, seen = todo.pop(), seen + 1
            try:
                with open_dir(self._root, here[:-1]) as above, open_dir(above, here[-1:]) as folder:
                    found = dir_entries.names(above, here[-1], MAX_NAMES) or []
                    is_one = here == start or "HEAD" in found
                    kinds = [name for name in _NESTED if is_one and name in found]
                    below = [(kind, one) for kind in kinds for one in dir_entries.names(folder, kind, MAX_NAMES) or []]
            except OSError:
                continue
            if is_one:
                yield here
                todo += [(*here, *one) for one in below]
            elif len(here) < MAX_DEPTH:  # a submodule may have the name a/b
                todo += [(*here, name) for name in found]


def _start(root: int, git: DirEntry | None) -> Parts | None:
    """Where the repository's folder is beneath `root`; None if there is none, or it lies outside."""
    if git is None or git.is_folder:
        return None if git is None else GIT
    target = os.fsdecode(git.data or b"")
    if stat.S_ISREG(git.mode):
        if not target.startswith("gitdir:"):
            return None
        target = target.removeprefix("gitdir:").strip()
    top = os.readlink(f"/proc/self/fd/{root}") if PATH else ""
    path = os.path.relpath(os.path.join(top, target), top) if top else os.path.normpath(target)
    parts = tuple(path.split("/"))
    return None if parts[0] in ("..", ".", "") or not target else parts


def _packed(parts: Parts) -> bytes:
    return os.fsencode("/".join(parts))


def _unpacked(name: bytes) -> Parts:
    return tuple(os.fsdecode(name).split("/"))
