"""The names that a Python module exports: the strings in its `__all__`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ALL = re.compile(r"^__all__\s*(?::[^=\n]+)?\+?=\s*[\[(]([^\])]*)[\])]", re.MULTILINE)


def find_exports(source: str, name: str) -> Iterator[tuple[int, int]]:
    """Where `__all__` has this name: lines and columns, from 1."""
    for exported in _ALL.finditer(source):
        for found in re.finditer(rf"([\"']){re.escape(name)}\1", exported[1]):
            start = exported.start(1) + found.start() + 1
            yield source.count("\n", 0, start) + 1, start - (source.rfind("\n", 0, start) + 1) + 1
