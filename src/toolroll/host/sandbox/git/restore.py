"""Put a repository's settings and hooks back to their baseline.

Everything is done on descriptors and no link is followed, so that a process that swaps a folder meanwhile cannot lead a
write outside.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from toolroll.host.files.openat import PATH
from toolroll.host.runtime import dir_entries
from toolroll.host.runtime.dir_entries import DirEntry, Parts, open_dir, take_stamps
from toolroll.host.sandbox.git.baseline import (
    GIT,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NAMES,
    Baseline,
    is_for_web_servers,
    is_worktree,
    points,
)

_ADVICE = "git's settings can be changed in a terminal, while no command runs"


class Restorer:
    """Compares a repository with its baseline. `close` gives the descriptors back."""

    def __init__(self, root: int, baseline: Baseline) -> None:
        """`root` is a descriptor of the workspace; it stays the caller's."""
        self._root = root
        self._mode = stat.S_IMODE(os.fstat(root).st_mode)
        self._baseline = baseline
        # By these a folder that was moved is found again. None for one that is missing from the start.
        self._held = {parts: _hold(root, parts) for parts in dict.fromkeys((GIT, *baseline.repositories[:1]))}

    def close(self) -> None:
        held, self._held = self._held, {}
        for fd in held.values():
            if fd is not None:
                os.close(fd)

    def __del__(self) -> None:
        if hasattr(self, "_held"):
            self.close()

    def put_back(self, *, ended: bool = True) -> list[str]:
        """What was done, in sentences. Before the command has `ended`, git may be removing a linked working tree."""
        return list(self._put_back(ended))

    def _put_back(self, ended: bool) -> Iterator[str]:
        baseline = self._baseline
        if stat.S_IMODE(os.fstat(self._root).st_mode) != self._mode:
            os.fchmod(self._root, self._mode)  # else we might not get in
        for parts, fd in list(self._held.items()):
            was = baseline.entries.get(parts)
            if was is None or not was.is_folder:
                continue
            try:
                if sentence := self._bring_back(parts, was, fd):
                    yield sentence
            except OSError as error:
                yield f"{_display(parts)} is another one now and could not be put back: {error.strerror}."
                return
        there = (one for one in baseline.repositories if not self._is_removed_worktree(one, ended))
        todo = [(GIT, False), *(point for one in there for point in points(one))]
        for parts, deep in dict.fromkeys(todo):
            try:
                with open_dir(self._root, parts[:-1]) as folder:
                    yield from self._compare(folder, parts, deep=deep)
            except OSError as error:
                if parts in baseline.entries:
                    yield f"{_display(parts)} could not be looked at: {error.strerror}."

    def _is_removed_worktree(self, repository: Parts, ended: bool) -> bool:
        """Whether `git worktree remove` was or is here: it takes nothing away that is not elsewhere too."""
        if not is_worktree(repository):
            return False
        try:
            with open_dir(self._root, repository) as folder:
                return not ended and None in take_stamps(folder, ("HEAD", "commondir", "gitdir"))
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def _compare(self, folder: int, parts: Parts, *, deep: bool) -> Iterator[str]:
        """Put back one thing and what is in it."""
        was = self._baseline.entries.get(parts)
        now = dir_entries.look(folder, parts[-1], was, MAX_BYTES)
        if was is None:
            if now is not None and deep and not is_for_web_servers(parts):
                yield f"{_display(parts)} was added by the command; {self._remove(folder, parts, now)}."
            return
        if now is None or not was.same(now):
            if is_for_web_servers(parts) and (now is None or stat.S_ISREG(now.mode)):
                return
            how = "removed" if now is None else "changed"
            advice = f": {_ADVICE}" if parts[-1] == "config" and not was.is_folder else ""
            yield f"{_display(parts)} was {how} by the command; {self._restore(folder, parts, was, now)}{advice}."
        if not (deep and was.is_folder) or parts in self._baseline.crowded or len(parts) > MAX_DEPTH:
            return
        rebuilt = now is None or not now.is_folder
        expected = self._baseline.children(parts)
        found = dir_entries.names(folder, parts[-1], MAX_NAMES + len(expected))
        if found is None:  # a crowd could hide one among many: the whole folder makes way
            aside = self._aside(folder, parts)
            dir_entries.put(folder, parts[-1], was)
            yield f"{_display(parts)} was filled by the command; it has been put back, and what it was is now {aside}."
            rebuilt = True
        with open_dir(folder, parts[-1:]) as inside:
            said = [
                sentence
                for name in dict.fromkeys((*expected, *(found or ())))
                for sentence in self._compare(inside, (*parts, name), deep=True)
            ]
        if not rebuilt:  # else all that is in it was gone, which has been said
            yield from said

    def _restore(self, folder: int, parts: Parts, was: DirEntry, now: DirEntry | None) -> str:
        """Put back one thing; what has been done, in words."""
        if not was.is_kept:
            if now is None:
                return "it was too large to be kept"
            return f"it was too large to be kept, so it is out of git's way as {self._aside(folder, parts)}"
        if now is not None and (now.is_folder != was.is_folder):
            done = self._remove(folder, parts, now)
            dir_entries.put(folder, parts[-1], was)
            return f"it has been put back, and what was in its place {done.removeprefix('it ')}"
        dir_entries.put(folder, parts[-1], was)
        return "it has been put back"

    def _remove(self, folder: int, parts: Parts, now: DirEntry) -> str:
        if stat.S_ISREG(now.mode) or stat.S_ISLNK(now.mode):
            dir_entries.drop(folder, parts[-1])
            return "it has been removed"
        return f"it has been moved to {self._aside(folder, parts)}"

    def _aside(self, folder: int, parts: Parts) -> str:
        """Move a thing to where git does not look for it: the folder of its repository, or above."""
        inside = [one for one in self._baseline.repositories if parts[: len(one)] == one and parts != one]
        where = max(inside, key=len, default=())
        with open_dir(self._root, where) as above:
            return _display((*where, dir_entries.set_aside(folder, parts[-1], above)))

    def _bring_back(self, parts: Parts, was: DirEntry, held: int | None) -> str:
        """Make sure that `parts` is the folder that it was, or a new one in its place; what there is to say."""
        with open_dir(self._root, parts[:-1]) as above:
            try:
                now = os.stat(parts[-1], dir_fd=above, follow_symlinks=False)
            except FileNotFoundError:
                now = None
            if now is not None and (os.path.samestat(now, os.fstat(held)) if held is not None else _is_folder(now)):
                return ""
            found = None if held is None else _locate(held)  # before anything moves: it may be in what is moved
            aside = ""
            if now is not None:
                name = dir_entries.set_aside(above, parts[-1], above)
                aside = f"; what was put in its place is now {_display((*parts[:-1], name))}"
            if found is None:
                dir_entries.put(above, parts[-1], was)
                if held is not None:
                    os.close(held)
                self._held[parts] = _hold(self._root, parts)
                return f"{_display(parts)} was removed by the command; it has been made again{aside}."
            there, name, path = found
            try:
                dir_entries.change_mode(there, name, 0o700)  # without the right to write a folder it cannot be moved
                os.rename(name, parts[-1], src_dir_fd=there, dst_dir_fd=above)
                dir_entries.change_mode(above, parts[-1], stat.S_IMODE(was.mode))
            finally:
                os.close(there)
        return f"{_display(parts)} was moved to {path!r} by the command and has been moved back{aside}."


def _display(parts: Parts) -> str:
    return repr("/".join(parts))


def _is_folder(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode)


def _hold(root: int, parts: Parts) -> int | None:
    """A descriptor that identifies a folder whatever its name; None if there is no folder."""
    try:
        with open_dir(root, parts) as fd:
            return os.dup(fd)
    except OSError:
        return None


def _locate(held: int) -> tuple[int, str, str] | None:
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
