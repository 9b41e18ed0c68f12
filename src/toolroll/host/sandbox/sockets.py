"""Sockets that programs outside have bound to files which a command sees: they are covered before it starts.

A mount that is read-only does not keep a command from connecting, and a filter of calls cannot see the path. The kernel
lists the bound sockets of our own network namespace in one small file, so no folder is searched as long as each of
them is still where its name says. What a program binds while a command runs, or in another network namespace, is not
covered.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from toolroll.host.files.system import real
from toolroll.host.runtime.launcher import AccessRules, is_beneath
from toolroll.host.sandbox.mount_plan import is_visible, resolve_paths

_LIST = "/proc/net/unix"
_COLUMNS = 7  # before the name
_MOST = 100_000  # entries of folders that are looked at for sockets whose place is not known

_File = tuple[int, int]  # the device and the inode of a socket file, which stay the same wherever it is moved


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a socket file was when it was last looked for; by several names if it has links."""

    file: _File
    paths: frozenset[str]


class Sockets:
    """Knows where the sockets of other programs are. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[str, _Place] = {}  # by the kernel's number of a socket
        self._elsewhere: set[tuple[str, tuple[str, ...]]] = set()
        """The numbers of sockets with the folders that they are in none of: no command brings them there."""

    def mask(self, access: AccessRules, folder: str) -> list[str]:
        """The arguments that cover each of them in the view of a command that works in this folder."""
        bound, roots = dict(_list_bound()), _roots(access, folder)
        with self._lock:
            self._places = {number: place for number, place in self._places.items() if number in bound}
            self._elsewhere = {one for one in self._elsewhere if one[0] in bound}
            if lost := {number: name for number, name in bound.items() if not self._is_known(number, name, roots)}:
                self._search(lost, roots, access)
            found = {path for place in self._places.values() for path in place.paths}
        return [word for path in sorted(found) if is_visible(path, access) for word in ("--ro-bind", "/dev/null", path)]

    def _is_known(self, number: str, name: str, roots: tuple[str, ...]) -> bool:
        """Whether it is known where a socket is, now; a command may have moved one that it can reach."""
        if (number, roots) in self._elsewhere:
            return True
        if (place := self._places.get(number)) is not None:
            return all(_file(path) == (place.file, len(place.paths)) for path in place.paths)
        whole = name.startswith("/") and not name.startswith("/proc/")
        path = real(name) if whole else None
        if path is not None and (found := _file(path)) is not None:
            self._places[number] = _Place(found[0], frozenset({path}))
            return found[1] == 1
        # One that was bound elsewhere and is gone from there was not moved here by a command.
        return whole and not any(is_beneath(name, one) for one in roots)

    def _search(self, lost: Mapping[str, str], roots: tuple[str, ...], access: AccessRules) -> None:
        """Look for sockets in these folders: by their files, or if these were never seen, by their names."""
        there = {path: found[0] for path in _sockets(roots, access) if (found := _file(path)) is not None}
        for number, name in lost.items():
            place = self._places.pop(number, None)
            files = {file for path, file in there.items() if os.path.basename(path) == os.path.basename(name)}
            files = files if place is None else {place.file}
            if paths := frozenset(path for path, file in there.items() if file in files):
                self._places[number] = _Place(there[min(paths)], paths)
            else:
                self._elsewhere.add((number, roots))


def _list_bound() -> Iterator[tuple[str, str]]:
    """The sockets of our network that have a file, each by its number, with the name that it was bound to."""
    try:
        with open(_LIST, "rb") as file:
            lines = file.read().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        columns = line.split(None, _COLUMNS)
        if len(columns) > _COLUMNS and not columns[-1].startswith(b"@"):
            yield columns[_COLUMNS - 1].decode("ascii", "replace"), os.fsdecode(columns[-1])


def _roots(access: AccessRules, folder: str) -> tuple[str, ...]:
    """The folders in which a command may have moved things: what it may change, and where it works."""
    return tuple(
        dict.fromkeys(resolve_paths((*access.write, *(one for one in access.read if is_beneath(folder, one)))))
    )


def _file(path: str) -> tuple[_File, int] | None:
    """The socket file at a path, and how many names it has; None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return ((found.st_dev, found.st_ino), found.st_nlink) if stat.S_ISSOCK(found.st_mode) else None


def _sockets(roots: Iterable[str], access: AccessRules) -> Iterator[str]:
    """The special files in these folders; of one whose changes are known only those are looked at."""
    whole = access.write[0] if access.changes else ""
    yield from _walk(one for one in roots if one != whole)
    if whole in roots:
        yield from (whole + path[len(access.changes) :] for path in _walk([access.changes]))


def _walk(roots: Iterable[str]) -> Iterator[str]:
    waiting, left = list(roots), _MOST
    while waiting and left > 0:
        try:
            with os.scandir(waiting.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        left -= len(found)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif not entry.is_symlink() and not entry.is_file():
                yield entry.path
