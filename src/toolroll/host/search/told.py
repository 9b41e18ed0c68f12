"""What ripgrep itself tells of the files that it passes over, so that nobody has to look for them."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from toolroll.host.files.walk import enter

if TYPE_CHECKING:
    from toolroll.host.files.walk import Kind
    from toolroll.host.search.query import Ground

_LOG = b"rg: DEBUG|"
_OWN = (b"ignore::walk|", b"grep_printer::")
_PASSED = re.compile(
    rb"[\w:]+\|[^|:\n]+:\d+: ignoring \./(.+): "
    rb"(?:(Ignore\(IgnoreMatch\(.*)|(found binary data at offset \d+)|\d+ bytes)"
)
_LOSSY = "\ufffd".encode()
_MOST = 4_000  # of what is told, in files and folders; of more it is quicker to look


class Told:
    """The files that one search passed over. All paths are from the searched folder."""

    def __init__(self) -> None:
        self.left: list[tuple[str, Kind]] = []
        """What is hidden or ignored; of a folder nothing in it is named."""
        self.binary: list[str] = []
        self.big = 0


def told(log: bytes, ground: Ground) -> Told | None:
    """What the log of a search says; None if that is too much, or cannot be told for sure."""
    found, names = Told(), []
    lines = [line for line in log.split(b"\n") if line]
    if len(lines) > _MOST or _LOSSY in log or not all(line.startswith(_LOG) for line in lines):
        return None  # a name that is no text, or that holds a line end
    for line in lines:
        about = line[len(_LOG) :]
        if not about.startswith(_OWN):
            continue
        passed = _PASSED.fullmatch(about)
        if passed is None:
            return None
        name = passed[1].decode()
        if ".." in name.split("/"):
            return None
        if passed[2]:
            names.append(name)
        elif passed[3]:
            found.binary.append(name)
        else:
            found.big += 1
    try:
        for above in {name.rpartition("/")[0] for name in found.binary}:
            os.close(_folder(ground, above))
        found.left = [(name, kind) for name in names if (kind := _kind(ground, name))]
    except OSError:
        return None  # gone, or no name of ours at all
    return found


def _kind(ground: Ground, path: str) -> Kind | None:
    """What is at a path, no link on the way being followed; None for what no search ever looks at."""
    above, _, name = path.rpartition("/")
    fd = _folder(ground, above)
    try:
        mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    finally:
        os.close(fd)
    if stat.S_ISDIR(mode):
        return None if name == ".git" else "directory"
    return "file" if stat.S_ISREG(mode) else None


def _folder(ground: Ground, path: str) -> int:
    """A descriptor of a folder; OSError if there is a link on the way, so that the name was not ripgrep's."""
    return enter(ground.fd, f"{path}/" if path else "")
