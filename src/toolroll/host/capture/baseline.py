"""The baseline: what stands at each path of the workspace now, and where its content can be had later."""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
import sys
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from toolroll.host.capture.git_objects import GitIndex, IndexEntry, converts
from toolroll.host.capture.listing import (
    CACHES,
    ITSELF,
    Differences,
    Listing,
    NewFiles,
    Stamp,
    TreeLister,
    changed_folders,
    differences,
    is_folder,
    keep_entries,
)
from toolroll.host.capture.under_way import FOLDER
from toolroll.host.files.journal.entry import MOST_KEPT, PathKind, PathState, unkept_content
from toolroll.host.files.journal.pending import is_running
from toolroll.host.files.reader import read_all
from toolroll.host.files.versions import digest
from toolroll.host.files.walk import enter
from toolroll.host.linux import getxattr, listxattr
from toolroll.host.runtime.dir_entries import SETTLED_NS

if TYPE_CHECKING:
    from toolroll.host.files.journal.contents import Blobs
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.runtime.state import State
    from toolroll.policy.limits import Limits

_FILE = "baseline"  # begins the names of the saved ones: those of kits that are open have more
_CHECKSUM = 16  # bytes before the saved ones
_VERSION = ("4", sys.version_info[:2])  # of the file; `marshal` differs between versions of Python
_PACK_BYTES = 1 << 24  # of contents that are kept together
_GIT = "@"  # before the name of an object that git has
_ATTRIBUTES = ".gitattributes"
_NO_ATTRIBUTES: dict[str, bytes] = {}


class TreeBaseline:
    """What the workspace looked like at one moment, with the contents that are needed to restore it.

    Of each file `sources` says where its content is: a name in the journal's contents, an object of git, or nothing
    where it is not kept. Of a link it is where it leads. Not thread-safe.
    """

    def __init__(self, root: Root, state: State, blobs: Blobs, launcher: Launcher, limits: Limits) -> None:
        self._root, self._state, self._blobs, self._limits = root, state, blobs, limits
        self._git = {name: GitIndex(one.path, launcher) for name, one in (("", root), *root.others.items())}
        self._listers = [
            TreeLister(one, name, self._git[name].is_tracked) for name, one in (("", root), *root.others.items())
        ]
        self.listing: Listing = {}
        self._sources: dict[str, str] = {}
        self._attributes: dict[str, Mapping[str, bytes]] = {}
        self._pending: set[str] = set()  # files whose content is still to be looked at
        self._pending_new: NewFiles = {}  # the same
        self._linked: set[int] = set()  # inodes of files with several names
        self._batch: dict[str, bytes] = {}  # contents that will be kept together
        self._batch_bytes = 0
        self._indexes: list[tuple[int, ...] | None] = []
        self._is_loaded = self._is_saved = False
        self.name = f"{_FILE}-{os.urandom(4).hex()}-{os.getpid()}"
        """The file that it is saved to, as long as its kit is open."""
        self._has_file = False
        self.log_size = 0
        """The bytes of the journal when it was made."""
        self._entered: tuple[str, int] | None = None

    def update(self, log_size: int = 0, touched: Callable[[], Container[str]] = frozenset) -> None:
        """Make it what the workspace is now; `touched` gives the paths at which it stays as it was."""
        self.load()
        self.log_size = log_size
        for git in self._git.values():
            git.refresh()
        listing, stamps = self._list(()), [one.stamp for one in self._git.values()]
        left, found = touched(), list(differences(self.listing, listing))
        listing = keep_entries(self.listing, listing, [path for path, _, _ in found if path in left])
        changed = {path: new for path, _, new in found if path not in left}
        changed |= {path: new for path, _, new in changed_folders(self.listing, listing)}
        self.listing, self._linked = listing, self._linked_now()
        if stamps != self._indexes:
            changed |= {path: self.stamp(path) for path in self._restaged()}
        for path in self._pending:
            changed.setdefault(path, self.stamp(path))
        new = (folder + name for folder, names in self._pending_new.items() for name in names)
        changed = {path: self.stamp(path) for path in new} | changed
        later = {path for path in changed if path in left}
        changed = {path: stamp for path, stamp in changed.items() if path not in later}
        if not changed and stamps == self._indexes and self._is_saved:
            return
        self._indexes = stamps
        try:
            self._take(changed)
            self._pending |= later
            self._save()
            self._is_saved = True
            self.leave()
        except BaseException:
            self.listing, self._sources, self._attributes = {}, {}, {}  # the next time, everything is looked at
            raise

    def _restaged(self) -> Iterator[str]:
        """The files whose content git has now and had not, or had and may have no longer."""
        for path, source in self._sources.items():
            entry = self._entry(path)
            if (_GIT + entry.oid if entry else "") != source and (entry or source.startswith(_GIT)):
                yield path

    def list_now(self) -> Listing:
        """What stands in the workspace now, also in folders that are ignored since."""
        return self._list(self.listing)

    def _list(self, listed: Container[str]) -> Listing:
        found = [one.refresh(listed) for one in self._listers]
        return found[0] if len(found) == 1 else {folder: names for one in found for folder, names in one.items()}

    def advance(self, listing: Listing, found: Differences, known: Mapping[str, str], new_files: NewFiles) -> None:
        """Take over a later listing; `known` are the contents of changed files that have been kept already."""
        young = time.time_ns() - SETTLED_NS
        for path, (_, new) in found.items():
            self._forget(path)
            if new is None:
                continue
            if path in known:
                self._sources[path] = known[path]
                self._keep_attributes(path)
            if path not in known or new[4] >= young:
                self._pending.add(path)
        self._pending.update(path for path, _, _ in changed_folders(self.listing, listing))
        for folder, names in new_files.items():
            self._pending_new[folder] = self._pending_new.get(folder, {}) | names
        self.listing, self._linked, self._is_saved = listing, self._linked_now(), False

    def keep_pending(self) -> None:
        """Keep the contents of files that are still to be looked at, while commands go on."""
        new = (folder + name for folder, names in self._pending_new.items() for name in names)
        rest = {path for path in self._pending if self._sources.get(path)}
        self._take({path: self.stamp(path) for path in {*self._pending, *new} - rest})
        self._pending |= rest
        self.leave()

    def pending(self) -> int:
        """How many files are still to be looked at."""
        return len(self._pending) + sum(map(len, self._pending_new.values()))

    def _linked_now(self) -> set[int]:
        return set[int]().union(*(one.linked() for one in self._listers))

    def names_of(self, stamps: Iterable[Stamp | None], listing: Listing | None = None) -> dict[int, list[str]]:
        """By inode: the names of those of these files that have several; in a later listing, if one is given."""
        linked = self._linked if listing is None else self._linked_now()
        wanted = linked & {one[1] for one in stamps if one is not None}
        found: dict[int, list[str]] = {one: [] for one in wanted}
        for folder, names in (self.listing if listing is None else listing).items() if wanted else ():
            for name, stamp in names.items():
                if stamp[1] in wanted and name and not is_folder(stamp):
                    found[stamp[1]].append(folder + name)
        return {inode: sorted(paths) for inode, paths in found.items()}

    def folder_states(self, now: Listing, found: Collection[str]) -> dict[str, tuple[PathState, PathState]]:
        """The folders that have other times or attributes in a later listing, and those of all paths in `found`."""
        paths = {path for path, _, _ in changed_folders(self.listing, now)}
        above = {path.rpartition("/")[0] for path in found} - paths
        paths |= {one for one in above if one and f"{one}/" in self.listing and f"{one}/" in now}
        stamps = ((path, self.listing[f"{path}/"][ITSELF], now[f"{path}/"][ITSELF]) for path in paths)
        return {
            path: (
                PathState("directory", stat.S_IMODE(old[0]), "", old[3], self._attributes.get(path, _NO_ATTRIBUTES)),
                PathState("directory", stat.S_IMODE(new[0]), "", new[3], self.read_attributes(path)),
            )
            for path, old, new in stamps
        }

    def stamp(self, path: str) -> Stamp | None:
        """What stood at a path; None for nothing."""
        folder, slash, name = path.rpartition("/")
        return self.listing.get(folder + slash, {}).get(name)

    def states(self, paths: Iterable[str]) -> dict[str, PathState]:
        """What stood at these paths, with the names of the contents, which are fetched from git where it has them."""
        stamps = {path: stamp for path in paths if (stamp := self.stamp(path)) is not None}
        sources = {path: self._sources.get(path, "") for path in stamps}
        fetched: dict[str, bytes] = {}
        for git in self._git.values():
            wanted = {one[1:] for one in sources.values() if one.startswith(_GIT)} - fetched.keys()
            fetched |= git.contents(wanted)
        names = self.names_of(stamps.values())
        return {
            path: self._describe(path, stamp, sources[path], fetched, names.get(stamp[1], ()))
            for path, stamp in stamps.items()
        }

    def read(self, path: str) -> bytes | None:
        """The content of a file as it is now; None if it cannot be read, or is too large to be kept."""
        return self.read_file(path)[0]

    def read_file(self, path: str) -> tuple[bytes | None, Mapping[str, bytes]]:
        """The content of a file as `read` gives it, and its extended attributes."""
        try:
            folder, name = self._enter(path)
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            return None, self.read_attributes(path)
        try:
            status = os.fstat(fd)
            if status.st_size > MOST_KEPT or not stat.S_ISREG(status.st_mode):
                return None, _NO_ATTRIBUTES
            return read_all(fd, status.st_size), _list_attributes(fd)
        except OSError:
            return None, _NO_ATTRIBUTES
        finally:
            os.close(fd)

    def is_gone(self, path: str) -> bool:
        """Whether nothing is there now."""
        try:
            folder, name = self._enter(path)
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return True
        return False

    def read_link(self, path: str) -> str:
        """Where a link leads now."""
        with suppress(OSError):
            folder, name = self._enter(path)
            return os.readlink(name, dir_fd=folder)
        return ""

    def read_attributes(self, path: str) -> Mapping[str, bytes]:
        """The extended attributes of a file as they are now, without those that the system sets itself."""
        with suppress(OSError):
            folder, name = self._enter(path)
            return _list_attributes(f"/proc/self/fd/{folder}/{name}")
        return _NO_ATTRIBUTES

    def _enter(self, path: str) -> tuple[int, str]:
        """A descriptor of the folder of a path, which is kept until another one is asked for, and the name in it."""
        above, _, name = path.rpartition("/")
        if self._entered is None or self._entered[0] != above:
            self.leave()
            _, root, inner = self._root.owner(tuple(above.split("/")) if above else ())
            self._entered = above, enter(root.fd, "".join(f"{one}/" for one in inner))
        return self._entered[1], name

    def leave(self) -> None:
        """Close the folder that was read last."""
        if self._entered is not None:
            os.close(self._entered[1])
            self._entered = None

    def is_whole(self, path: str) -> bool:
        """Whether what is at this path is an ignored folder, of which only the name is known."""
        stamp = self.stamp(path)
        return stamp is not None and is_folder(stamp) and f"{path}/" not in self.listing

    def unkept(self) -> Iterator[tuple[str, int | None]]:
        """What cannot be put back once it is gone: files with their sizes, ignored folders without."""
        for folder, names in self.listing.items():
            for name, stamp in names.items():
                path = folder + name
                if stat.S_ISREG(stamp[0]) and not self._sources.get(path):
                    yield path, stamp[2]
                elif name and is_folder(stamp) and f"{path}/" not in self.listing and name not in CACHES:
                    yield path, None

    def contents_kept(self) -> set[str]:
        """The names of the journal's contents that it needs."""
        return {one for one in self._sources.values() if one and not one.startswith(_GIT)}

    def load(self, name: str = "") -> bool:
        """Read what was saved under this name, or last by any kit that was closed or killed; whether it could be."""
        if self._is_loaded and not name:
            return bool(self.listing)
        self._is_loaded = True
        for one in [name] if name else self._saved_last():
            with suppress(OSError, ValueError, EOFError, TypeError):
                with open(os.path.join(self._state.path, FOLDER, one), "rb") as file:
                    checksum, saved_bytes = file.read(_CHECKSUM), file.read()
                if checksum != _check(saved_bytes):  # damaged bytes may end the interpreter
                    continue
                version, *saved = marshal.loads(saved_bytes)
                if version == _VERSION:
                    self._is_saved = self._has_file = self._own_file(one)
                    self.listing, self._sources, self._attributes, pending, self._indexes, linked, self.log_size = saved
                    self._pending, self._linked = set(pending), set(linked)
                    return bool(self.listing)
        if name:
            self.listing = {}
        return False

    def _own_file(self, name: str) -> bool:
        """Let what was saved by another kit have our name too, so that it is not saved again."""
        folder = self._state.folder(FOLDER)
        with suppress(OSError):
            os.link(name, self.name, src_dir_fd=folder, dst_dir_fd=folder)
            return True
        return False

    def _saved_last(self) -> list[str]:
        """The names of what was saved, the newest first; those of killed kits are dropped, but for the newest."""
        try:
            with os.scandir(os.path.join(self._state.path, FOLDER)) as found:
                saved = {one.name: one.stat().st_mtime_ns for one in found if one.name.startswith(_FILE)}
        except OSError:
            return []
        newest = sorted(saved, key=saved.__getitem__, reverse=True)
        for name in newest[1:]:
            if name != _FILE and not is_running(name.rpartition("-")[2]):
                with suppress(OSError):
                    os.unlink(name, dir_fd=self._state.folder(FOLDER))
        return newest

    def close(self, *, keep: bool = False) -> None:
        """Close what is open. `keep`: what was saved keeps its name, for changes that are not recorded yet."""
        self.leave()
        for one in self._listers:
            one.close()
        if self._has_file and not keep:
            with suppress(OSError):
                os.rename(
                    self.name, _FILE, src_dir_fd=self._state.folder(FOLDER), dst_dir_fd=self._state.folder(FOLDER)
                )

    def _save(self) -> None:
        more = list(self._pending), self._indexes, list(self._linked), self.log_size
        saved = _VERSION, self.listing, self._sources, self._attributes, *more
        data = marshal.dumps(saved)
        self._state.put(FOLDER, self.name, _check(data) + data)
        self._has_file = True

    def _take(self, changed: dict[str, Stamp | None]) -> None:
        """Look at changed files."""
        self._pending, self._pending_new = set(), {}
        sizes = self._sizes(changed) if self._converts() else None
        left = self._limits.undo_bytes - sum(self._kept_sizes(changed))
        young = time.time_ns() - SETTLED_NS
        for path, stamp in sorted(changed.items()):  # folder by folder
            self._forget(path)
            if stamp is None:
                continue
            if is_folder(stamp):
                self._keep_attributes(path)
                continue
            self._sources[path], size = self._keep(path, stamp, sizes, left)
            left -= size
            if stamp[4] > young:
                self._pending.add(path)
        self._keep_batch()

    def _keep_batch(self) -> None:
        batch, self._batch, self._batch_bytes = self._batch, {}, 0
        self._blobs.keep_many(batch)

    def _kept_sizes(self, without: dict[str, Stamp | None]) -> Iterator[int]:
        for path, source in self._sources.items():
            if source and path not in without and not source.startswith(_GIT) and (one := self.stamp(path)):
                yield one[2]

    def _keep(self, path: str, stamp: Stamp, sizes: Mapping[str, int] | None, left: int) -> tuple[str, int]:
        """Where the content of a file can be had later, and how many bytes that took.

        `sizes` are those of git's objects, where the working tree may have other bytes for the same file.
        """
        if stat.S_ISLNK(stamp[0]):
            self._keep_attributes(path)
            return self.read_link(path), 0
        if not stat.S_ISREG(stamp[0]):
            return "", 0
        entry = self._entry(path)
        same = entry is not None and (sizes is None or sizes.get(entry.oid) == stamp[2])
        if entry is not None and same and self._is_clean(path, stamp, entry):
            self._keep_attributes(path)
            return _GIT + entry.oid, 0
        if stamp[2] > (self._limits.undo_file_bytes if entry is None else MOST_KEPT):
            self._keep_attributes(path)
            return "", 0
        data, attributes = self.read_file(path)
        if attributes:
            self._attributes[path] = attributes
        if data is None:
            return "", 0
        if entry is not None and _object_name(data) == entry.oid:
            return _GIT + entry.oid, 0
        if len(data) > min(self._limits.undo_file_bytes, left):
            return "", 0
        name = digest(data).hex()
        self._batch[name] = data
        self._batch_bytes += len(data)
        if self._batch_bytes > _PACK_BYTES:
            self._keep_batch()
        return name, len(data)

    def _entry(self, path: str) -> IndexEntry | None:
        name = path.partition("/")[0] if self._root.others else ""
        if name not in self._git:
            name = ""
        return self._git[name].entries.get(path[len(name) + 1 :] if name else path)

    def _is_clean(self, path: str, stamp: Stamp, entry: IndexEntry) -> bool:
        written = self._git[self._root.owner((path.partition("/")[0],))[0]].written_ns
        same = (entry.inode, entry.size) == (stamp[1] & 0xFFFFFFFF, stamp[2] & 0xFFFFFFFF)
        return same and (entry.mtime_ns, entry.ctime_ns) == stamp[3:] and max(stamp[3:]) < written

    def _converts(self) -> bool:
        """Whether git may have other bytes than the working tree for the same file."""
        named = (folder + _ATTRIBUTES for folder, found in self.listing.items() if _ATTRIBUTES in found)
        return any(one.converts for one in self._git.values()) or any(converts(self.read(one) or b"") for one in named)

    def _sizes(self, paths: Iterable[str]) -> dict[str, int]:
        wanted = {entry.oid for entry in map(self._entry, paths) if entry is not None}
        return {oid: size for git in self._git.values() for oid, size in git.sizes(wanted).items()}

    def _keep_attributes(self, path: str) -> None:
        if found := self.read_attributes(path):
            self._attributes[path] = found

    def _forget(self, path: str) -> None:
        self._sources.pop(path, None)
        self._attributes.pop(path, None)
        self._pending.discard(path)

    def _describe(
        self, path: str, stamp: Stamp, source: str, fetched: dict[str, bytes], names: Iterable[str]
    ) -> PathState:
        mode, kind = stat.S_IMODE(stamp[0]), kind_of(stamp)
        known = self._attributes.get(path, _NO_ATTRIBUTES)
        if kind == "directory":
            return describe_folder(path, stamp, self.listing, known)
        if kind == "link":
            return PathState("link", 0, source)
        if source.startswith(_GIT):
            data = fetched.get(source[1:])
            source = self._blobs.keep(data) if data is not None and len(data) == stamp[2] else ""
        others = tuple(one for one in names if one != path)
        return PathState(kind, mode, source or token(stamp), stamp[3], known, others)


def _list_attributes(where: int | str) -> Mapping[str, bytes]:
    """The extended attributes of an open file or of a path, as far as there are some here."""
    follow = isinstance(where, int)
    try:
        names = listxattr(where, follow_symlinks=follow)
        kept = [one for one in names if not one.startswith("security.")]
        return {one: getxattr(where, one, follow_symlinks=follow) for one in kept} if kept else _NO_ATTRIBUTES
    except (OSError, AttributeError):
        return _NO_ATTRIBUTES


def kind_of(stamp: Stamp) -> PathKind:
    """What stands at a path, in the words of the journal."""
    mode = stamp[0]
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"


def describe_folder(path: str, stamp: Stamp, listing: Listing, attributes: Mapping[str, bytes]) -> PathState:
    """A folder of a listing; one that is not listed itself is taken as a whole."""
    mode, inner = stat.S_IMODE(stamp[0]), listing.get(f"{path}/")
    if inner is None:
        return PathState("ignored", mode)
    return PathState("directory", mode, "", inner[ITSELF][3], attributes)


def token(stamp: Stamp) -> str:
    """What a file is known by in the journal where its content is not kept."""
    return unkept_content(stamp[2], stamp[3])


def _check(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM).digest()


def _object_name(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
