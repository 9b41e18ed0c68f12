"""Hard links to a repository's object files in the state folder, so that a command cannot remove the last name of one.

Where a link cannot be made the file is copied, as far as the time allows. A file that is overwritten in place is
overwritten under both names: that is noticed for packs, and the result says so.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from toolroll.host.beneath import LIST
from toolroll.host.sandbox.entries import Parts, entered
from toolroll.host.sandbox.packs import read_indexes

Stamp = tuple[int, int, int, int]

_YOUNG_NS = 100_000_000  # two changes closer to each other than that may carry the same time
_KEPT_AFTER_REMOVAL_S = 24 * 3600
_PACK = "pack"
_FOLDERS = re.compile(r"pack|[0-9a-f]{2}")
_FILES = re.compile(r"pack-[0-9a-f]{40,64}\.\w+|[0-9a-f]{38}|[0-9a-f]{62}")
_MAX_LOOSE_LOOKUPS = 10_000
_OPEN = LIST | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class _Folder:
    """One folder of object files as it was."""

    stamp: Stamp | None = None
    """Changes whenever a name comes or goes; None if it cannot be relied on."""
    names: set[str] = field(default_factory=set)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of packs: their size and time of change."""


class KeptObjects:
    """The object files of one repository."""

    def __init__(self, root: int, repository: Parts, store: int) -> None:
        """`store` is a descriptor of an own folder outside the workspace; both descriptors stay the caller's."""
        self._root = root
        self._repository = repository
        self._store = store
        self._top: Stamp | None = None
        self._folders: dict[str, _Folder] = {}

    def refresh(self, deadline: float) -> None:
        """Keep what has come since the last time; what there is no time for is kept the next time."""
        try:
            with self._objects() as top:
                stamp = _stamp(top, ".")
                if self._top is None or stamp != self._top:
                    there = [name for name in os.listdir(top) if _FOLDERS.fullmatch(name)]
                    self._folders = {name: self._folders.get(name) or _Folder() for name in sorted(there, reverse=True)}
                self._top = stamp
                for name, folder in self._folders.items():  # packs first: they hold the most
                    now = _stamp(top, name)
                    if (now is None or now != folder.stamp) and not self._keep(top, name, folder, now, deadline):
                        return
        except OSError:
            return  # there are none, or not for us to read

    def load(self) -> None:
        """Expect what the store holds: a kit that was killed left it there."""
        there = (name for name in os.listdir(self._store) if _FOLDERS.fullmatch(name))
        self._folders = {}
        for name in there:
            with _opened(self._store, name) as kept:
                self._folders[name] = _Folder(names=set(os.listdir(kept)))

    def put_back(self) -> list[str]:
        """Give the files that are gone their names back, unless a pack holds the same objects; what was done."""
        try:
            with self._objects() as top:
                gone = {name: lost for name, folder in self._folders.items() if (lost := _lost(top, name, folder))}
                done = sum(self._put_back(top, name, lost) for name, lost in self._needed(top, gone).items())
                damaged = self._damaged(top)
        except FileNotFoundError:
            return []  # the folder itself is put back first
        where = repr("/".join(self._repository))
        said = []
        if done:
            files = "1 object file" if done == 1 else f"{done:,} object files"
            said.append(f"{files} of {where} removed by the command: put back.")
        if damaged:
            said.append(
                f"{', '.join(map(repr, damaged))} of {where} overwritten in place by the command: not kept as it was. "
                "Run `git fsck`, and fetch the repository from elsewhere if it is damaged."
            )
        return said

    @contextmanager
    def _objects(self) -> Iterator[int]:
        with entered(self._root, (*self._repository, "objects")) as path, _opened(path, ".") as top:
            yield top

    def _keep(self, top: int, name: str, folder: _Folder, now: Stamp | None, deadline: float) -> bool:
        """Keep the files of one folder; False if there was no time for all."""
        with _opened(top, name) as source:
            found = {one for one in os.listdir(source) if _FILES.fullmatch(one)}
            if name == _PACK:
                folder.sizes = {one: _size(source, one) for one in found}
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._store)
            with _opened(self._store, name) as kept:
                there = set(os.listdir(kept))
                _prune(kept, there - found)
                for number, one in enumerate(found - there):
                    if number % 64 == 0 and time.monotonic() > deadline:
                        folder.names, folder.stamp = found & set(os.listdir(kept)), None
                        return False
                    with suppress(OSError):
                        _link(source, kept, one)
        folder.names, folder.stamp = found, now
        return True

    def _needed(self, top: int, gone: dict[str, set[str]]) -> dict[str, set[str]]:
        """Those of the files that are gone whose objects no pack holds now."""
        if not gone:
            return {}
        try:
            with _opened(top, _PACK) as folder:
                indexes = read_indexes(folder, os.listdir(folder))
        except OSError:
            indexes = []
        needed = {
            name: {one for one in lost if not any(bytes.fromhex(name + one) in index for index in indexes)}
            for name, lost in gone.items()
            if name != _PACK
        }
        if _PACK in gone:
            packed = {index[number] for index in indexes for number in range(len(index))}
            needed[_PACK] = self._needed_packs(top, gone[_PACK], packed)
        return needed

    def _needed_packs(self, top: int, lost: set[str], packed: set[bytes]) -> set[str]:
        stems = {name.partition(".")[0] for name in lost}
        needed: set[str] = set()
        with _opened(self._store, _PACK) as kept:
            names = os.listdir(kept)
            for stem in stems:
                files = {name for name in names if name.startswith(f"{stem}.")}
                (index,) = read_indexes(kept, list(files)) or [None]
                rest = {index[number] for number in range(len(index))} - packed if index is not None else None
                if rest is None or len(rest) > _MAX_LOOSE_LOOKUPS or not all(_is_loose(top, one) for one in rest):
                    needed |= files & lost
        return needed

    def _put_back(self, top: int, name: str, lost: Iterable[str]) -> int:
        done = 0
        with suppress(FileExistsError):
            os.mkdir(name, 0o777, dir_fd=top)
        self._folders[name].stamp = None
        with _opened(top, name) as target, _opened(self._store, name) as kept:
            for one in lost:
                with suppress(OSError):
                    _link(kept, target, one)
                    done += 1
        return done

    def _damaged(self, top: int) -> list[str]:
        """Packs that are there and not what they were."""
        folder = self._folders.get(_PACK)
        if folder is None or not folder.sizes:
            return []
        with _opened(top, _PACK) as there:
            now = {name: _size(there, name) for name in folder.sizes}
        damaged = [name for name, size in now.items() if size[0] >= 0 and size != folder.sizes[name]]
        folder.sizes = {name: size for name, size in now.items() if size[0] >= 0}
        return damaged


@contextmanager
def _opened(folder: int, name: str) -> Iterator[int]:
    fd = os.open(name, _OPEN, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


def _stamp(folder: int, name: str) -> Stamp | None:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if abs(time.time_ns() - status.st_ctime_ns) < _YOUNG_NS:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _size(folder: int, name: str) -> tuple[int, int]:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return -1, 0
    return status.st_size, status.st_mtime_ns


def _lost(top: int, name: str, folder: _Folder) -> set[str]:
    """The files of a folder that are gone."""
    try:
        if folder.stamp is not None and _stamp(top, name) == folder.stamp:
            return set()
        with _opened(top, name) as there:
            return folder.names.difference(os.listdir(there))
    except OSError:
        return folder.names


def _is_loose(top: int, name: bytes) -> bool:
    text = name.hex()
    return _size(top, f"{text[:2]}/{text[2:]}")[0] > 0


def _link(source: int, target: int, name: str) -> None:
    """Give a file a second name in another folder, or copy it there."""
    try:
        os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        return
    except FileExistsError:
        return
    except OSError:
        pass  # another file system, or none that knows links
    draft = f".{os.urandom(4).hex()}"
    try:
        with os.fdopen(os.open(name, _READ, dir_fd=source), "rb") as old:
            with os.fdopen(os.open(draft, _NEW, 0o444, dir_fd=target), "wb") as new:
                while piece := old.read(1 << 20):
                    new.write(piece)
        os.rename(draft, name, src_dir_fd=target, dst_dir_fd=target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=target)


def _prune(kept: int, names: Iterable[str]) -> None:
    """Forget files that the repository has not had for a while: `git gc` has packed them."""
    latest = time.time() - _KEPT_AFTER_REMOVAL_S
    for name in names:
        if os.stat(name, dir_fd=kept, follow_symlinks=False).st_ctime < latest:
            os.unlink(name, dir_fd=kept)
