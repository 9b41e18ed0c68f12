"""Plan the mounts that a command sees under bubblewrap, outer ones first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from toolroll.host.files.system import DEV, NO_SYSTEM, PROC, System, real, system
from toolroll.host.runtime.launcher import AccessRules, is_beneath, outermost

_TEMP = "/tmp"
_TEMP_BYTES = 512 << 20
_SHARED = f"{DEV}/shm"


def visible_system(access: AccessRules) -> System:
    """What of the system's own files a process with this access sees."""
    return system() if access.system else NO_SYSTEM


@lru_cache(maxsize=32)
def plan_mounts(write: tuple[str, ...], read: tuple[str, ...], own: System, sized: bool) -> tuple[str, ...]:
    """The arguments that build what a command with this access sees, outer mounts first."""
    found = _parts(write, read, own, sized)
    return tuple(word for path in sorted(found, key=lambda one: one.split("/")) for word in found[path])


def _parts(write: tuple[str, ...], read: tuple[str, ...], own: System, sized: bool) -> dict[str, tuple[str, ...]]:
    size = ("--perms", "1777", "--size", str(_TEMP_BYTES)) if sized else ()
    found: dict[str, tuple[str, ...]] = {
        PROC: ("--proc", PROC),
        DEV: ("--dev", DEV),
        # What is in these two is memory of no process, so that no limit counts it: they must have a size themselves.
        _SHARED: (*size, "--tmpfs", _SHARED),
        _TEMP: (*size, "--tmpfs", _TEMP),
        "/var/tmp": ("--symlink", "../tmp", "/var/tmp"),
    }
    changed = resolve_paths(write)
    shown = resolve_paths((*own.folders, *own.files, *own.etc, *read))
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


def is_visible(path: str, access: AccessRules) -> bool:
    """Whether a command has anything under this path."""
    return any(is_beneath(path, one) for one in _shown(access.write, access.read, visible_system(access)))


def resolve_paths(paths: Iterable[str]) -> list[str]:
    """Where the paths lead; those that lead nowhere are left out."""
    return [there for path in paths if (there := real(path)) is not None]


@lru_cache(maxsize=32)
def _shown(write: tuple[str, ...], read: tuple[str, ...], own: System) -> tuple[str, ...]:
    """Under what paths there is anything in a view, as they are named and as they are."""
    roots = (*own.folders, *own.etc, PROC, *write, *read)
    return tuple(dict.fromkeys((*roots, *resolve_paths(roots))))
