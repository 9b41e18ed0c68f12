"""Tool lists that a client gets at once, while the kit opens in the background: shipped, or cached by the last run.

The package ships the lists of its dialects with default options. Every other list is cached; the key includes the
state of the package's files, so that a new tool is seen at once. A kit that is opened with other options than the list
was chosen for is compared with it, and the client is notified if they differ.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from toolroll.mcp.kit_backend import ToolLists

if TYPE_CHECKING:
    from toolroll.kit import Kit

SHIPPED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mcp", "tool_lists.json")
_FOLDER = "listed"
_MAX_FILES = 20  # for other options and versions


class DialectLists(msgspec.Struct):
    """The tool lists of a dialect, each definition once."""

    definitions: dict[str, msgspec.Raw]
    lists: dict[str, list[str]]


class ShippedToolLists:
    """The lists in the package, written by `make docs`."""

    def __init__(self, dialect: str, has_defaults: Callable[[Kit], bool]) -> None:
        """`has_defaults`: whether nothing of a kit's settings changes what it shows in its dialect."""
        self._dialect = dialect
        self._has_defaults = has_defaults

    def load(self) -> ToolLists | None:
        """The lists of the dialect, or None for one that is not our own."""
        try:
            with open(SHIPPED, "rb") as file:
                found = msgspec.json.decode(file.read(), type=dict[str, msgspec.Raw]).get(self._dialect)
            kept = msgspec.json.decode(found, type=DialectLists) if found else None
        except (OSError, msgspec.DecodeError):  # they are only for speed
            return None
        if kept is None:
            return None
        tools = {name: msgspec.json.decode(text) for name, text in kept.definitions.items()}
        return {choice: [tools[name] for name in names] for choice, names in kept.lists.items()}

    def save(self, tools: ToolLists) -> None:
        """Nothing to store: lists that differ are those of another folder's settings."""

    def fits(self, kit: Kit) -> bool:
        return kit.dialect.name == self._dialect and self._has_defaults(kit)


class ToolListCache:
    """The tool list for one set of options, in a file of the user's state folder."""

    def __init__(self, folder: str, *options: str) -> None:
        """`folder`: the state folder; `options`: everything the list depends on besides the package."""
        self._folder = os.path.join(folder, _FOLDER)
        self._name = (
            hashlib.blake2b("\0".join((_package_state(), *options)).encode(), digest_size=16).hexdigest() + ".json"
        )

    def load(self) -> ToolLists | None:
        """The cached lists, or None."""
        try:
            with open(os.path.join(self._folder, self._name), "rb") as file:
                found = msgspec.json.decode(file.read(), type=ToolLists)
        except (OSError, msgspec.DecodeError):  # the cache is only for speed
            return None
        return found or None

    def fits(self, _kit: Kit) -> bool:
        return False

    def save(self, tools: ToolLists) -> None:
        """Store the lists; without it the next run only takes longer to start."""
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            draft = os.path.join(self._folder, f".{os.getpid()}")
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(msgspec.json.encode(tools))
            os.replace(draft, os.path.join(self._folder, self._name))
            self._sweep()

    def _sweep(self) -> None:
        with os.scandir(self._folder) as found:
            files = sorted(found, key=lambda one: one.stat().st_mtime, reverse=True)
        for one in files[_MAX_FILES:]:
            os.unlink(one.path)


def _package_state() -> str:
    """A text that changes whenever a file of the package changes."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    rows = []
    folders = [package]
    while folders:
        with os.scandir(folders.pop()) as found:
            for one in found:
                if one.is_dir(follow_symlinks=False):
                    if one.name != "__pycache__":
                        folders.append(one.path)
                elif one.name.endswith((".py", ".md")):
                    status = one.stat()
                    rows.append(f"{one.path} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(sorted(rows))
