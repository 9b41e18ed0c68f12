"""Put the contents of a tar archive into a workspace through its journal: all of it or nothing."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from toolroll.host.files import atomic
from toolroll.host.files.archive.pack import GIT, leads_out
from toolroll.host.files.journal.entry import MOST_KEPT, PathState, look
from toolroll.host.files.journal.recorder import Recorder
from toolroll.host.files.openat import PathHandle
from toolroll.host.files.workspace import Workspace
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.result import ErrorCode, ToolError

_MAX_ENTRIES = 200_000
_MAX_BYTES = 8 << 30  # of all files together
_LISTED = 20  # entries that an error names
_HOOKS = f"{GIT}/hooks/"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What became of the entries of an archive."""

    written: list[str] = field(default_factory=list)
    """Files, folders and links that are new or changed."""
    unchanged: int = 0
    left_out: list[str] = field(default_factory=list)
    """Of a repository's own folder, what was not asked for, and its hooks."""
    auto_run: list[str] = field(default_factory=list)
    """New and changed files that other programs run by themselves."""


@contextmanager
def read_twice(archive: str | os.PathLike[str] | bytes | IO[bytes]) -> Iterator[IO[bytes]]:
    """An archive as a file that can be read twice; one that is given open stays open."""
    if isinstance(archive, bytes):
        yield io.BytesIO(archive)
    elif isinstance(archive, str | os.PathLike):
        with open(archive, "rb") as file:
            yield file
    elif archive.seekable():
        yield archive
    else:
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(archive, copy)
            copy.seek(0)
            yield copy


def unpack(files: Workspace, archive: IO[bytes], token: CancelToken, *, git: bool) -> Unpacked:
    """Write every entry, over what is there; ToolError, and nothing done, if one of them must not be written."""
    recorder = files.recorder
    if recorder is None:
        raise ToolError(ErrorCode.UNSUPPORTED, "There is no journal here: an archive is unpacked with one.")
    if git and files.root.has(GIT):
        raise ToolError(ErrorCode.CONFLICT, f"The workspace has a repository. Unpack without {GIT!r}, or elsewhere.")
    done = Unpacked()
    try:
        with tarfile.open(fileobj=archive) as tar:
            chosen = _choose(tar, git, done)
            for path, member in chosen.items():
                token.check()
                if _Writer(files, recorder, path).write(tar, member):
                    done.written.append(path)
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ToolError(ErrorCode.VALIDATION, f"The archive cannot be read: {error}.") from error
    unchanged = len(chosen) - len(done.written)
    return Unpacked(done.written, unchanged, done.left_out)


def _choose(tar: tarfile.TarFile, git: bool, done: Unpacked) -> dict[str, tarfile.TarInfo]:
    """The entries by their paths; ToolError with a list if some are unsafe."""
    chosen: dict[str, tarfile.TarInfo] = {}
    refused: list[str] = []
    size = 0
    for member in tar:
        size += member.size
        if len(chosen) >= _MAX_ENTRIES or size > _MAX_BYTES or member.size > MOST_KEPT:
            raise ToolError(
                ErrorCode.TOO_LARGE,
                f"The archive is too large: the limits are {_MAX_ENTRIES} entries, {MOST_KEPT} bytes for a file and "
                f"{_MAX_BYTES} bytes in all.",
            )
        path = "/".join(step for step in member.name.split("/") if step != ".").rstrip("/")
        if not path and member.isdir():
            continue
        if why := _find_fault(path, member):
            refused.append(f"{member.name!r} {why}")
        elif path.startswith(_HOOKS) or (not git and GIT in path.split("/")):
            done.left_out.append(path)
        else:
            chosen[path] = member
    if refused:
        more = [f"and {len(refused) - _LISTED} more"] if len(refused) > _LISTED else []
        said = "\n".join(refused[:_LISTED] + more)
        raise ToolError(ErrorCode.SECURITY, f"Nothing was unpacked, because of these entries:\n{said}")
    return chosen


def _find_fault(path: str, member: tarfile.TarInfo) -> str:
    """Why an entry must not be unpacked; empty if it may."""
    steps = path.split("/")
    if path.startswith("/") or ".." in steps or "" in steps or "\0" in path:
        return "leads out of the workspace"
    if member.issym():
        return f"is a link that leads out, to {member.linkname!r}" if leads_out(path, member.linkname) else ""
    return "" if member.isreg() or member.isdir() or member.islnk() else "is a device, a pipe or of an unknown kind"


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes one entry."""

    files: Workspace
    recorder: Recorder
    path: str

    def write(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> bool:
        """Write the entry; False if the same is there already."""
        is_git = self.path.split("/")[0] == GIT
        check = self.recorder.expect if is_git else self.files.prepare
        with self.files.root.place(self.path, create=True, follow=False, check=check) as place:
            if place.path != self.path:
                raise self._conflict("a folder on the way to it is a link")
            self.files.records.forget(self.path)
            if member.isdir():
                return self._make_folder(place, member.mode & 0o777)
            if member.issym():
                return self._make_link(place, member.linkname)
            return self._write_file(place, _read(tar, member), member.mode & 0o777)

    def _make_folder(self, place: PathHandle, mode: int) -> bool:
        if stat.S_ISDIR(place.mode()):
            return False
        if place.mode():
            raise self._conflict("something that is no folder is there")
        with self.recorder.making(place, PathState("directory", -1)):
            os.mkdir(place.name, mode | 0o700, dir_fd=place.fd)
            os.chmod(place.name, mode | 0o700, dir_fd=place.fd)
        return True

    def _make_link(self, place: PathHandle, target: str) -> bool:
        if place.link() == target:
            return False
        if place.mode():
            raise self._conflict("something that is not this link is there")
        with self.recorder.making(place, PathState("link", 0, target)):
            os.symlink(target, place.name, dir_fd=place.fd)
        return True

    def _write_file(self, place: PathHandle, data: bytes, mode: int) -> bool:
        if place.mode() and not stat.S_ISREG(place.mode()):
            raise self._conflict("something that is no file is there")
        now, _ = look(place.fd, place.name)
        wanted = PathState.of_file(data, mode)
        if now is None or now.content != wanted.content:
            with self.recorder.writing(place, data, None, mode):
                atomic.write(place, data, stage=None, mode=mode, durable=False, sync=self.recorder.folders.add)
        if stat.S_IMODE(place.mode()) != mode:
            with self.recorder.setting_mode(place, mode):
                os.chmod(place.name, mode, dir_fd=place.fd)
        return now is None or (now.content, now.mode) != (wanted.content, mode)

    def _conflict(self, why: str) -> ToolError:
        return ToolError(ErrorCode.CONFLICT, f"Nothing was unpacked: {self.path!r} cannot be written, {why}.")


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The content of a file; of a second name of a file, that of the first."""
    try:
        content = tar.extractfile(member)
    except KeyError:
        content = None
    if content is None:
        raise ToolError(ErrorCode.VALIDATION, f"Nothing was unpacked: {member.name!r} names a file that is not in it.")
    return content.read()
