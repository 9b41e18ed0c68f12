"""What every command may read: the system's own programs, libraries and settings, without what is secret in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from toolroll.host.files.openat import PATH
from toolroll.host.linux import IS_DARWIN, listxattr
from toolroll.host.runtime.launcher import folder_path, is_beneath

ETC = "/etc"
PROC = "/proc"
DEV = "/dev"
FOLDERS = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/var/lib/gems",
)
PROGRAMS = (*(f"{above}/{name}" for above in ("", "/usr", "/usr/local") for name in ("bin", "sbin", "games")), "/opt")
LIBRARIES = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib")
# How many processors and how much memory there are; not what is plugged in, nor the kernel's own memory. The
# older cgroups are a mount for each kind of limit, and each mount costs every command time.
_SYS = (("/sys/devices/system", ""), ("/sys/fs/cgroup", "cgroup.controllers"))
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))
RESOLVER = "/etc/resolv.conf"


@dataclass(frozen=True, slots=True, eq=False)  # compared for every command: another look is another system
class System:
    """The system's own files, as they are now."""

    folders: tuple[str, ...]
    """Those that are there, and what of /sys is of use; without /etc."""
    files: tuple[str, ...]
    """Single files outside them that settings link to."""
    hidden: tuple[str, ...]
    """What of /etc no command may read: root owns it, so its mode does not keep root out."""
    covered: tuple[str, ...]
    """Those of them that a command without capabilities could read something in, if nothing else kept it from that."""
    settings: tuple[str, ...]
    """The paths that together are the rest of /etc."""
    etc: tuple[str, ...] = (ETC,)
    """/etc itself, unless none of it is shown."""


NO_SYSTEM = System((), (), (), (), (), ())
"""For a process that sees none of it."""


def system() -> System:
    """The system's own files; looked up again when something in /etc was added or removed."""
    try:
        changed = os.stat(ETC).st_mtime_ns
    except OSError:
        changed = 0
    user = os.geteuid()
    return _system(changed, user, frozenset((os.getegid(), *os.getgroups())) if user == 0 else frozenset())


@lru_cache(maxsize=4)
def _system(changed: int, user: int, groups: frozenset[int]) -> System:  # noqa: ARG001 - to look again
    resolver = real(RESOLVER)
    files = (resolver,) if resolver is not None and not is_beneath(resolver, ETC) else ()
    hidden = tuple(_private(ETC)) if user == 0 else ()
    return System(
        (
            *(path for path in FOLDERS if os.path.exists(path)),
            *(path for path, sign in _SYS if os.path.exists(f"{path}/{sign}")),
        ),
        files,
        hidden,
        tuple(path for path in hidden if _open_to(path, user, groups)),
        tuple(carve_out(ETC, hidden)),
    )


def _private(folder: str) -> Iterator[str]:
    """The outermost paths beneath `folder` that are not world-readable."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        yield folder
        return
    for entry in found:
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError:
            continue  # gone by now
        if stat.S_ISLNK(mode):
            continue
        needed = 0o005 if stat.S_ISDIR(mode) else 0o004
        if mode & needed != needed:
            yield entry.path
        elif stat.S_ISDIR(mode):
            yield from _private(entry.path)


def _open_to(path: str, user: int, groups: frozenset[int]) -> bool:
    """Whether a user without capabilities has any rights to a path and could find something; True if in doubt."""
    try:
        found = os.lstat(path)
        if path.endswith(".lock") and stat.S_ISREG(found.st_mode) and not found.st_size:
            return False  # a lock file stays empty
        if "system.posix_acl_access" in listxattr(path, follow_symlinks=False):
            return True
    except OSError:
        return True
    others = 0o077 if found.st_gid in groups else 0o007
    return found.st_uid == user or bool(found.st_mode & others)


def carve_out(path: str, hidden: Iterable[str]) -> Iterator[str]:
    """The outermost paths that together are all of `path` but what is hidden in it. Links are left out then."""
    inside = [one for one in hidden if is_beneath(one, path)]
    if not inside:
        yield path
    elif path not in inside:
        try:
            with os.scandir(path) as entries:
                children = sorted(entry.path for entry in entries if not entry.is_symlink())
        except OSError:
            return  # not for us to read, so neither for a command
        for child in children:
            yield from carve_out(child, inside)


def real(path: str) -> str | None:
    """Where `path` leads, past all links; None if it leads nowhere that we can reach."""
    try:
        fd = os.open(path, PATH | os.O_CLOEXEC | (0 if PATH else os.O_NONBLOCK))
    except (OSError, ValueError):
        return None
    try:
        path = folder_path(fd)
        return path if IS_DARWIN else os.readlink(path)
    finally:
        os.close(fd)
