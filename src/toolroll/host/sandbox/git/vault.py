"""The vault: objects, branches, tags, index and logs of repositories, kept in the state folder while nothing runs.

Commands change refs for good reasons. So only what git itself never leaves behind is put back: a branch without
content, a missing HEAD. The copies of the rest stay readable in the state folder until the next command begins.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from toolroll.host.files.openat import LIST
from toolroll.host.runtime.dir_entries import Parts, Stamp, are_old, open_dir, take_stamp, take_stamps
from toolroll.host.sandbox.git.objects import KeptObjects

_FILES = ("HEAD", "packed-refs", "index")
_TREES = ("refs", "logs")
_MAX_FILES = 1000
_MAX_FILE_BYTES = 16 << 20
_MAX_DEPTH = 16
_OPEN = LIST | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_REF = re.compile(rb"(ref:\s*refs/\S.*|[0-9a-f]{40}|[0-9a-f]{64})\s*", re.DOTALL)


class KeptRefs:
    """The branches, tags, index and logs of one repository."""

    def __init__(self, root: int, repository: Parts, store: int) -> None:
        """`store` is a descriptor of an own folder outside the workspace; both descriptors stay the caller's."""
        self._root = root
        self._repository = repository
        self._store = store
        self._known: dict[str, Stamp] = {}
        """The files and folders that are kept, by path."""

    def refresh(self) -> bool:
        """Copy what has changed since the last time; whether anything has."""
        try:
            with open_dir(self._root, self._repository) as top:
                if self._known and self._is_unchanged(top) and are_old(self._known.values()):
                    return False
                before, self._known = self._known, dict(self._found(top))
                for path, one in self._known.items():
                    if not _is_folder(one) and (before.get(path) != one or not are_old([one])):
                        self._copy(top, path, self._store)
        except OSError:
            return True  # there is none, or it is not for us to read
        kept = {path for path, _ in _walk(self._store, "")}
        for path in kept - self._known.keys():
            with suppress(OSError):  # a folder with something in it stays
                os.unlink(path, dir_fd=self._store)
        return True

    def load(self) -> None:
        """Expect what the store holds: a kit that was killed left it there."""
        self._known = dict(_walk(self._store, ""))

    def put_back(self) -> list[str]:
        """Put back what git never leaves behind; a sentence for each."""
        try:
            with open_dir(self._root, self._repository) as top:
                if self._is_unchanged(top):
                    return []
                said = [*self._folders(top), *(self._remove(top, path) for path in self._broken(top))]
                return said + [self._restore(top, path, how) for path, how in self._lost(top)]
        except OSError:
            return []

    def _is_unchanged(self, top: int) -> bool:
        return take_stamps(top, self._known) == list(self._known.values())

    def _found(self, top: int) -> Iterator[tuple[str, Stamp]]:
        for name in _FILES:
            if (found := take_stamp(top, name)) is not None and stat.S_ISREG(found[0]):
                yield name, found
        for name in _TREES:
            if (found := take_stamp(top, name)) is not None and _is_folder(found):
                yield name, found
                yield from _walk(top, name)

    def _lost(self, top: int) -> list[tuple[str, str]]:
        """What is to be put back, and what was done to it."""
        known = {path for path, one in self._known.items() if not _is_folder(one)}
        now = {path: take_stamp(top, path) for path in known}
        lost = [(path, "removed") for path in _FILES if path in known and now[path] is None]
        emptied = [path for path in known if now[path] is not None and self._is_emptied(top, path, now[path])]
        lost += [(path, "emptied") for path in emptied]
        missing = sorted(path for path in known if now[path] is None)
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
            yield f"{'/'.join((*self._repository, 'refs'))!r} was removed by the command; it has been put back."

    def _broken(self, top: int) -> list[str]:
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
        shown = repr("/".join((*self._repository, path)))
        return f"{shown} was added by the command and named no commit; it has been removed."

    def _is_emptied(self, top: int, path: str, now: Stamp | None) -> bool:
        if now == self._known[path] or now is None:
            return False
        if path == "HEAD" or path.startswith("refs/"):
            return stat.S_ISREG(now[0]) and _REF.fullmatch(_content(top, path)) is None
        return path in _FILES and now[3] == 0 and self._known[path][3] > 0

    def _restore(self, top: int, path: str, how: str) -> str:
        shown = repr("/".join((*self._repository, path)))
        try:
            self._copy(self._store, path, top)
        except OSError as error:
            return f"{shown} was {how} by the command and could not be put back: {error.strerror}."
        return f"{shown} was {how} by the command; it has been put back."

    def _copy(self, source: int, path: str, target: int) -> None:
        """Copy a file, making the folders on the way; no link is followed."""
        *above, name = path.split("/")
        with open_dir(source, tuple(above)) as old, _made(target, above) as new:
            with os.fdopen(os.open(name, _READ, dir_fd=old), "rb") as file:
                data, mode = file.read(_MAX_FILE_BYTES + 1), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if len(data) > _MAX_FILE_BYTES:
                return
            draft = f".{os.urandom(4).hex()}"
            with os.fdopen(os.open(draft, _NEW, mode, dir_fd=new), "wb") as file:
                file.write(data)
            os.replace(draft, name, src_dir_fd=new, dst_dir_fd=new)


@contextmanager
def _made(top: int, parts: list[str]) -> Iterator[int]:
    """A descriptor of a folder beneath `top`, made where it is missing."""
    for depth in range(1, len(parts) + 1):
        with open_dir(top, tuple(parts[: depth - 1])) as above, suppress(FileExistsError):
            os.mkdir(parts[depth - 1], 0o777, dir_fd=above)
    with open_dir(top, tuple(parts)) as fd:
        yield fd


def _walk(top: int, where: str, depth: int = 0) -> Iterator[tuple[str, Stamp]]:
    """The files and folders beneath a folder, `_MAX_FILES` of them in each."""
    with open_dir(top, tuple(filter(None, where.split("/")))) as path:
        fd = os.open(".", _OPEN, dir_fd=path)
    try:
        names = sorted(os.listdir(fd))[:_MAX_FILES]
    finally:
        os.close(fd)
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
        for repository in repositories:
            for one in self._of(repository):
                one.load()

    def put_back(self, repositories: Sequence[Parts]) -> list[str]:
        """Put back what a command has lost; a sentence for each."""
        return [said for repository in repositories for one in self._of(repository) for said in one.put_back()]

    def close(self) -> None:
        """Give the descriptors back."""
        stores, self._stores, self._kept = self._stores, [], {}
        for fd in stores:
            os.close(fd)

    def _of(self, repository: Parts) -> tuple[KeptObjects, KeptRefs]:
        if repository not in self._kept:
            import hashlib

            name = hashlib.blake2b(os.fsencode("/".join(repository)), digest_size=8).hexdigest()
            objects, refs = (self._store(f"{name}-{what}") for what in ("objects", "refs"))
            self._kept[repository] = (
                KeptObjects(self._root, repository, objects),
                KeptRefs(self._root, repository, refs),
            )
        return self._kept[repository]

    def _store(self, name: str) -> int:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self._folder)
        self._stores.append(os.open(name, LIST | os.O_NOFOLLOW, dir_fd=self._folder))
        return self._stores[-1]
