"""What of a repository is kept in the state folder, so that no command can lose commits."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress

from toolroll.host.files.openat import LIST
from toolroll.host.sandbox.dir_entries import Parts
from toolroll.host.sandbox.git.objects import KeptObjects
from toolroll.host.sandbox.git.refs import KeptRefs

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
