"""Journal entries: what stood at a path before and after a call, and which call it was."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolroll.host.files.versions import digest
from toolroll.result import ErrorCode, ToolError

PathKind = Literal["file", "directory", "link", "ignored", "other"]
"""What stands at a path. "ignored": a folder that is taken as a whole; "other": a socket, a pipe, a device."""
NOT_KEPT = "~"
"""The first character of a `content` that stands for size and time of a file whose content is not kept."""
REFS = "refs"
"""In the note of an entry: what a command moved in the repository, by ref: what it was and what it is then."""
UNKNOWN = "unknown"
"""In the note of an entry: why it is not known what it changed, so that it cannot be undone."""
NewFiles = Mapping[str, Mapping[str, tuple[int, int, int, int, int]]]
"""Files that a command made: by folder, whose path is empty or ends in a slash, and by name.

Of each the mode, inode, size, times of modification and change in ns.
"""


@dataclass(frozen=True, slots=True)
class PathState:
    """What stands at a path. `content` is the digest of a file's bytes, or where a link leads."""

    kind: PathKind
    mode: int
    content: str = ""
    mtime_ns: int = 0
    """When it was modified; 0 where that is not put back."""
    attributes: Mapping[str, bytes] = field(default_factory=dict)
    """Its extended attributes, put back together with the time."""
    names: tuple[str, ...] = ()
    """The other paths by which the same file was known."""

    @property
    def is_lost(self) -> bool:
        """Whether it cannot be put back once it is gone."""
        return self.kind in ("ignored", "other") or self.content.startswith(NOT_KEPT)

    @classmethod
    def of_file(cls, data: bytes, mode: int) -> PathState:
        return cls("file", stat.S_IMODE(mode), digest(data).hex())


@dataclass(frozen=True, slots=True)
class PathChange:
    """One step: what was at a path and what is there now (None: nothing), or a move from `source`."""

    path: str
    before: PathState | None
    after: PathState | None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """All that one call changed."""

    number: int
    time: float
    tool: str
    session: str
    message: str
    changes: tuple[PathChange, ...]
    undoes: tuple[int, ...] = ()
    """The entries that this one took back."""
    note: Mapping[str, Any] = field(default_factory=dict)
    """What the tool says of it: spans, relation."""
    new_files: NewFiles = field(default_factory=dict)
    """Further files that it made, of which nothing is kept, as the log has them; read back, they are `changes`."""

    @property
    def has_effect(self) -> bool:
        """Whether there is something to undo: files, or branches, or what is not known."""
        return bool(self.changes or REFS in self.note or UNKNOWN in self.note)

    def paths(self) -> list[str]:
        """Every path it touched."""
        return list(dict.fromkeys(p for one in self.changes for p in (one.source, one.path) if p is not None))


def expand_new_files(found: NewFiles) -> Iterator[PathChange]:
    """The steps that made these files."""
    for folder, names in found.items():
        for name, (mode, _, size, mtime_ns, _) in names.items():
            content = unkept_content(size, mtime_ns)
            yield PathChange(folder + name, None, PathState("file", stat.S_IMODE(mode), content, mtime_ns))


def unkept_content(size: int, mtime_ns: int) -> str:
    """What stands for the content of a file that is not kept."""
    return f"{NOT_KEPT}{size}.{mtime_ns}"


MOST_KEPT = 1 << 28
"""The bytes of a file that are kept, to undo what was done to it."""


def check_kept(path: str, size: int) -> None:
    """Raise ToolError for a file that is too large to be kept: what is done to it could not be undone."""
    if size > MOST_KEPT:
        raise ToolError(
            ErrorCode.TOO_LARGE,
            f"{path!r} is too large: {size} bytes. Of files over {MOST_KEPT} bytes nothing is kept to undo a change, "
            "so no tool changes them. Use a command.",
        )


def is_kept_kind(mode: int) -> bool:
    """Whether this is the st_mode of a file, a folder or a link."""
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def look(fd: int, name: str) -> tuple[PathState | None, bytes | None]:
    """What stands at a name in an open folder, and the bytes if it is a file."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None, None
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return PathState("link", 0, os.readlink(name, dir_fd=fd)), None
    if stat.S_ISDIR(status.st_mode):
        return PathState("directory", mode), None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(6, "Not a file, folder or link", name)
    check_kept(name, status.st_size)
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    with os.fdopen(opened, "rb") as file:
        data = file.read()
    return PathState.of_file(data, mode), data
