"""Hold what a call replaces or removes by a second name until the call ends: to take it back then needs no room."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress

from toolroll.host.files.atomic import passing_name
from toolroll.host.files.journal.entry import PathState, look
from toolroll.host.files.openat import PathHandle
from toolroll.host.runtime.dir_entries import names


class HeldNames:
    """What one call has replaced or removed, in a folder of the state. What that cannot hold is held by nothing."""

    def __init__(self, folder: Callable[[], int]) -> None:
        self._folder = folder
        self._held: dict[tuple[str, str, str], list[str]] = {}

    def link(self, folder: int, name: str, path: str, state: PathState | None) -> None:
        """Before the file or link that has a name in an open folder is replaced or removed."""
        if state is None or state.kind not in ("file", "link"):
            return
        with suppress(OSError):  # another disk, another owner's, no room
            held = passing_name()
            os.link(name, held, src_dir_fd=folder, dst_dir_fd=self._folder(), follow_symlinks=False)
            self._add(path, state.kind, state.content, held)

    def remove_folder(self, folder: int, name: str, path: str) -> None:
        """Remove an empty folder; OSError if it is not empty."""
        held = passing_name()
        try:
            if names(folder, name, 0) != []:
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
            os.rename(name, held, src_dir_fd=folder, dst_dir_fd=self._folder())
        except OSError:
            return os.rmdir(name, dir_fd=folder)
        if names(self._folder(), held, 0) != []:  # others have put something into it just now
            os.rename(held, name, src_dir_fd=self._folder(), dst_dir_fd=folder)
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        return self._add(path, "directory", "", held)

    def put_back(self, place: PathHandle, state: PathState) -> bool:
        """Give what stood at a place its name again; False if it is not held, or was written to meanwhile."""
        held = self._held.get((place.path, state.kind, state.content))
        if not held:
            return False
        with suppress(OSError):
            now, _ = look(self._folder(), held[-1])
            if now is None or now.content != state.content:
                return False
            os.rename(held[-1], place.name, src_dir_fd=self._folder(), dst_dir_fd=place.fd)
            held.pop()
            return True
        return False

    def drop(self) -> None:
        """The call has ended."""
        for (_, kind, _), held in self._held.items():
            for name in held:
                with suppress(OSError):
                    (os.rmdir if kind == "directory" else os.unlink)(name, dir_fd=self._folder())
        self._held.clear()

    def _add(self, path: str, kind: str, content: str, held: str) -> None:
        self._held.setdefault((path, kind, content), []).append(held)
