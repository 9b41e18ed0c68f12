"""The vault: objects, branches, tags, index and logs of repositories, kept in the state folder while nothing runs.

Object files have a second name (a hard link) in the vault, so that a command cannot remove the last one; where a link
cannot be made they are copied, as far as the time allows. A file that is overwritten in place is overwritten under both
names: that is noticed for packs, and the result says so. Commands change refs for good reasons. So only what git itself
never leaves behind is put back: a branch without content, a missing HEAD. The copies of the rest stay readable in the
state folder until the next command begins.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from toolroll.host.files.openat import LIST
from toolroll.host.runtime.dir_entries import Parts, Stamp, are_old, closing_fd, open_dir, take_stamp, take_stamps

_FILES = ("HEAD", "packed-refs", "index")
_TREES = ("refs", "logs")
_MAX_FILES, _MAX_FILE_BYTES, _MAX_DEPTH = 1000, 16 << 20, 16  # of refs and logs
_OPEN = LIST | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_REF = re.compile(rb"(ref:\s*refs/\S.*|[0-9a-f]{40}|[0-9a-f]{64})\s*", re.DOTALL)
_KEPT_AFTER_REMOVAL_S = 24 * 3600
_PACK = "pack"
_FOLDERS = re.compile(r"pack|[0-9a-f]{2}")
_OBJECT = re.compile(r"pack-[0-9a-f]{40,64}\.\w+|[0-9a-f]{38}|[0-9a-f]{62}")
_MAX_LOOSE_LOOKUPS = 10_000
_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = struct.Struct(">256I")
_START = len(_MAGIC) + _FANOUT.size
_MAX_BYTES = 256 << 20
_REFRESH_S = 0.25  # for all repositories together; the rest is kept the next time


class Vault:
    """The objects and refs of a workspace's repositories, in folders of the state. For one thread at a time."""

    def __init__(self, root: int, folder: int) -> None:
        """`root` is the workspace, `folder` one of the state; both descriptors stay the caller's."""
        self._root = root
        self._folder = folder
        self._kept: dict[Parts, tuple[KeptObjects, KeptRefs]] = {}
        self._stores: list[int] = []

    def refresh(self, repositories: Sequence[Parts]) -> None:
        """Keep what there is now. Only while nothing runs."""
        deadline = time.monotonic() + _REFRESH_S
        for repository in repositories:
            objects, refs = self._of(repository)
            if refs.refresh() or not objects.whole:  # git changes the index or a branch with every object
                objects.refresh(deadline)

    def load(self, repositories: Sequence[Parts]) -> None:
        """Expect what another kit has kept, which was killed or still runs something."""
        for one in (kept for repository in repositories for kept in self._of(repository)):
            one.load()

    def put_back(self, repositories: Sequence[Parts]) -> list[str]:
        """Put back what a command has lost; a sentence for each."""
        return [said for repository in repositories for one in self._of(repository) for said in one.put_back()]

    def close(self) -> None:
        stores, self._stores, self._kept = self._stores, [], {}
        for fd in stores:
            os.close(fd)

    def _of(self, repository: Parts) -> tuple[KeptObjects, KeptRefs]:
        if repository not in self._kept:
            import hashlib

            name = hashlib.blake2b(os.fsencode("/".join(repository)), digest_size=8).hexdigest()
            objects, refs = (self._store(f"{name}-{what}") for what in ("objects", "refs"))
            kept = KeptObjects(self._root, repository, objects), KeptRefs(self._root, repository, refs)
            self._kept[repository] = kept
        return self._kept[repository]

    def _store(self, name: str) -> int:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self._folder)
        self._stores.append(os.open(name, _OPEN, dir_fd=self._folder))
        return self._stores[-1]


class _Kept:
    """What is kept of one repository."""

    def __init__(self, root: int, repository: Parts, store: int) -> None:
        """`store` is a descriptor of an own folder outside the workspace; both descriptors stay the caller's."""
        self._root = root
        self._repository = repository
        self._store = store

    def _shown(self, *path: str) -> str:
        return repr("/".join((*self._repository, *path)))


class KeptRefs(_Kept):
    """The branches, tags, index and logs of one repository."""

    def __init__(self, root: int, repository: Parts, store: int) -> None:
        super().__init__(root, repository, store)
        self._known: dict[str, Stamp] = {}  # the files and folders that are kept, by path

    def refresh(self) -> bool:
        """Copy what has changed since the last time; whether anything has."""
        try:
            with open_dir(self._root, self._repository) as top:
                if self._known and self._is_unchanged(top) and are_old(self._known.values()):
                    return False
                before, self._known = self._known, dict(self._scan(top))
                for path, one in self._known.items():
                    if not _is_folder(one) and (before.get(path) != one or not are_old([one])):
                        self._copy(top, path, self._store)
        except OSError:
            return True  # there is none, or it is not for us to read
        for path in dict(_walk(self._store, "")).keys() - self._known.keys():
            with suppress(OSError):  # a folder with something in it stays
                os.unlink(path, dir_fd=self._store)
        return True

    def load(self) -> None:
        self._known = dict(_walk(self._store, ""))

    def put_back(self) -> list[str]:
        """Put back what git never leaves behind; a sentence for each."""
        try:
            with open_dir(self._root, self._repository) as top:
                if self._is_unchanged(top):
                    return []
                said = [*self._folders(top), *(self._remove(top, path) for path in self._find_broken(top))]
                return said + [self._restore(top, path, how) for path, how in self._find_lost(top)]
        except OSError:
            return []

    def _is_unchanged(self, top: int) -> bool:
        return take_stamps(top, self._known) == list(self._known.values())

    def _scan(self, top: int) -> Iterator[tuple[str, Stamp]]:
        for name in (*_FILES, *_TREES):
            found = take_stamp(top, name)
            if found is not None and (_is_folder(found) if name in _TREES else stat.S_ISREG(found[0])):
                yield name, found
                yield from _walk(top, name) if name in _TREES else ()

    def _find_lost(self, top: int) -> list[tuple[str, str]]:
        """What is to be put back, and what was done to it."""
        now = {path: take_stamp(top, path) for path, one in self._known.items() if not _is_folder(one)}
        missing = sorted(path for path, one in now.items() if one is None)
        lost = [(path, "removed") for path in _FILES if path in missing]
        lost += [(path, "emptied") for path, one in now.items() if one is not None and self._is_emptied(top, path, one)]
        packed = _content(top, "packed-refs").split() if missing else []
        no_heads = "refs/heads" in self._known and take_stamp(top, "refs/heads") is None
        no_logs = "logs/HEAD" in missing
        for path in missing:
            if path.startswith("refs/"):
                # git removes the log with the branch, and puts into packed-refs what it takes from a file.
                by_git = take_stamp(top, f"logs/{path}") is None and not no_heads and not no_logs
                if not by_git and os.fsencode(path) not in packed:
                    lost.append((path, "removed"))
            elif path.startswith("logs/") and no_logs:
                lost.append((path, "removed"))
        return lost

    def _folders(self, top: int) -> Iterator[str]:
        """Make the folder of the refs again: without it git sees no repository."""
        if "refs" in self._known and take_stamp(top, "refs") is None:
            os.mkdir("refs", 0o777, dir_fd=top)
            yield f"{self._shown('refs')} was removed by the command; it has been put back."

    def _find_broken(self, top: int) -> list[str]:
        """New branches and tags that name no commit: they would hide those of the same name in packed-refs."""
        folders = [path for path, one in self._known.items() if _is_folder(one) and path.startswith("refs")]
        if all(take_stamp(top, path) == self._known[path] for path in folders) or take_stamp(top, "refs") is None:
            return []
        new = (path for path, one in _walk(top, "refs") if path not in self._known and not _is_folder(one))
        return [path for path in new if _REF.fullmatch(_content(top, path)) is None]

    def _remove(self, top: int, path: str) -> str:
        *above, name = path.split("/")
        with open_dir(top, tuple(above)) as folder:
            os.unlink(name, dir_fd=folder)
        return f"{self._shown(path)} was added by the command and named no commit; it has been removed."

    def _is_emptied(self, top: int, path: str, now: Stamp) -> bool:
        if now == self._known[path]:
            return False
        if path == "HEAD" or path.startswith("refs/"):
            return stat.S_ISREG(now[0]) and _REF.fullmatch(_content(top, path)) is None
        return path in _FILES and now[3] == 0 and self._known[path][3] > 0

    def _restore(self, top: int, path: str, how: str) -> str:
        try:
            self._copy(self._store, path, top)
        except OSError as error:
            return f"{self._shown(path)} was {how} by the command and could not be put back: {error.strerror}."
        return f"{self._shown(path)} was {how} by the command; it has been put back."

    def _copy(self, source: int, path: str, target: int) -> None:
        """Copy a file, making the folders on the way; no link is followed."""
        *above, name = path.split("/")
        with open_dir(source, tuple(above)) as old, _make_folders(target, above) as new:
            with os.fdopen(os.open(name, _READ, dir_fd=old), "rb") as file:
                data, mode = file.read(_MAX_FILE_BYTES + 1), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if len(data) > _MAX_FILE_BYTES:
                return
            draft = f".{os.urandom(4).hex()}"
            with os.fdopen(os.open(draft, _NEW, mode, dir_fd=new), "wb") as file:
                file.write(data)
            os.replace(draft, name, src_dir_fd=new, dst_dir_fd=new)


@contextmanager
def _make_folders(top: int, parts: list[str]) -> Iterator[int]:
    """A descriptor of a folder beneath `top`, made where it is missing."""
    for depth in range(1, len(parts) + 1):
        with open_dir(top, tuple(parts[: depth - 1])) as above, suppress(FileExistsError):
            os.mkdir(parts[depth - 1], 0o777, dir_fd=above)
    with open_dir(top, tuple(parts)) as fd:
        yield fd


def _walk(top: int, where: str, depth: int = 0) -> Iterator[tuple[str, Stamp]]:
    """The files and folders beneath a folder, `_MAX_FILES` of them in each."""
    with open_dir(top, tuple(filter(None, where.split("/")))) as path, _open_folder(path, ".") as fd:
        names = sorted(os.listdir(fd))[:_MAX_FILES]
    for name in names:
        path_of = f"{where}/{name}" if where else name
        found = take_stamp(top, path_of)
        if found is not None and (_is_folder(found) or stat.S_ISREG(found[0])) and not name.endswith(".lock"):
            yield path_of, found
            if _is_folder(found) and depth < _MAX_DEPTH:
                yield from _walk(top, path_of, depth + 1)


def _content(top: int, path: str) -> bytes:
    *above, name = path.split("/")
    try:
        with open_dir(top, tuple(above)) as folder, os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
            return file.read(_MAX_FILE_BYTES)
    except OSError:
        return b""


def _is_folder(found: Stamp) -> bool:
    return stat.S_ISDIR(found[0])


class PackIndex:
    """The sorted names of the objects of one pack."""

    def __init__(self, data: bytes, size: int) -> None:
        """`size` is that of a name in bytes. ValueError for what is no index of version 2, which git writes."""
        trailer = 2 * size  # hashes of the pack and of the index
        if not data.startswith(_MAGIC) or len(data) < _START + trailer:
            raise ValueError("this is no index of a pack")
        self._count: int = _FANOUT.unpack_from(data, len(_MAGIC))[-1]
        self._size = size
        self._data = data
        if len(data) < _START + self._count * (size + 8) + trailer:
            raise ValueError("the index of the pack is cut off")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        at = _START + number * self._size
        return self._data[at : at + self._size]

    def __iter__(self) -> Iterator[bytes]:
        return (self[number] for number in range(self._count))

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
        with suppress(OSError, ValueError), os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
            found.append(PackIndex(file.read(_MAX_BYTES), len(stem.removeprefix("pack-")) // 2))
    return found


@dataclass(slots=True)
class _Folder:
    """One folder of object files as it was."""

    stamp: Stamp | None = None  # changes whenever a name comes or goes; None if it cannot be relied on
    names: set[str] = field(default_factory=set)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)  # of packs: their size and time of change


class KeptObjects(_Kept):
    """The object files of one repository."""

    def __init__(self, root: int, repository: Parts, store: int) -> None:
        super().__init__(root, repository, store)
        self._folders: dict[str, _Folder] = {}
        self._stored: set[str] = set()
        self.whole = False  # whether everything was kept when it was last tried

    def refresh(self, deadline: float) -> None:
        """Keep what has come since the last time; what there is no time for is kept the next time."""
        first, self.whole = not self._stored, False
        self._stored = self._stored or self._list_stored()
        try:
            with open_dir(self._root, (*self._repository, "objects")) as path, _open_folder(path, ".") as top:
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
        self._stored, self._folders = self._list_stored(), {}
        for name in self._stored:
            folder, inside = (_PACK, name) if name.startswith(_PACK) else (name[:2], name[2:])
            self._folders.setdefault(folder, _Folder()).names.add(inside)

    def put_back(self) -> list[str]:
        """Give the files that are gone their names back, unless a pack holds the same objects; what was done."""
        try:
            with open_dir(self._root, (*self._repository, "objects")) as path, _open_folder(path, ".") as top:
                changed = [
                    (name, folder)
                    for name, folder in self._folders.items()
                    if (now := take_stamp(top, name)) is None or now != folder.stamp
                ]
                gone = {name: lost for name, folder in changed if (lost := _find_lost(top, name, folder))}
                done = sum(self._put_back(top, name, lost) for name, lost in self._needed(top, gone).items())
                damaged = self._damaged(top)
        except FileNotFoundError:
            return []  # the folder itself is put back first
        said, where = [], self._shown()
        if done:
            what = "1 object file" if done == 1 else f"{done:,} object files"
            said.append(f"The command removed {what} of {where}; what was removed has been put back.")
        if damaged:
            said.append(
                f"The command overwrote {', '.join(map(repr, damaged))} of {where}, which cannot be put back. "
                "Run `git fsck`, and fetch from elsewhere what is damaged."
            )
        return said

    def _list_stored(self) -> set[str]:
        with _open_folder(self._store, ".") as store:  # commands that list one descriptor at once miss names
            return set(os.listdir(store))

    def _keep(self, top: int, name: str, folder: _Folder, deadline: float) -> bool:
        """Keep the files of one folder; False if there was no time for all."""
        with _open_folder(top, name) as source:
            found = {one for one in os.listdir(source) if _OBJECT.fullmatch(one)}
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
        self._stored &= known | self._list_stored()

    def _needed(self, top: int, gone: dict[str, set[str]]) -> dict[str, set[str]]:
        """Those of the files that are gone whose objects no pack holds now."""
        if not gone:
            return {}
        indexes: list[PackIndex] = []
        with suppress(OSError), _open_folder(top, _PACK) as folder:
            indexes = read_indexes(folder, os.listdir(folder))
        needed = {
            name: {one for one in lost if not any(bytes.fromhex(name + one) in index for index in indexes)}
            for name, lost in gone.items()
            if name != _PACK
        }
        if _PACK in gone:
            packed = {name for index in indexes for name in index}
            needed[_PACK] = self._needed_packs(top, gone[_PACK], packed)
        return needed

    def _needed_packs(self, top: int, lost: set[str], packed: set[bytes]) -> set[str]:
        needed: set[str] = set()
        for stem in {name.partition(".")[0] for name in lost}:
            files = {name for name in self._stored if name.startswith(f"{stem}.")}
            indexes = read_indexes(self._store, list(files))
            rest = [name.hex() for name in {name for index in indexes for name in index} - packed]
            loose = len(rest) <= _MAX_LOOSE_LOOKUPS and all(_size(top, f"{one[:2]}/{one[2:]}")[0] > 0 for one in rest)
            if not indexes or not loose:
                needed |= files & lost
        return needed

    def _put_back(self, top: int, name: str, lost: Iterable[str]) -> int:
        done = 0
        with suppress(FileExistsError):
            os.mkdir(name, 0o777, dir_fd=top)
        self._folders[name].stamp = None
        with _open_folder(top, name) as target:
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
        with _open_folder(top, _PACK) as there:
            now = {name: size for name in folder.sizes if (size := _size(there, name))[0] >= 0}
        before, folder.sizes = folder.sizes, now
        return [name for name, size in now.items() if size != before[name]]


@contextmanager
def _open_folder(folder: int, name: str) -> Iterator[int]:
    with closing_fd(os.open(name, _OPEN, dir_fd=folder)) as fd:
        yield fd


def _size(folder: int, name: str) -> tuple[int, int]:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return -1, 0
    return status.st_size, status.st_mtime_ns


def _find_lost(top: int, name: str, folder: _Folder) -> set[str]:
    """The files of a folder that are gone."""
    try:
        with _open_folder(top, name) as there:
            return folder.names.difference(os.listdir(there))
    except OSError:
        return folder.names


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
            import shutil

            shutil.copyfileobj(old, new)
        os.rename(draft, new_name, src_dir_fd=target, dst_dir_fd=target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=target)
