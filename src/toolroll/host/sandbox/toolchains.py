"""Where compilers, interpreters and their packages are outside the system's own folders, without the secrets there."""

from __future__ import annotations

import glob
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from toolroll.host.approval.secret_files import find_secret_files, holds_no_credential, may_be_secret_file
from toolroll.host.files.system import ETC, FOLDERS, carve_out, real
from toolroll.host.runtime.launcher import is_beneath, outermost
from toolroll.host.sandbox.layouts import PREFIX, SIGNS, TOOLCHAINS, VARIABLES
from toolroll.policy.secrets import secret_paths
from toolroll.result import ErrorCode, ToolError

# In the home folder: never as a whole, for there is more in them than tools.
_WIDE = ("", ".cache", ".config", ".local", ".local/share", ".local/state", "Library")
# Never as a whole either, and no folder right in the last two: those are people's.
_BROAD = ("/", "/boot", "/media", "/mnt", "/root", "/run", "/srv", "/tmp", "/var", "/var/tmp", "/home", "/Users")
_DEPTH = 4  # folders beneath the one that is granted
# What is in the folders of such a folder came with a package: test keys of Python's own library, for example.
_PACKAGES = re.compile(
    r"python\d[\d.]*|(?:site|dist)-packages|node_modules|(?:rust|ruby|erlang|perl5|mod|src|repository)(?:lib)?"
)
_MOST = 100_000  # names that are looked at in all
_SECONDS = 60.0  # after so long credentials are looked for again
_PREFIXES = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}  # of the Python that runs us
# Settings of git that every git command wants: one that is there and cannot be read is an error to it.
_GIT = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")


def readable_paths(environment: Mapping[str, str], extra: Sequence[str] = ()) -> tuple[str, ...]:
    """What a command may read by default besides the system's own: toolchains, without the secrets among them.

    The running Python, what PATH and variables such as JAVA_HOME name, and what is known of the home folder; never
    the home folder as a whole. Of a toolchain that keeps credentials too, only the folders of its programs and
    packages. `extra` are the operator's own; one that would open the home folder or a secret is a ToolError.
    """
    home = environment.get("HOME", "")
    home = (home if home.startswith("/") else os.path.expanduser("~")).rstrip("/")
    named = tuple((name, environment[name]) for name in VARIABLES if environment.get(name))
    folders = tuple(environment.get("PATH", "").split(os.pathsep))
    seen = tuple(_changed(path) for path in (home, f"{home}/.local", *folders))
    return _readable(home, named, folders, tuple(extra), (*seen, int(time.monotonic() / _SECONDS)))


@lru_cache(maxsize=16)
def _readable(
    home: str,
    named: tuple[tuple[str, str], ...],
    folders: tuple[str, ...],
    extra: tuple[str, ...],
    seen: tuple[int, ...],  # noqa: ARG001 - only what is remembered depends on it
) -> tuple[str, ...]:
    homes = {home, (real(home) or home).rstrip("/")}
    for path in extra:
        _check(path, homes)
    wanted = [
        *(one for prefix in _PREFIXES for one in _parts(prefix, PREFIX)),
        *(one for name, parts in TOOLCHAINS.items() for one in _parts(f"{home}/{name}", parts)),
        *(
            one
            for name, value in named
            for folder in value.split(os.pathsep)
            for one in _parts(folder, VARIABLES[name])
        ),
        *(one for folder in folders for one in _behind(folder)),
        *(f"{home}/{name}" for name in _GIT if holds_no_credential(f"{home}/{name}")),
    ]
    found = {there for one in wanted if (there := _real(one)) is not None and _fair(there, homes)}
    own = {there for one in extra if (there := _real(one)) is not None}
    roots = outermost(found | own)
    secrets = [one for one in secret_paths(homes) if os.path.lexists(one)]
    found_there = find_secret_files(roots, _PACKAGES, depth=_DEPTH, most=_MOST, is_secret=may_be_secret_file)
    secrets += (path for path in found_there.paths if path not in own)
    carvings = [part for path in roots for part in carve_out(path, secrets)]
    return tuple(sorted({*carvings, *_links(roots, carvings, secrets)}))


def _links(roots: Iterable[str], granted: Sequence[str], secrets: Sequence[str]) -> Iterator[str]:
    """The links that carving leaves out, as far as they lead to something that is granted."""
    for folder in {os.path.dirname(one) for one in (*granted, *secrets)}:
        if not any(is_beneath(folder, root) for root in roots):
            continue
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                there = real(entry.path) if entry.is_symlink() else None
                if there is not None and any(is_beneath(there, one) for one in granted):
                    yield entry.path


def _parts(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """What is there of the parts of a toolchain; without any named, all of it."""
    if not parts:
        yield folder
        return
    for part in parts:
        if "*" in part:
            yield from glob.iglob(f"{glob.escape(folder)}/{part}")
        else:
            yield f"{folder}/{part}"


def _behind(folder: str) -> Iterator[str]:
    """A folder of PATH, and the parts of the toolchain that it is the front of."""
    yield folder
    there = _real(folder)
    if there is not None and os.path.basename(there) in ("bin", "sbin", "shims", "Scripts"):
        yield there
        prefix = os.path.dirname(there)
        for sign, parts in SIGNS.items():
            if os.path.exists(f"{prefix}/{sign}") or ("*" in sign and glob.glob(f"{glob.escape(prefix)}/{sign}")):
                yield from _parts(prefix, parts)


def _fair(path: str, homes: set[str]) -> bool:
    """Whether a path is a toolchain's own place: not the system's, which is granted anyway, and nothing wide."""
    if any(is_beneath(path, folder) for folder in (*FOLDERS, ETC, "/proc", "/sys", "/dev")):
        return False
    if path in _BROAD or os.path.dirname(path) in _BROAD[-2:] or any(is_beneath(home, path) for home in homes):
        return False
    wide = {f"{home}/{name}" for home in homes for name in _WIDE}
    return path not in wide and not any(is_beneath(path, one) for one in secret_paths(homes))


def _check(path: str, homes: set[str]) -> None:
    """ToolError for what the operator may not mean to open."""
    there = _real(path) or path
    if not path.startswith("/"):
        problem = "is not an absolute path. Write it in full"
    elif any(is_beneath(home, there) for home in homes):
        problem = "holds the home folder and all the secrets in it. Name the folders in it that commands need"
    elif any(is_beneath(there, one) for one in secret_paths(homes)):
        problem = "is a place of secrets, which no command may read. Leave it out"
    else:
        return
    raise ToolError(ErrorCode.VALIDATION, f"The folder {path!r} that commands shall read {problem}.")


def _real(path: str) -> str | None:
    return real(path) if path.startswith("/") else None


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return 0
