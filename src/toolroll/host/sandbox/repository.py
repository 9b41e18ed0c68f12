"""A repository's settings and hooks, put back when a command has changed them: what git runs must stay the user's.

Landlock cannot make one folder in a writable one read-only, so this is done instead, before and after the command.
Whatever else changes them meanwhile is undone too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from toolroll.host.beneath import LIST, PATH
from toolroll.host.sandbox import entries
from toolroll.host.sandbox.entries import Entry, Parts, entered

_GIT = (".git",)
# Of a repository's folder: what makes git run programs or look elsewhere; folders with all that is in them.
_SPOTS: tuple[Parts, ...] = (
    ("config",),
    ("config.worktree",),
    ("commondir",),
    ("gitdir",),
    ("hooks",),
    ("info",),
    ("objects", "info", "alternates"),
)
_NESTED = ("modules", "worktrees")  # where the folders of further repositories are
_MOST_REPOSITORIES = 100
_MOST_NAMES = 2000  # in one folder
_MOST_BYTES = 8 << 20  # of all files together
_DEEPEST = 16


@dataclass(slots=True)
class _Snapshot:
    """What is to stay, as it was."""

    repositories: list[Parts] = field(default_factory=list)
    entries: dict[Parts, Entry] = field(default_factory=dict)
    crowded: set[Parts] = field(default_factory=set)
    """Folders with more in them than is kept."""
    left: int = _MOST_BYTES

    def children(self, parts: Parts) -> list[str]:
        """The names of what was kept in a folder."""
        size = len(parts)
        return [one[-1] for one in self.entries if len(one) == size + 1 and one[:size] == parts]


def _points(repository: Parts) -> Iterator[tuple[Parts, bool]]:
    """What is looked at in a repository's folder, outer things first, and whether all that is in it counts too."""
    yield repository, False
    for spot in _SPOTS:
        for depth in range(1, len(spot)):
            yield (*repository, *spot[:depth]), False
        yield (*repository, *spot), True


class _Reader:
    """Takes a snapshot, with an earlier one at hand."""

    def __init__(self, root: int, known: dict[Parts, Entry]) -> None:
        self._root = root
        self._known = known
        self._taken = _Snapshot()

    def read(self) -> _Snapshot:
        self._add(self._root, _GIT, deep=False)
        start = _start(self._root, self._taken.entries.get(_GIT))
        if start is not None:
            self._taken.repositories = list(self._repositories(start))
        for repository in self._taken.repositories:
            for parts, deep in _points(repository):
                try:
                    with entered(self._root, parts[:-1]) as folder:
                        self._add(folder, parts, deep=deep)
                except OSError:
                    continue  # no such folder, or a link in its place, which is kept as such
        return self._taken

    def _add(self, folder: int, parts: Parts, *, deep: bool) -> None:
        taken = self._taken
        entry = taken.entries.get(parts)
        if entry is None:
            entry = entries.look(folder, parts[-1], self._known.get(parts), taken.left)
            if entry is None:
                return
            taken.left -= len(entry.data or b"")
            taken.entries[parts] = entry
        if not (deep and entry.is_folder) or len(parts) > _DEEPEST:
            return
        found = entries.names(folder, parts[-1], _MOST_NAMES)
        if found is None:
            taken.crowded.add(parts)
            return
        with entered(folder, parts[-1:]) as inside:
            for name in found:
                self._add(inside, (*parts, name), deep=True)

    def _repositories(self, start: Parts) -> Iterator[Parts]:
        """The folder of the repository, and those of its submodules and worktrees."""
        todo, seen = [start], 0
        while todo and seen < _MOST_REPOSITORIES:
            here, seen = todo.pop(), seen + 1
            try:
                with entered(self._root, here[:-1]) as above, entered(above, here[-1:]) as folder:
                    found = entries.names(above, here[-1], _MOST_NAMES) or []
                    is_one = here == start or "HEAD" in found
                    kinds = [name for name in _NESTED if is_one and name in found]
                    below = [(kind, one) for kind in kinds for one in entries.names(folder, kind, _MOST_NAMES) or []]
            except OSError:
                continue
            if is_one:
                yield here
                todo += [(*here, *one) for one in below]
            elif len(here) < _DEEPEST:  # a submodule may have the name a/b
                todo += [(*here, name) for name in found]


class Kept:
    """A repository's settings and hooks as they were before a command. Good for one command."""

    def __init__(self, root: int, taken: _Snapshot) -> None:
        self._root = root
        self._mode = stat.S_IMODE(os.fstat(root).st_mode)
        self._taken = taken
        folders = dict.fromkeys((_GIT, *taken.repositories[:1]))
        self._held = {parts: fd for parts in folders if (fd := _hold(root, parts)) is not None}

    @classmethod
    def before(cls, root: int | str, earlier: Kept | None = None) -> Kept:
        """The repository of the folder `root` as it is now.

        What has not changed since `earlier` is taken from there: it costs a look at each file and no more.
        """
        fd = os.open(root, LIST) if isinstance(root, str) else os.open(".", LIST, dir_fd=root)
        try:
            return cls(fd, _Reader(fd, {} if earlier is None else earlier._taken.entries).read())
        except BaseException:
            os.close(fd)
            raise

    def mend(self) -> tuple[str, ...]:
        """Put back what is different now; a sentence for each thing that was."""
        try:
            return tuple(self._mended())
        finally:
            self.close()

    def close(self) -> None:
        """Give the descriptors back; nothing can be mended afterwards."""
        fds, self._root, self._held = (self._root, *self._held.values()), -1, {}
        for fd in fds:
            if fd >= 0:
                os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_held"):
            self.close()

    def _mended(self) -> Iterator[str]:
        if stat.S_IMODE(os.fstat(self._root).st_mode) != self._mode:
            os.fchmod(self._root, self._mode)  # else we might not get in
        for parts, fd in self._held.items():
            try:
                sentence, there = _bring_back(self._root, parts, fd)
            except OSError as error:
                sentence, there = (
                    f"{_shown(parts)} is another one now and could not be put back: {error.strerror}.",
                    False,
                )
            if sentence:
                yield sentence
            if not there:
                return
        points = [(_GIT, False), *(point for one in self._taken.repositories for point in _points(one))]
        for parts, deep in dict.fromkeys(points):
            try:
                with entered(self._root, parts[:-1]) as folder:
                    yield from self._compare(folder, parts, deep=deep)
            except OSError as error:
                if parts in self._taken.entries:
                    yield f"{_shown(parts)} could not be looked at: {error.strerror}."

    def _compare(self, folder: int, parts: Parts, *, deep: bool) -> Iterator[str]:
        """Mend one thing and what is in it."""
        was = self._taken.entries.get(parts)
        now = entries.look(folder, parts[-1], was, _MOST_BYTES)
        if was is None:
            if now is not None and deep:
                yield f"{_shown(parts)} was added by the command; {self._remove(folder, parts, now)}."
            return
        if now is None or not was.same(now):
            how = "removed" if now is None else "changed"
            yield f"{_shown(parts)} was {how} by the command; {self._restore(folder, parts, was, now)}."
        if not (deep and was.is_folder) or parts in self._taken.crowded or len(parts) > _DEEPEST:
            return
        rebuilt = now is None or not now.is_folder
        expected = self._taken.children(parts)
        found = entries.names(folder, parts[-1], _MOST_NAMES + len(expected))
        if found is None:  # a crowd could hide one among many: the whole folder makes way
            aside = self._aside(folder, parts)
            entries.put(folder, parts[-1], was)
            yield f"{_shown(parts)} was filled by the command; it has been put back, and what it was is now {aside}."
            rebuilt = True
        with entered(folder, parts[-1:]) as inside:
            told = [
                sentence
                for name in dict.fromkeys((*expected, *(found or ())))
                for sentence in self._compare(inside, (*parts, name), deep=True)
            ]
        if not rebuilt:  # else all that is in it was gone, which has been said
            yield from told

    def _restore(self, folder: int, parts: Parts, was: Entry, now: Entry | None) -> str:
        """Put back one thing; what has been done, in words."""
        if not was.is_kept:
            if now is None:
                return "it was too large to be kept"
            return f"it was too large to be kept, so it is out of git's way as {self._aside(folder, parts)}"
        if now is not None and (now.is_folder != was.is_folder):
            done = self._remove(folder, parts, now)
            entries.put(folder, parts[-1], was)
            return f"it has been put back, and what was in its place {done.removeprefix('it ')}"
        entries.put(folder, parts[-1], was)
        return "it has been put back"

    def _remove(self, folder: int, parts: Parts, now: Entry) -> str:
        if stat.S_ISREG(now.mode) or stat.S_ISLNK(now.mode):
            entries.drop(folder, parts[-1])
            return "it has been removed"
        return f"it has been moved to {self._aside(folder, parts)}"

    def _aside(self, folder: int, parts: Parts) -> str:
        """Move a thing to where git does not look for it: the folder of its repository, or above."""
        inside = [one for one in self._taken.repositories if parts[: len(one)] == one and parts != one]
        where = max(inside, key=len, default=())
        with entered(self._root, where) as above:
            return _shown((*where, entries.set_aside(folder, parts[-1], above)))


def _shown(parts: Parts) -> str:
    return repr("/".join(parts))


def _start(root: int, git: Entry | None) -> Parts | None:
    """Where the repository's folder is beneath `root`; None if there is none, or it lies outside."""
    if git is None or git.is_folder:
        return None if git is None else _GIT
    target = os.fsdecode(git.data or b"")
    if stat.S_ISREG(git.mode):
        if not target.startswith("gitdir:"):
            return None
        target = target.removeprefix("gitdir:").strip()
    top = os.readlink(f"/proc/self/fd/{root}") if PATH else ""
    path = os.path.relpath(os.path.join(top, target), top) if top else os.path.normpath(target)
    parts = tuple(path.split("/"))
    return None if parts[0] in ("..", ".", "") or not target else parts


def _hold(root: int, parts: Parts) -> int | None:
    """A descriptor by which a folder can be told from another of its name; None if it is no folder."""
    try:
        with entered(root, parts) as fd:
            return os.dup(fd)
    except OSError:
        return None


def _bring_back(root: int, parts: Parts, held: int) -> tuple[str, bool]:
    """Make sure that `parts` is the folder that it was: what there is to tell, and whether it is now."""
    with entered(root, parts[:-1]) as above:
        try:
            now = os.stat(parts[-1], dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            now = None
        if now is not None and os.path.samestat(now, os.fstat(held)):
            return "", True
        found = _whereabouts(held)  # known before anything moves: it may be in what is set aside
        aside = ""
        if now is not None:
            name = entries.set_aside(above, parts[-1], above)
            aside = f"; what was put in its place is now {_shown((*parts[:-1], name))}"
        if found is None:
            return f"{_shown(parts)} was removed by the command and cannot be put back{aside}.", False
        there, name, path = found
        mode = stat.S_IMODE(os.fstat(held).st_mode)
        try:
            entries.change_mode(there, name, 0o700)  # without the right to write a folder it cannot be moved
            os.rename(name, parts[-1], src_dir_fd=there, dst_dir_fd=above)
            entries.change_mode(above, parts[-1], mode)
        finally:
            os.close(there)
    return f"{_shown(parts)} was moved to {path!r} by the command and has been moved back{aside}.", True


def _whereabouts(held: int) -> tuple[int, str, str] | None:
    """Where a folder is now: a descriptor of the one above, its name there and its path; None if it is gone."""
    if not PATH:
        return None
    path = os.readlink(f"/proc/self/fd/{held}")
    name = os.path.basename(path)
    try:
        above = os.open("..", PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=held)
    except OSError:
        return None
    try:
        if os.path.samestat(os.stat(name, dir_fd=above, follow_symlinks=False), os.fstat(held)):
            return above, name, path
    except OSError:
        pass  # removed
    os.close(above)
    return None
