"""Write the files of a workspace into a tar archive: the same files give the same bytes."""

from __future__ import annotations

import os
import stat
import tarfile
import tempfile
from dataclasses import dataclass, field
from typing import IO

from toolroll.host.files.walk import Walk, WalkEntry
from toolroll.host.files.workspace import Workspace
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ToolError

GIT = ".git"


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed workspace: a nameless file at its start, to read or copy. Also a context manager, which closes it."""

    file: IO[bytes]
    entries: int
    """Files, folders and links in it."""
    left_out: list[str] = field(default_factory=list)
    """What is not in it though nothing ignores it: links that lead out, and what may not or cannot be read."""

    def __enter__(self) -> IO[bytes]:
        return self.file

    def __exit__(self, *_: object) -> None:
        self.file.close()


def leads_out(path: str, target: str) -> bool:
    """Whether a link at this path may lead out of the workspace, if the folders on its way are no links."""
    steps = target.split("/")
    up = next((at for at, step in enumerate(steps) if step != ".."), len(steps))
    return not target or target.startswith("/") or ".." in steps[up:] or up > path.count("/")


def pack(files: Workspace, token: CancelToken, *, ignored: bool, git: bool) -> Packed:
    """Pack the files that no ignore file keeps out, or all of them; with `git` the repository's own folder too."""
    left: list[str] = []

    def excludes(path: str) -> bool:
        try:
            files.may_read(tuple(path.split("/")))
        except ToolError:
            left.append(path)
            return True
        return False

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            walk = Walk(files.root.fd, hidden=True, ignored=ignored, excludes=excludes)
            count = sum(_add(tar, "", one, left, token) for one in walk)
            if git:
                count += _add_repository(tar, files.root.fd, left, token)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Packed(file, count, left)


def _add_repository(tar: tarfile.TarFile, root: int, left: list[str], token: CancelToken) -> int:
    try:
        fd = os.open(GIT, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    except (FileNotFoundError, NotADirectoryError):  # none, or that of a linked worktree, which is elsewhere
        return 0
    try:
        tar.addfile(_describe(GIT, os.fstat(fd)))
        return 1 + sum(_add(tar, f"{GIT}/", one, left, token) for one in Walk(fd, hidden=True, ignored=True))
    finally:
        os.close(fd)


def _add(tar: tarfile.TarFile, prefix: str, seen: WalkEntry, left: list[str], token: CancelToken) -> bool:
    """Add one entry; False if it is left out."""
    token.check()
    path = prefix + seen.path
    try:
        status = seen.stat()
        info = _describe(path, status)
        if seen.kind == "link":
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, seen.link(), 0o777
            if not leads_out(path, info.linkname):
                tar.addfile(info)
                return True
        elif seen.kind == "directory":
            tar.addfile(info)
            return True
        else:
            with os.fdopen(seen.open(), "rb") as content:
                if stat.S_ISREG((status := os.fstat(content.fileno())).st_mode):
                    info.size = status.st_size
                    tar.addfile(info, content)
                    return True
    except (PermissionError, FileNotFoundError):
        pass
    left.append(path)
    return False


def _describe(path: str, status: os.stat_result) -> tarfile.TarInfo:
    """A header without times and owners, which differ from copy to copy."""
    info = tarfile.TarInfo(path)
    info.mode = stat.S_IMODE(status.st_mode) & 0o777
    info.type = tarfile.DIRTYPE if stat.S_ISDIR(status.st_mode) else tarfile.REGTYPE
    return info
