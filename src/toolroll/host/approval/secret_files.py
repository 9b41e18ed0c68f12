"""Find files of secrets by their names and, for configuration, by what is in them."""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from toolroll.policy.paths import is_secret_name, may_hold_credential
from toolroll.policy.secrets import holds_credential, holds_secret

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
    is_secret: Callable[[str], bool],
    links: bool = False,
    skip: str = "",
) -> FoundSecretFiles:
    """The files of secrets in these folders, breadth first, so many levels deep, among so many names.

    What is in the folders of one whose name matches `packages` came with a package: test keys, for example. With
    `links`, links of such a name count as well. Folders with the name `skip` are left out.
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
                if deeper and entry.name != skip:
                    waiting.append((entry.path, level + 1))
            elif (links or not entry.is_symlink()) and is_secret(entry.path):
                found.append(entry.path)
    return FoundSecretFiles(found, not waiting)


def may_be_secret_file(path: str) -> bool:
    """Whether a file has the name of one with secrets, or is configuration that could hold a credential."""
    return is_secret_name(path) or (may_hold_credential(os.path.basename(path)) and not holds_no_credential(path))


def is_secret_file(path: str) -> bool:
    """Whether a file has the name of one with secrets, or is configuration that shows a key, token or password."""
    name = os.path.basename(path)
    if is_secret_name(path) or not may_hold_credential(name):
        return is_secret_name(path)
    data = _read(path) or b""
    if name.lower().endswith((".pem", ".key", ".asc")):
        return holds_credential(name, data)
    return holds_secret(data.decode("utf-8", "replace"))


def holds_no_credential(path: str) -> bool:
    """Whether a file of settings is there and holds nothing that looks like a credential."""
    data = _read(path)
    return data is not None and len(data) <= _MAX_BYTES and not holds_credential(os.path.basename(path), data)


def _read(path: str) -> bytes | None:
    """The beginning of a file; None if it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)  # a pipe would keep us waiting
            return file.read(_MAX_BYTES + 1) if is_file else b""
    except OSError:
        return None
