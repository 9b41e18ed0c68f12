"""Make temporary copies of a workspace, and find what was changed in them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence

from toolroll.host.files.trust import examine
from toolroll.host.files.walk import Walk
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.text.patch.write import FileVersions

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Copies:
    """Copies of the files of a workspace that no ignore file keeps out, with its repository. A context manager.

    `only` copies just these files. A first copy is kept as it was, so that the workspace may change meanwhile.
    """

    def __init__(self, workspace: str, *, only: Sequence[str] | None = None) -> None:
        if only is None:
            examine(workspace)  # a copy of a home folder would hold its secrets
        self._folder = tempfile.mkdtemp(prefix="toolroll-copies-")
        self._first = os.path.join(self._folder, "first")
        self.notes: list[str] = []
        try:
            os.mkdir(self._first)
            if only is None:
                self._fill(workspace)
            else:
                self._fill_with(workspace, only)
        except BaseException:
            self.close()
            raise

    def make(self, name: str) -> str:
        """The path of a new copy."""
        folder = os.path.join(self._folder, f"work-{name}")
        shutil.copytree(self._first, folder, symlinks=True)
        return folder

    def state(self, name: str) -> str:
        """A folder for what a kit keeps beside a copy, which goes with it."""
        return os.path.join(self._folder, f"state-{name}")

    def changes(self, name: str) -> list[FileVersions]:
        """What differs in a copy, by path; what its ignore files keep out is left out."""
        before, after = dict(_files(self._first)), dict(_files(os.path.join(self._folder, f"work-{name}")))
        found = []
        for path in sorted(before.keys() | after.keys()):
            old, new = before.get(path, (None, 0o644)), after.get(path, (None, 0o644))
            if old != new:
                found.append(FileVersions(path, old[0], new[0], old[1], new[1]))
        return found

    def close(self) -> None:
        """Remove every copy."""
        remove_tree(self._folder)

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self, workspace: str) -> None:
        with closing_fd(os.open(workspace, _FOLDER)) as fd:
            for seen in Walk(fd, hidden=True):
                target = os.path.join(self._first, seen.path)
                if seen.kind == "directory":
                    os.mkdir(target)
                elif seen.kind == "link":
                    os.symlink(os.readlink(os.path.join(workspace, seen.path)), target)
                elif seen.path == ".git":
                    self.notes.append("The workspace is a linked worktree, so the copies have no repository.")
                else:
                    self._copy(seen.open(), target)
        repository = os.path.join(workspace, ".git")
        if os.path.isdir(repository) and not os.path.islink(repository):
            shutil.copytree(repository, os.path.join(self._first, ".git"), symlinks=True)

    def _fill_with(self, workspace: str, paths: Iterable[str]) -> None:
        from toolroll.host.files.root import Root

        with Root(workspace) as root:
            for path in paths:
                target = os.path.join(self._first, root.text(path))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with contextlib.suppress(FileNotFoundError):
                    self._copy(root.file(path), target)

    def _copy(self, fd: int, target: str) -> None:
        """A regular file with its permissions; takes the descriptor."""
        with os.fdopen(fd, "rb") as source:
            found = os.fstat(source.fileno())
            if not stat.S_ISREG(found.st_mode):
                return
            with open(target, "wb") as copy:
                shutil.copyfileobj(source, copy)
                os.fchmod(copy.fileno(), stat.S_IMODE(found.st_mode) | stat.S_IRUSR | stat.S_IWUSR)


def _files(folder: str) -> Iterator[tuple[str, tuple[bytes, int]]]:
    """Each regular file with its content and permissions, as git records them."""
    with closing_fd(os.open(folder, _FOLDER)) as fd:
        for seen in Walk(fd, hidden=True):
            if seen.kind == "file":
                with os.fdopen(seen.open(), "rb") as file:
                    mode = os.fstat(file.fileno()).st_mode
                    yield seen.path, (file.read(), 0o755 if mode & stat.S_IXUSR else 0o644)


def remove_tree(path: str) -> None:
    """Remove a folder and all that is in it, whatever modes a command has set."""
    shutil.rmtree(path, onerror=_insist)


def _insist(_remove: object, path: str, _error: object) -> None:
    """Remove what a folder without permissions held on to."""
    for one in (os.path.dirname(path), path):
        with contextlib.suppress(OSError):
            os.chmod(one, 0o700)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
