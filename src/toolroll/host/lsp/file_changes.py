"""Find the files that changed since the last request, by comparing names and times before each request.

A language server relies on its client to report changed files. Tools, commands and the user all change files, so we
look at the whole workspace and miss no change.
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

from toolroll.host.runtime.dir_entries import SETTLED_NS
from toolroll.policy.paths import folders_above

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.lsp.servers import LanguageServer
    from toolroll.host.runtime.cancellation import CancelToken

_SKIPPED_FOLDERS = ("node_modules", "__pycache__", "site-packages", "target")
_MAX_CONFIG_BYTES = 1 << 20

FileStamp = tuple[int, int, int] | None
"""Modification time, size and inode; None when the file is too young to rely on them."""


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """The files that one server's answers depend on, at one moment."""

    files: dict[str, FileStamp] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    """Configuration and installed packages: when these differ, the server must restart."""


def take_snapshot(root: Root, server: LanguageServer, token: CancelToken) -> FileSnapshot:
    """The current state of the workspace."""
    snapshot = FileSnapshot()
    now = time.time_ns()
    endings = (*server.files, *server.also)
    todo = ["."]
    # A plain walk, several times faster than one that reads ignore files. Ignored files count anyway: generated code
    # is often ignored, and still imported.
    while todo:
        token.check()
        above = todo.pop()
        for entry in _entries(root.fd, above):
            path = entry.name if above == "." else f"{above}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith("."):
                    todo.append(path)
            elif entry.name in server.config:
                snapshot.config[path] = _digest(root.fd, path)
            elif entry.name.endswith(endings) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # gone meanwhile
                    snapshot.files[path] = make_stamp(entry.stat(follow_symlinks=False), now)
    for pattern in server.packages:
        for path in glob.iglob(pattern, dir_fd=root.fd):
            with suppress(FileNotFoundError):
                snapshot.config[path] = str(os.stat(path, dir_fd=root.fd).st_mtime_ns)
    return snapshot


def _entries(root: int, path: str) -> Iterator[os.DirEntry[str]]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    except OSError:
        return  # gone meanwhile, or not permitted
    try:
        with os.scandir(fd) as found:
            yield from found
    finally:
        os.close(fd)


def make_stamp(about: os.stat_result, now: int) -> FileStamp:
    """The stamp of a file, to notice a change."""
    young = now - about.st_mtime_ns < SETTLED_NS
    return None if young else (about.st_mtime_ns, about.st_size, about.st_ino)


def find_changes(old: dict[str, FileStamp], new: dict[str, FileStamp]) -> dict[str, int]:
    """The changed files: 1 for created, 2 for changed, 3 for deleted."""
    changes = {path: 1 if path not in old else 2 for path, at in new.items() if at is None or old.get(path) != at}
    return changes | {path: 3 for path in old if path not in new}


def find_changed_folders(old: Iterable[str], new: Iterable[str]) -> dict[str, int]:
    """Created (1) and deleted (3) folders, outermost first: some servers ignore files in folders they do not know."""
    before, after = folders_above(old), folders_above(new)
    return {path: 1 if path in after else 3 for path in sorted(before ^ after)}


def _digest(root: int, path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=root)
    except OSError:
        return ""
    try:
        return f"{os.fstat(fd).st_size} {hashlib.blake2b(os.read(fd, _MAX_CONFIG_BYTES), digest_size=8).hexdigest()}"
    except OSError:
        return ""
    finally:
        os.close(fd)
