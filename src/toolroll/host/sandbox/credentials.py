"""Find credential files in folders that commands may read."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator

from toolroll.policy.secret_files import holds_credential, is_secret_name, may_hold_credential

_DEPTH = 4  # folders beneath the one that is granted
# What is in the folders of such a folder came with a package: test keys of Python's own library, for example.
_PACKAGES = re.compile(
    r"python\d[\d.]*|(?:site|dist)-packages|node_modules|(?:rust|ruby|erlang|perl5|mod|src|repository)(?:lib)?"
)
_MOST = 100_000  # names that are looked at in all
_BYTES = 1 << 20


def find_credentials(roots: Iterable[str]) -> Iterator[str]:
    """The files of credentials in these folders, by their names and, for configuration, by what is in them.

    Folders are looked at breadth first, some levels deep: this is done before a command and may not take long.
    """
    left = _MOST
    waiting = deque((root, 0) for root in roots)
    while waiting and left > 0:
        folder, depth = waiting.popleft()
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError:
            continue  # a file, or not for us to read
        left -= len(found)
        packages = _PACKAGES.fullmatch(os.path.basename(folder)) is not None
        for entry in found:
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if depth < _DEPTH and not packages:
                    waiting.append((entry.path, depth + 1))
            elif is_secret_name(entry.path) or (
                may_hold_credential(entry.name) and not holds_no_credential(entry.path)
            ):
                yield entry.path


def holds_no_credential(path: str) -> bool:
    """Whether a file of settings is there and holds nothing that looks like a credential."""
    try:
        with open(path, "rb") as file:
            data = file.read(_BYTES + 1)
    except OSError:
        return False
    return len(data) <= _BYTES and not holds_credential(os.path.basename(path), data)
