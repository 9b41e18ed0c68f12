"""Classify what would be lost at the paths that a command names."""

from __future__ import annotations

import re
from enum import Enum
from fnmatch import fnmatchcase

from toolroll.policy.shell.parse.words import Word, names, resolve


class TargetKind(Enum):
    """Places that no command of an agent should destroy."""

    ROOT = "the whole file system"
    HOME = "the home folder"
    PARENT = "the folder above the workspace"
    SYSTEM = "the system"
    KEYS = "keys and settings of the user"
    WORKSPACE = "the whole workspace"
    HISTORY = "the version history"
    DEVICE = "a device"
    KERNEL = "settings of the kernel"
    NULL = "the null device"


TOP = names(
    "bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var mnt media tmp"
    " Users System Library Applications Volumes private"
)
DEEP = names("bin boot etc lib lib32 lib64 libx32 sbin System Library")
SHARED = names("/tmp /var/tmp /private/tmp /opt /srv /mnt /media /usr/local")
HOMES = ("home", "Users")
PRIVATE = (".ssh", ".gnupg", ".aws", ".kube", ".password-store", ".docker", ".azure")
"""Folders of a home that hold keys: nothing in them is to be lost."""
DEAR = (".config", ".local", ".mozilla", "Documents", "Desktop", "Pictures", "Library")
"""Folders of a home that are not to be lost as a whole."""
DISKS = re.compile(
    r"(sd|hd|vd|xvd|nvme|mmcblk|r?disk|loop|dm-|md|mapper|ram|sr|sg|nbd|zram|mtd|ubi|bcache|drbd|pmem|block|k?mem|port)"
)
GLOBS = ("*", ".*", ".[!.]*", ".??*", "?*", "[!.]*")


def takes_files(where: str | None, word: Word) -> bool:
    """Whether it is a shared folder that files may be added to."""
    return word.place is not None and resolve(where, word.place) in SHARED


def kind_of_word(where: str | None, word: Word) -> TargetKind | None:
    """What `word` names, if it is one of the places that are not to be lost."""
    if word.place is None:
        return None
    path = resolve(where, word.place) if word.place else None
    return kind_of_path(path) if path is not None else None


def kind_of_path(path: str) -> TargetKind | None:
    """The same for a path that has been resolved."""
    names = path.strip("/").split("/")
    everything = len(names) > 1 and names[-1] in GLOBS
    names = names[:-1] if everything else names
    if path.startswith("/"):
        return None if everything and names == ["tmp"] else _absolute(names)
    if names[0] == "~":
        return _home(names[1:])
    if all(name == ".." for name in names):
        return TargetKind.PARENT
    if path in (".", *GLOBS):
        return TargetKind.WORKSPACE
    return TargetKind.HISTORY if names == [".git"] else None


def _absolute(names: list[str]) -> TargetKind | None:
    if names in ([""], [], ["*"], [".*"]):
        return TargetKind.ROOT
    top, depth = names[0], len(names)
    if top == "dev" and depth > 1:
        return _device(names[1:])
    if top in ("proc", "sys") and depth > 1:
        return TargetKind.KERNEL
    if depth == 1:
        return TargetKind.SYSTEM if any(fnmatchcase(name, top) for name in TOP) else None
    if top in HOMES:
        return TargetKind.HOME if depth == 2 else _home(names[2:])
    if top == "root":
        return _home(names[1:])
    return _below(names)


def _below(names: list[str]) -> TargetKind | None:
    top, second, depth = names[0], names[1], len(names)
    if top in DEEP:
        return TargetKind.SYSTEM
    if top == "usr" and (second != "local" or depth == 2):
        return TargetKind.SYSTEM
    if top == "var" and depth == 2 and second not in ("tmp", "folders"):
        return TargetKind.SYSTEM
    if top == "private" and second in ("etc", "var"):
        return _absolute(names[1:])
    return None


def _home(names: list[str]) -> TargetKind | None:
    if not names or names[0] in ("..", *GLOBS):
        return TargetKind.HOME
    if any(fnmatchcase(name, names[0]) for name in PRIVATE):
        return TargetKind.KEYS
    return TargetKind.KEYS if len(names) == 1 and names[0] in DEAR else None


def _device(names: list[str]) -> TargetKind | None:
    if names[0] == "null":
        return TargetKind.NULL
    return TargetKind.DEVICE if DISKS.match(names[0]) or names[0] in GLOBS else None
