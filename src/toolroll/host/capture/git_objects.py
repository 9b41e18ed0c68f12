"""What git could restore: read the index of a repository and contents of its objects."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from toolroll.host.runtime.launcher import AccessRules, Launcher
from toolroll.result import ToolError

_ENTRY = struct.Struct(">10L20sH")
_EXTENDED, _STAGE, _INTENT_TO_ADD = 0x4000, 0x3000, 0x2000
_TIMEOUT_S = 60.0
_MAX_BYTES = 1 << 28  # of an index
# Attributes by which a file in the working tree may differ from its object.
_CONVERTED = re.compile(rb"(?<![-!\w])(text|eol|crlf|filter|ident|working-tree-encoding|autocrlf)\b")


class IndexEntry(NamedTuple):
    """A file as git has seen it last, and the name of its content."""

    ctime_ns: int
    mtime_ns: int
    inode: int
    size: int
    oid: str


class GitIndex:
    """The files of a repository that git has, by their paths from the workspace."""

    def __init__(self, workspace: str, launcher: Launcher) -> None:
        self._launcher = launcher
        self._folder, self._prefix = _find_repository(workspace)
        self.stamp: tuple[int, ...] | None = None
        """Of the index file; another one means that git may have other contents."""
        self._parsed: tuple[int, ...] | None = None
        self._entries: dict[str, IndexEntry] = {}
        self._folders: set[str] = set()

    def refresh(self) -> None:
        """Look whether the index has changed."""
        self.stamp = self._look()

    @property
    def written_ns(self) -> int:
        """When the index was written: what is not older may have changed since, with the same stamp."""
        return self.stamp[2] if self.stamp is not None else 0

    @property
    def entries(self) -> dict[str, IndexEntry]:
        """The files; none of an index that cannot be read."""
        if self.stamp != self._parsed:
            self._parsed, self._entries, self._folders = self.stamp, {}, set()
            with suppress(ValueError, IndexError, struct.error):
                self._entries = parse_index(_read(f"{self._folder}/index"), self._prefix)
        return self._entries

    @property
    def converts(self) -> bool:
        """Whether the settings make git change contents between the working tree and its objects."""
        named = (f"{self._folder}/{name}" for name in ("config", "info/attributes"))
        return self.stamp is not None and any(converts(_read(one)) for one in named)

    def is_tracked(self, folder: str) -> bool:
        """Whether git has files beneath a folder, whose path ends in a slash."""
        entries = self.entries
        if not self._folders:
            for path in entries:
                at = path.rfind("/")
                while at > 0 and path[: at + 1] not in self._folders:
                    self._folders.add(path[: at + 1])
                    at = path.rfind("/", 0, at)
        return folder in self._folders

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """The contents of objects, as many of them as git has."""
        wanted = list(dict.fromkeys(oids))
        if not wanted or self._folder is None:
            return {}
        return _parse_batch(self._ask(wanted, "--batch"))

    def sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """The sizes of objects, as many of them as git has."""
        wanted = list(dict.fromkeys(oids))
        if not wanted or self._folder is None:
            return {}
        rows = (line.split() for line in self._ask(wanted, "--batch-check").splitlines())
        return {row[0].decode(): int(row[2]) for row in rows if len(row) == 3}

    def _ask(self, oids: list[str], how: str) -> bytes:
        with suppress(OSError, ToolError):
            return self._cat(oids, how)
        return b""

    def _cat(self, oids: list[str], how: str) -> bytes:
        from toolroll.host.sandbox.git.git_process import ask_git

        words, names = [f"--git-dir={self._folder}", "cat-file", how, "--buffer"], "".join(f"{one}\n" for one in oids)
        access = AccessRules((), (_common_folder(str(self._folder)), str(self._folder)))
        return ask_git(self._launcher, words, access, _TIMEOUT_S, given=names.encode())[0]

    def _look(self) -> tuple[int, ...] | None:
        if self._folder is None:
            return None
        try:
            about = os.stat(f"{self._folder}/index")
        except OSError:
            return None
        return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def converts(attributes: bytes) -> bool:
    """Whether a `.gitattributes` file makes git change contents between the working tree and its objects."""
    return bool(_CONVERTED.search(attributes))


def parse_index(data: bytes, prefix: str = "") -> dict[str, IndexEntry]:
    """The regular files of an index beneath a folder of the repository; ValueError for what is none."""
    found: dict[str, IndexEntry] = {}
    for entry, mode, flags, name in _entries(data):
        if mode >> 12 == 0o10 and not flags & (_STAGE | _INTENT_TO_ADD << 16):
            path = os.fsdecode(name)
            if path.startswith(prefix):
                found[path[len(prefix) :]] = entry
    return found


def digest_staged(data: bytes) -> str:
    """The same for indexes with the same staged files, whatever git knows of the files in the working tree."""
    found = hashlib.sha256()
    with suppress(ValueError, IndexError, struct.error):
        for entry, mode, flags, name in _entries(data):
            found.update(b"%o %s %d %s\0" % (mode, entry.oid.encode(), flags & _STAGE, name))
    return found.hexdigest()


def _entries(data: bytes) -> Iterator[tuple[IndexEntry, int, int, bytes]]:
    """Each entry of an index with its mode, its flags, those of the second word 16 bits up, and its name."""
    if data[:4] != b"DIRC":
        raise ValueError("this is no index")
    version, count = struct.unpack_from(">2L", data, 4)
    if version not in (2, 3, 4):
        raise ValueError(f"index of version {version}")
    at, name = 12, b""
    for _ in range(count):
        ctime, ctime_ns, mtime, mtime_ns, _, inode, mode, _, _, size, oid, flags = _ENTRY.unpack_from(data, at)
        start = at + _ENTRY.size
        if flags & _EXTENDED:
            flags |= struct.unpack_from(">H", data, start)[0] << 16
            start += 2
        if version == 4:
            cut, start = _varint(data, start)
            end = data.index(b"\0", start)
            name, at = name[: len(name) - cut] + data[start:end], end + 1
        else:
            end = data.index(b"\0", start)
            name, at = data[start:end], at + ((end - at + 8) & ~7)
        times = ctime * 10**9 + ctime_ns, mtime * 10**9 + mtime_ns
        yield IndexEntry(*times, inode, size, oid.hex()), mode, flags, name


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as version 4 writes it, and where it ends."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 127)
    return value, at + 1


def _parse_batch(printed: bytes) -> dict[str, bytes]:
    """What `git cat-file --batch` prints."""
    found: dict[str, bytes] = {}
    at = 0
    while (end := printed.find(b"\n", at)) >= 0:
        words = printed[at:end].split()
        at = end + 1
        if len(words) == 3:
            size = int(words[2])
            if words[1] == b"blob" and len(printed) >= at + size:
                found[words[0].decode()] = printed[at : at + size]
            at += size + 1
    return found


def _find_repository(workspace: str) -> tuple[str | None, str]:
    """The git folder of the working tree that a folder is in, and the path of the folder there, with a slash."""
    top = workspace
    while True:
        git = os.path.join(top, ".git")
        with suppress(OSError):
            if os.path.isfile(git):
                line = os.fsdecode(_read(git)).removeprefix("gitdir:").strip()
                git = os.path.normpath(os.path.join(top, line))
            if os.path.isfile(os.path.join(git, "HEAD")):
                inner = os.path.relpath(workspace, top)
                return git, "" if inner == "." else f"{inner}/"
        if top == os.path.dirname(top):
            return None, ""
        top = os.path.dirname(top)


def _common_folder(git: str) -> str:
    """Where the objects of a repository are: of a further working tree, in the first one's folder."""
    return os.path.normpath(os.path.join(git, os.fsdecode(_read(f"{git}/commondir")).strip()))


def _read(path: str) -> bytes:
    """A file of a git folder; nothing if it cannot be read."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return file.read(_MAX_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    return b""
