"""Find files of secrets by their names and, for configuration, by what is in them."""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from toolroll.policy.secrets import holds_credential, is_secret_name, may_hold_credential

_MAX_BYTES = 1 << 20  # of configuration; a longer file is taken for one of secrets


class FoundSecretFiles(NamedTuple):
    """The outcome of a search."""

    paths: list[str]
    is_whole: bool
    """Whether all folders were looked into."""


def find_secret_files(
    roots: Iterable[str],
    packages: re.Pattern[str],
    *,
    depth: int,
    most: int,
    is_named: Callable[[str], bool] | None = None,
    links: bool = False,
) -> FoundSecretFiles:
    """The files of secrets in these folders, breadth first, so many levels deep, among so many names.

    What is in the folders of one whose name matches `packages` came with a package: test keys, for example. `is_named`
    says of more paths that they are secret. With `links`, links of such a name count as well.
    """
    found: list[str] = []
    waiting = deque((root, 0) for root in roots)
    while waiting and most > 0:
        folder, level = waiting.popleft()
        try:
            with os.scandir(folder) as entries:
                inside = list(entries)
        except OSError:
            continue  # a file, or not for us to read
        most -= len(inside)
        deeper = level < depth and packages.fullmatch(os.path.basename(folder)) is None
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                if deeper:
                    waiting.append((entry.path, level + 1))
            elif (links or not entry.is_symlink()) and (
                is_secret_file(entry.path) or (is_named is not None and is_named(entry.path))
            ):
                found.append(entry.path)
    return FoundSecretFiles(found, not waiting)


def is_secret_file(path: str) -> bool:
    """Whether a file has the name of one with secrets, or is configuration that holds a credential."""
    return is_secret_name(path) or (may_hold_credential(os.path.basename(path)) and not holds_no_credential(path))


def holds_no_credential(path: str) -> bool:
    """Whether a file of settings is there and holds nothing that looks like a credential."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return True
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return False
    return len(data) <= _MAX_BYTES and not holds_credential(os.path.basename(path), data)
