"""Plan the mounts of a command under bubblewrap: what it sees, and what is locked or hidden inside the folders it has.

A mount point cannot be renamed or removed, but the folders above it can. So every folder between one that the command
may change and a path that is locked or hidden is mounted upon itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal

from toolroll.host.files.openat import PATH, STEP
from toolroll.host.files.system import DEV, ETC, NO_SYSTEM, PROC, PROGRAMS, System, real, system
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import PACKAGE, AccessRules, is_beneath, outermost
from toolroll.result import ErrorCode, ToolError

_TEMP, _LONG_TEMP = "/tmp", "/var/tmp"
_EMPTY_FILE = f"{PACKAGE}/py.typed"  # what a hidden file is to a command: programs take no device for their settings
_TEMP_BYTES = 512 << 20
_SHARED = f"{DEV}/shm"
_MODIFIERS = ("--perms", "--size")
_ONE_VALUE = (*_MODIFIERS, "--proc", "--dev", "--tmpfs", "--remount-ro")


def visible_system(access: AccessRules) -> System:
    """What of the system's own files a process with this access sees."""
    return system() if access.system else NO_SYSTEM


@lru_cache(maxsize=32)
def plan_mounts(
    write: tuple[str, ...],
    read: tuple[str, ...],
    own: System,
    sized: bool,
    shown: tuple[tuple[str, str], ...] = (),
    programs: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The arguments that build what a command with this access sees, outer mounts first.

    Of the system's programs these `programs` alone, if there are any. `shown` are paths with the folder that is there,
    `/tmp` among them in place of an empty one. Nothing else may be mounted beneath them: a command could move the
    folders above such a mount.
    """
    found = _plan(write, read, own, sized)
    for path, folder in shown:
        taken = next((one for one in found if path != _TEMP and (is_beneath(one, path) or is_beneath(path, one))), None)
        if taken is not None:
            raise ToolError(ErrorCode.EXECUTION, f"No folder can be shown at {path!r}: commands have {taken!r} there.")
        found[path] = ("--bind", folder, path)
    found |= _plan_programs(programs, (*PROGRAMS, *(path for one in read for path in (one, f"{one}/bin"))))
    return tuple(word for path in sorted(found, key=lambda one: one.split("/")) for word in found[path])


def check_shown(paths: Iterable[str], alias: str) -> None:
    """Raise ToolError unless folders can be shown at these paths, and the workspace, if named, at `alias`."""
    others = tuple(paths)
    for path in (*others, *filter(None, (alias,))):
        if not path.startswith("/") or os.path.normpath(path) != path:
            raise ToolError(ErrorCode.VALIDATION, f"{path!r} is no plain absolute path, such as '/tests'.")
    clash = next((one for one in others if alias and (is_beneath(one, alias) or is_beneath(alias, one))), None)
    if clash is not None:
        raise ToolError(ErrorCode.VALIDATION, f"The workspace cannot be at {alias!r}: commands have {clash!r} there.")


def _plan(write: tuple[str, ...], read: tuple[str, ...], own: System, sized: bool) -> dict[str, tuple[str, ...]]:
    size = ("--perms", "1777", "--size", str(_TEMP_BYTES)) if sized else ()
    found: dict[str, tuple[str, ...]] = {
        PROC: ("--proc", PROC),
        DEV: ("--dev", DEV),
        # What is in these two is memory of no process, so that no limit counts it: they must have a size themselves.
        _SHARED: (*size, "--tmpfs", _SHARED),
        _TEMP: (*size, "--tmpfs", _TEMP),
        _LONG_TEMP: ("--symlink", "../tmp", _LONG_TEMP),
    }
    changed = resolve_paths(write)
    shown = resolve_paths((*own.folders, *own.files, *own.etc, *read))
    if any(is_beneath(path, _LONG_TEMP) for path in (*changed, *shown)):  # by a link it would have another path
        found[_LONG_TEMP] = (*size, "--tmpfs", _LONG_TEMP)
    for path in outermost(path for path in shown if not any(is_beneath(path, one) for one in (*changed, PROC, DEV))):
        found[path] = ("--ro-bind-try", path, path)
    for path in outermost(changed):
        found = {known: how for known, how in found.items() if not is_beneath(known, path)}
        found[path] = ("--bind", path, path)
    for path in own.covered:
        if path not in read and not any(is_beneath(path, one) for one in changed):
            found[path] = (
                ("--tmpfs", path, "--remount-ro", path) if os.path.isdir(path) else ("--ro-bind-try", "/dev/null", path)
            )
    bound = [path for path, how in found.items() if how[0] in ("--bind", "--ro-bind-try")]
    for path in (*own.folders, *read, *write):
        if os.path.islink(path) and not any(is_beneath(path, one) for one in bound):  # else it is there already
            found[path] = ("--symlink", os.readlink(path), path)
    return found


def _plan_programs(programs: tuple[str, ...], folders: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The mounts that leave of the folders of programs among these only these programs."""
    found = {}
    names = {os.path.basename(one) for one in PROGRAMS}
    for folder in {one for one in resolve_paths(folders) if os.path.basename(one) in names} if programs else ():
        inside = [(real(one), f"{real(os.path.dirname(one))}/{os.path.basename(one)}") for one in programs]
        kept = [
            word for there, path in inside if there and is_beneath(path, folder) for word in ("--ro-bind", there, path)
        ]
        found[folder] = ("--tmpfs", folder, *kept, "--remount-ro", folder)
    return found


def _split_words(words: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The options for mounts in arguments of bubblewrap, each with its values."""
    rest = iter(words)
    for option in rest:
        yield option, [next(rest) for _ in range(1 if option in _ONE_VALUE else 2)]


def is_visible(path: str, access: AccessRules) -> bool:
    """Whether a command has anything under this path."""
    roots = chain(_visible_roots(access.read, visible_system(access)), access.write, resolve_paths(access.write))
    return any(is_beneath(path, one) for one in roots)


def resolve_paths(paths: Iterable[str]) -> list[str]:
    """Where the paths lead; those that lead nowhere are left out."""
    return [there for path in paths if (there := real(path)) is not None]


@lru_cache(maxsize=32)
def _visible_roots(read: tuple[str, ...], own: System) -> tuple[str, ...]:
    """Under what paths there is something that cannot be changed, as they are named and as they are."""
    roots = (*own.folders, *own.etc, PROC, *read)
    return tuple(dict.fromkeys((*roots, *resolve_paths(roots))))


How = Literal["pin", "keep", "lock", "hide", "open"]
_ORDER = ("pin", "keep", "lock", "hide", "open")


@dataclass(frozen=True, slots=True)
class Cover:
    """One mount: where it is, how, and a descriptor of what is there."""

    path: str
    how: How
    fd: int


def plan_covers(access: AccessRules, stack: ExitStack) -> list[Cover]:
    """The mounts that hold, keep, lock and hide what the access says; descriptors are closed with the stack.

    In the order in which they are made: what holds folders in place, for a mount point can be neither moved nor
    removed, then what is read-only, then what is hidden, then folders of the command's own inside those.
    """
    own = (*system().folders, ETC) if access.system else ()
    changed = resolve_paths(access.write)
    seen = [*changed, *resolve_paths((*access.read, *own))] if access.hide else []
    wanted: tuple[tuple[How, Sequence[str], list[str]], ...] = (
        ("pin", access.hold, changed), ("keep", access.keep, changed), ("lock", access.lock, changed),
        ("hide", access.hide, seen),
    )  # fmt: skip
    found = [one for how, paths, inside in wanted for path in paths for one in _cover(path, how, inside, stack)]
    found = [one for one in found if one.how != "pin" or any(is_beneath(one.path, folder) for folder in changed)]
    hidden = [one.path for one in found if one.how == "hide"]
    inner = [folder for folder in changed if any(is_beneath(folder, path) for path in hidden)]
    found += (Cover(folder, "open", _open_with(stack, folder)) for folder in inner)
    once = {(one.how, one.path): one for one in found}
    return sorted(once.values(), key=lambda one: (_ORDER.index(one.how), one.path.split("/")))


def cover_words(found: Iterable[Cover], *, by_descriptor: bool) -> list[str]:
    """The arguments of bubblewrap for these mounts."""
    made: list[str] = []
    sealed: list[str] = []
    for one in found:
        if one.how == "hide" and stat.S_ISDIR(os.fstat(one.fd).st_mode):
            made += ("--tmpfs", one.path)
            sealed += ("--remount-ro", one.path)
        elif one.how == "hide":
            made += ("--ro-bind", _EMPTY_FILE, one.path)
        else:
            option = "--ro-bind" if one.how in ("keep", "lock") else "--bind"
            made += (f"{option}-fd", str(one.fd), one.path) if by_descriptor else (option, one.path, one.path)
    return [*made, *sealed]


def repeat_mounts(words: Sequence[str], access: AccessRules, stack: ExitStack) -> tuple[list[str], list[int]]:
    """The mounts of the folder that has an alias, and of what is inside it, at that path, and descriptors for them."""
    made: list[str] = []
    fds: list[int] = []
    folder = access.write[0] if access.alias else ""
    for option, given in _split_words(words if access.alias else ()):
        if option in _MODIFIERS or not is_beneath(given[-1], folder):
            continue
        if option.endswith("-fd"):  # bubblewrap closes each of them after its mount
            fds.append(os.dup(int(given[0])))
            stack.callback(os.close, fds[-1])
            given[0] = str(fds[-1])
        made += (option, *given[:-1], access.alias + given[-1][len(folder) :])
    return made, fds


def _cover(path: str, how: How, inside: list[str], stack: ExitStack) -> Iterator[Cover]:
    """The mount for a path that is there and inside one of these folders, and those that hold the folders above."""
    try:
        with closing_fd(os.open(os.path.dirname(path), STEP)) as above:
            fd = _open_with(stack, os.path.basename(path), PATH | os.O_NOFOLLOW | os.O_CLOEXEC, above)
            folder = os.readlink(f"/proc/self/fd/{above}")
    except OSError:
        return  # there is nothing to change or see
    tops = [one for one in inside if is_beneath(folder, one)]
    if not tops:
        return
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        if how != "lock":
            return  # what it leads to is hidden where that is, and what is kept is not ours to guess
        raise ToolError(
            ErrorCode.SECURITY,
            f"The command was not started: toolroll itself is reached through the link {path!r}, which a command could "
            "replace. Install toolroll outside the workspace (uv tool install toolroll, or pipx install toolroll).",
        )
    yield Cover(f"{folder.rstrip('/')}/{os.path.basename(path)}", how, fd)
    top = min(tops, key=len)
    while how in ("lock", "hide") and is_beneath(folder, top) and folder != top:  # `hold` has those of what is kept
        yield Cover(folder, "pin", _open_with(stack, folder))
        folder = os.path.dirname(folder)


def _open_with(stack: ExitStack, path: str, flags: int = STEP, above: int | None = None) -> int:
    return stack.enter_context(closing_fd(os.open(path, flags, dir_fd=above)))
