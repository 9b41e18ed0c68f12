"""Hard links to a repository's object files in the state folder, so that a command cannot remove the last name of one.

Where a link cannot be made the file is copied, as far as the time allows. A file that is overwritten in place is
overwritten under both names: that is noticed for packs, and the result says so.
"""

from __future__ import annotations

import os
import re
import struct
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from toolroll.host.files.openat import LIST
from toolroll.host.runtime.dir_entries import Parts, Stamp, are_old, open_dir, take_stamp, take_stamps

_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = struct.Struct(">256I")
_START = len(_MAGIC) + _FANOUT.size
_TRAILER = 2  # hashes at the end: of the pack and of the index
_MAX_BYTES = 256 << 20


class PackIndex:
    """The sorted names of the objects of one pack."""

    def __init__(self, data: bytes, size: int) -> None:
        """`size` is that of a name in bytes. ValueError for what is no index of version 2, which git writes."""
        if not data.startswith(_MAGIC) or len(data) < _START + _TRAILER * size:
            raise ValueError("this is no index of a pack")
        self._count: int = _FANOUT.unpack_from(data, len(_MAGIC))[-1]
        self._size = size
        self._data = data
        if len(data) < _START + self._count * (size + 8) + _TRAILER * size:
            raise ValueError("the index of the pack is cut off")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        at = _START + number * self._size
        return self._data[at : at + self._size]

    def __contains__(self, name: bytes) -> bool:
        at = bisect_left(self, name)
        return at < self._count and self[at] == name


def read_indexes(folder: int, names: list[str]) -> list[PackIndex]:
    """The indexes of the packs among these names of a folder; those that cannot be read are left out."""
    found = []
    for name in names:
        stem, _, kind = name.partition(".")
        if kind != "idx" or f"{stem}.pack" not in names:
            continue
        with suppress(OSError, ValueError):
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(fd, "rb") as file:
                found.append(PackIndex(file.read(_MAX_BYTES), len(stem.removeprefix("pack-")) // 2))
    return found


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
        self._folders: dict[str, _Folder] = {}
        self._stored: set[str] = set()
        self.whole = False
        """Whether everything was kept when it was last tried."""

    def refresh(self, deadline: float) -> None:
        """Keep what has come since the last time; what there is no time for is kept the next time."""
        first, self.whole = not self._stored, False
        self._stored = self._stored or set(os.listdir(self._store))
        try:
            with self._objects() as top:
                there = sorted((name for name in os.listdir(top) if _FOLDERS.fullmatch(name)), reverse=True)
                self._folders = {name: self._folders.get(name) or _Folder() for name in there}
                for name, folder in self._folders.items():  # packs first: they hold the most
                    now = take_stamp(top, name)
                    if now is None or now != folder.stamp:
                        if not self._keep(top, name, folder, deadline):
                            return
                        folder.stamp = now if are_old([now]) else None
        except OSError:
            return  # there are none, or not for us to read
        self.whole = True
        if first:
            self._prune()

    def load(self) -> None:
        """Expect what the store holds: a kit that was killed left it there."""
        self._stored, self._folders = set(os.listdir(self._store)), {}
        for name in self._stored:
            folder, inside = (_PACK, name) if name.startswith(_PACK) else (name[:2], name[2:])
            self._folders.setdefault(folder, _Folder()).names.add(inside)

    def put_back(self) -> list[str]:
        """Give the files that are gone their names back, unless a pack holds the same objects; what was done."""
        try:
            with self._objects() as top:
                now = take_stamps(top, self._folders)
                changed = [
                    (name, folder)
                    for (name, folder), one in zip(self._folders.items(), now, strict=True)
                    if one is None or one != folder.stamp
                ]
                gone = {name: lost for name, folder in changed if (lost := _lost(top, name, folder))}
                done = sum(self._put_back(top, name, lost) for name, lost in self._needed(top, gone).items())
                damaged = self._damaged(top)
        except FileNotFoundError:
            return []  # the folder itself is put back first
        where = repr("/".join(self._repository))
        said = []
        if done:
            what = "1 object file" if done == 1 else f"{done:,} object files"
            said.append(f"The command removed {what} of {where}; what was removed has been put back.")
        if damaged:
            said.append(
                f"The command overwrote {', '.join(map(repr, damaged))} of {where}, which cannot be put back. "
                "Run `git fsck`, and fetch from elsewhere what is damaged."
            )
        return said

    @contextmanager
    def _objects(self) -> Iterator[int]:
        with open_dir(self._root, (*self._repository, "objects")) as path, _opened(path, ".") as top:
            yield top

    def _keep(self, top: int, name: str, folder: _Folder, deadline: float) -> bool:
        """Keep the files of one folder; False if there was no time for all."""
        with _opened(top, name) as source:
            found = {one for one in os.listdir(source) if _FILES.fullmatch(one)}
            if name == _PACK:
                folder.sizes = {one: _size(source, one) for one in found}
            for number, one in enumerate(found):
                if (stored := _stored_name(name, one)) in self._stored:
                    continue
                if number % 64 == 0 and time.monotonic() > deadline:
                    folder.names, folder.stamp = {one for one in found if _stored_name(name, one) in self._stored}, None
                    return False
                with suppress(OSError):
                    _link(source, one, self._store, stored)
                    self._stored.add(stored)
        folder.names = found
        return True

    def _prune(self) -> None:
        """Forget files that the repository has not had for a while: `git gc` has packed them."""
        latest = time.time() - _KEPT_AFTER_REMOVAL_S
        known = {_stored_name(name, one) for name, folder in self._folders.items() for one in folder.names}
        for name in self._stored - known:
            if os.stat(name, dir_fd=self._store, follow_symlinks=False).st_ctime < latest:
                os.unlink(name, dir_fd=self._store)
        self._stored &= known | set(os.listdir(self._store))

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
        for stem in stems:
            files = {name for name in self._stored if name.startswith(f"{stem}.")}
            indexes = read_indexes(self._store, list(files))
            rest = {index[number] for index in indexes for number in range(len(index))} - packed
            if not indexes or len(rest) > _MAX_LOOSE_LOOKUPS or not all(_is_loose(top, one) for one in rest):
                needed |= files & lost
        return needed

    def _put_back(self, top: int, name: str, lost: Iterable[str]) -> int:
        done = 0
        with suppress(FileExistsError):
            os.mkdir(name, 0o777, dir_fd=top)
        self._folders[name].stamp = None
        with _opened(top, name) as target:
            for one in lost:
                with suppress(OSError):
                    _link(self._store, _stored_name(name, one), target, one)
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


def _size(folder: int, name: str) -> tuple[int, int]:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return -1, 0
    return status.st_size, status.st_mtime_ns


def _lost(top: int, name: str, folder: _Folder) -> set[str]:
    """The files of a folder that are gone."""
    try:
        with _opened(top, name) as there:
            return folder.names.difference(os.listdir(there))
    except OSError:
        return folder.names


def _is_loose(top: int, name: bytes) -> bool:
    text = name.hex()
    return _size(top, f"{text[:2]}/{text[2:]}")[0] > 0


def _stored_name(folder: str, name: str) -> str:
    """The name of an object file in the store, which has no folders."""
    return name if folder == _PACK else folder + name


def _link(source: int, name: str, target: int, new_name: str) -> None:
    """Give a file a second name in another folder, or copy it there."""
    try:
        os.link(name, new_name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        return
    except FileExistsError:
        return
    except OSError:
        pass  # another file system, or none that knows links
    draft = f".{os.urandom(4).hex()}"
    try:
        with (
            os.fdopen(os.open(name, _READ, dir_fd=source), "rb") as old,
            os.fdopen(os.open(draft, _NEW, 0o444, dir_fd=target), "wb") as new,
        ):
            while piece := old.read(1 << 20):
                new.write(piece)
        os.rename(draft, new_name, src_dir_fd=target, dst_dir_fd=target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=target)
