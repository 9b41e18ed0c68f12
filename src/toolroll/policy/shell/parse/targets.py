"""Resolve the paths in a command by their text, and classify what would be lost there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from fnmatch import fnmatchcase

from toolroll.policy.shell.parse.words import Word, names


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


def normalise_path(path: str) -> str:
    """`path` without doubled slashes, "." and names that ".." takes back; globs are names like any other."""
    lead = "/" if path.startswith("/") else ""
    names: list[str] = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == ".." and names and names[-1] not in ("..", "~"):
            names.pop()
        elif name != ".." or not lead:
            names.append(name)
    return lead + "/".join(names) or "."


def resolve(where: str | None, path: str) -> str | None:
    """`path` as seen from the workspace when the command runs in `where`; None when that is not known."""
    if path.startswith(("/", "~")):
        return normalise_path(path)
    if where is None:
        return None
    found = normalise_path(f"{where}/{path}")
    return f"./{found}" if found.startswith("~") and not where.startswith("~") else found  # a file of that name


def folder_after(where: str | None, words: Sequence[Word]) -> str | None:
    """The folder that the next command runs in, after this one."""
    names = [word.text for word in words]
    while names and names[0] in ("command", "builtin"):
        names.pop(0)
        words = words[1:]
    if not names or names[0] not in ("cd", "pushd", "popd", "eval", "source", "."):
        return where
    operands = [word for word in words[1:] if word.text not in ("-P", "-L", "-e", "--")]
    if names[0] not in ("cd", "pushd") or len(operands) > 1:
        return None
    place = operands[0].place if operands else "~"
    if place is None or place.startswith(("-", "+")) or any(mark in place for mark in "*?["):
        return None
    return resolve(where, place)


def of_workspace(where: str | None, word: Word) -> bool:
    """Whether a program is a file below the workspace that happens to have the name of another program."""
    name = word.place or ""
    if "/" not in name:
        return False
    path = resolve(where, name)
    return path is None or not path.startswith(("/", "~", ".."))


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
