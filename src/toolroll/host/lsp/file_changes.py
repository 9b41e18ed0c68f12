"""What has changed in a workspace since a server was last told: by looking, so that no change is missed.

A language server is told of changes by its client, and believes what it read before if it is not. Whoever changed
a file (a tool, a command, the user) is nothing to us, so names and times are looked at before each question.
"""

from __future__ import annotations

import glob
import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.lsp.servers import Server
    from toolroll.host.runtime.cancellation import Token

_SKIPPED = ("node_modules", "__pycache__", "site-packages", "target")
_SETTLED = 100_000_000  # nanoseconds: a file that is younger may change again without its time telling
_MOST_CONFIG = 1 << 20

Stamp = tuple[int, int, int] | None
"""When it was changed, its size and its number; None when the file is too young to be known by these."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The files that one server's answers depend on, as they were at one moment."""

    files: dict[str, Stamp] = field(default_factory=dict)
    grounds: dict[str, str] = field(default_factory=dict)
    """Configuration and installed packages: when these differ, nothing that was thought before holds."""


def look(root: Root, server: Server, token: Token) -> Sight:
    """How things stand now."""
    sight = Sight()
    now = time.time_ns()
    endings = (*server.files, *server.also)
    todo = ["."]
    # A plain walk, several times as quick as one that heeds ignore files. Ignored files count here in any case:
    # code that is generated is often ignored, and it is imported all the same.
    while todo:
        token.check()
        above = todo.pop()
        for entry in _entries(root.fd, above):
            path = entry.name if above == "." else f"{above}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and not entry.name.startswith("."):
                    todo.append(path)
            elif entry.name in server.config:
                sight.grounds[path] = _digest(root.fd, path)
            elif entry.name.endswith(endings) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # gone meanwhile
                    sight.files[path] = stamp(entry.stat(follow_symlinks=False), now)
    for pattern in server.packages:
        for path in glob.iglob(pattern, dir_fd=root.fd):
            with suppress(FileNotFoundError):
                sight.grounds[path] = str(os.stat(path, dir_fd=root.fd).st_mtime_ns)
    return sight


def _entries(root: int, path: str) -> Iterator[os.DirEntry[str]]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    except OSError:
        return  # gone meanwhile, or not for us to see
    try:
        with os.scandir(fd) as found:
            yield from found
    finally:
        os.close(fd)


def stamp(about: os.stat_result, now: int) -> Stamp:
    """What tells a file from what it was before."""
    young = now - about.st_mtime_ns < _SETTLED
    return None if young else (about.st_mtime_ns, about.st_size, about.st_ino)


def differences(old: dict[str, Stamp], new: dict[str, Stamp]) -> dict[str, int]:
    """The files that are not what they were: 1 for created, 2 for changed, 3 for deleted."""
    changes = {path: 1 if path not in old else 2 for path, at in new.items() if at is None or old.get(path) != at}
    return changes | {path: 3 for path in old if path not in new}


def folders(old: Iterable[str], new: Iterable[str]) -> dict[str, int]:
    """The folders of such files that came (1) or went (3), the outermost first: some servers ask for no file in
    a folder that they do not know of."""
    before, after = _above(old), _above(new)
    return {path: 1 if path in after else 3 for path in sorted(before ^ after)}


def _above(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _digest(root: int, path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=root)
    except OSError:
        return ""
    try:
        return f"{os.fstat(fd).st_size} {hashlib.blake2b(os.read(fd, _MOST_CONFIG), digest_size=8).hexdigest()}"
    except OSError:
        return ""
    finally:
        os.close(fd)
