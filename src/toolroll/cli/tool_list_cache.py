"""The list of tools as it was in the last run: a client gets it at once, and the kit is opened behind it.

It is kept for one state of the package's files, so that a new tool is seen at once; and the kit that is then opened
is compared with it, so that a client is told if it is another one after all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

import msgspec

from toolroll.mcp.backend import Item

_FOLDER = "listed"
_MOST = 20  # files; other choices of tools, other versions


class KeptList:
    """The list for one choice of options, in a file of the user's state folder."""

    def __init__(self, folder: str, *options: str) -> None:
        """`folder`: the state folder; `options`: whatever the list depends on, besides the package itself."""
        self._folder = os.path.join(folder, _FOLDER)
        self._name = hashlib.blake2b("\0".join((_stamp(), *options)).encode(), digest_size=16).hexdigest() + ".json"

    def load(self) -> list[Item] | None:
        """The list, if one is kept."""
        try:
            with open(os.path.join(self._folder, self._name), "rb") as file:
                return msgspec.json.decode(file.read(), type=list[Item])
        except (OSError, msgspec.DecodeError):  # it is only there to be quicker
            return None

    def save(self, tools: list[Item]) -> None:
        """Keep a list; where that cannot be, the next run takes a little longer."""
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
        for one in files[_MOST:]:
            os.unlink(one.path)


def _stamp() -> str:
    """Another one whenever a file of the package is another one."""
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
