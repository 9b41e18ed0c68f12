"""The trust check of a workspace: what of toolroll itself lies in it, and whether it may be a workspace at all.

A file that a tool or command writes must never be run by toolroll outside the sandbox, now or at its next start. So
what toolroll runs from (interpreter, packages, links on the way to them) is locked where it lies in the workspace:
everything may read it and nothing may change it. Its configuration and state there are hidden: nothing may read or
change them. A folder that is a home, or holds one, is refused unless the policy says `wide`; then the secrets of
every home in it are hidden too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from toolroll.host.linux import O_PATH
from toolroll.host.runtime import user_folders
from toolroll.host.runtime.launcher import PACKAGE, AccessRules, is_beneath, outermost
from toolroll.policy.paths import components, fold_name
from toolroll.result import ErrorCode, ToolError

_IMPORTED = ("site-packages", "dist-packages", "lib-dynload")
_KERNEL = ("/proc", "/sys", "/dev", "/run")  # no files, but doors to other processes, devices and services
_BOOT = ("/boot", "/efi")
_SYSTEM = ("/usr", "/opt", "/etc")  # what commands read of the system and where a home may be, all the same
_MAX_LINKS = 40
_HOLDER = os.path.dirname(PACKAGE)
_ELSEWHERE = "install toolroll outside the workspace (uv tool install toolroll, or pipx install toolroll)"

Parts = tuple[str, ...]


class WorkspaceError(ValueError):
    """A folder that cannot be a workspace; the message says what to do instead."""


class Trust:
    """What in a workspace is locked (read, never changed) and what is hidden (neither read nor changed)."""

    def __init__(
        self, workspace: str = "/", lock: Iterable[str] = (), hide: Iterable[str] = (), own: Iterable[str] = ()
    ) -> None:
        """All paths are absolute and real. Of `lock` and `hide` those count that are in the workspace.

        `own` is hidden from commands wherever it is: toolroll's configuration and state.
        """
        self._workspace = workspace
        self._own = tuple(own)
        self._lock, self._hide = (
            tuple(outermost({one for one in paths if one != workspace and is_beneath(one, workspace)}))
            for paths in (lock, (*hide, *self._own))
        )
        self._locked = self._by_parts(self._lock)
        self._hidden = self._by_parts(self._hide)
        self.hides = bool(self._hidden)
        """Whether anything is hidden; without, `check_read` finds nothing."""
        self.protects = bool(self._locked or self._hidden)
        """Whether anything is locked or hidden; without, `check_write` and `check_remove` find nothing."""

    def _by_parts(self, paths: Iterable[str]) -> dict[Parts, str]:
        start = len(components(self._workspace))
        return {tuple(map(fold_name, components(path)[start:])): "/".join(components(path)[start:]) for path in paths}

    @property
    def locks(self) -> tuple[str, ...]:
        """What is locked, as paths from the workspace."""
        return tuple(self._locked.values())

    def check_read(self, parts: Sequence[str]) -> None:
        """ToolError if what has this real path beneath the workspace is hidden."""
        if self._hidden and _first(parts, self._hidden) is not None:
            raise ToolError(
                ErrorCode.SECURITY,
                f"{'/'.join(parts)!r} holds secrets or what toolroll keeps for itself: tools neither read nor change "
                "it. Use another path.",
            )

    def check_write(self, parts: Sequence[str]) -> None:
        """ToolError if nothing may be written at this real path."""
        self.check_read(parts)
        if self._locked and (found := _first(parts, self._locked)) is not None:
            raise ToolError(
                ErrorCode.SECURITY,
                f"{'/'.join(parts)!r} is protected: toolroll itself runs from {found!r}, or needs it as it is, so "
                f"tools only read it. Work elsewhere, or {_ELSEWHERE}.",
            )

    def check_remove(self, parts: Sequence[str]) -> None:
        """ToolError if what has this real path may not go or get another name: also for what holds such a thing."""
        self.check_write(parts)
        wanted = tuple(map(fold_name, parts))
        for known, path in (*self._locked.items(), *self._hidden.items()):
            if known[: len(wanted)] == wanted:
                raise ToolError(
                    ErrorCode.SECURITY,
                    f"{'/'.join(parts)!r} stays where it is: it holds {path!r}, which is toolroll's own or secret. "
                    "Name single files or folders in it.",
                )

    def hidden_in(self, parts: Parts) -> list[str]:
        """What is hidden beneath a folder and there now, as paths from that folder."""
        start, above = len(parts), tuple(map(fold_name, parts))
        inside = (path.split("/") for known, path in self._hidden.items() if known[:start] == above)
        there = ("/".join(one[start:]) for one in inside if os.path.lexists("/".join((self._workspace, *one))))
        return list(there)

    def protect(self, access: AccessRules) -> AccessRules:
        """The reach of a program, without what it may not change or see of this workspace."""
        granted = (*access.write, *access.read, *(_SYSTEM if access.system else ()))
        hide = dict.fromkeys(one for one in (*self._own, *self._hide) if any(is_beneath(one, path) for path in granted))
        if not self._lock and not hide:
            return access
        for path in self._own:  # what is missing cannot be covered, and a command could make it
            if path in hide and not os.path.lexists(path):
                with suppress(OSError):
                    os.makedirs(path, mode=0o700)
        write, read = access.write, access.read
        if self._workspace == "/":
            tops = tuple(self._tops())
            write, read = (
                tuple(one for path in paths for one in (tops if path == "/" else (path,))) for paths in (write, read)
            )
        lock = tuple(dict.fromkeys(_holder(path, self._workspace) for path in self._lock))
        return replace(access, write=write, read=read, lock=(*access.lock, *lock), hide=(*access.hide, *hide))

    def drop_imports(self) -> None:
        """Remove the workspace from `sys.path`."""
        drop_imports(self._workspace, self._lock)

    def _tops(self) -> Iterator[str]:
        """The folders right beneath / that are neither the system's own nor hidden: commands get those one by one."""
        with os.scandir("/") as entries:
            names = sorted(one.path for one in entries if one.is_dir(follow_symlinks=False))
        yield from (one for one in names if one not in self._lock and one not in self._hide)


def drop_imports(workspace: str, locked: Iterable[str] = ()) -> None:
    """Remove from `sys.path` what is at, above or beneath the workspace, and nothing that toolroll runs from.

    Anything could be written there, under the name of a module that is imported later. Modules that are
    imported already stay. `locked` are paths that no tool or command changes.
    """
    kept, workspace = _runs_from(), _find_real(workspace)

    def stays(entry: str) -> bool:
        there = _find_real(entry or ".")
        apart = not (is_beneath(there, workspace) or is_beneath(workspace, there))
        return apart or there in kept or any(is_beneath(there, one) for one in locked or kept)

    left = [entry for entry in sys.path if not isinstance(entry, str) or stays(entry)]
    left = [os.path.abspath(one) if isinstance(one, str) and not os.path.isabs(one) else one for one in left]
    if left != sys.path:  # a relative entry would follow the process into the workspace
        sys.path[:] = left


def examine(workspace: str, state_dir: str | None = None, *, wide: bool = False) -> Trust:
    """What is locked and hidden in a workspace; WorkspaceError for a folder that must not be one."""
    here, homes = _find_real(workspace), _homes()
    is_wide = any(is_beneath(home, here) for home in homes)
    settings = [user_folders.config_dir(), user_folders.state_dir()]
    _check(here, settings, refused=is_wide and not wide)
    lock = [*_runs_from(), *_trail(user_folders.cache_dir())]
    own = (*settings, *([state_dir] if state_dir else []))
    hide = [one for path in own for one in _trail(path)]
    if is_wide:
        lock, hide = [*lock, *_system_folders(here)], [*hide, *_secrets(here, homes)]
    return Trust(here, lock, hide, map(_find_real, own))


def _check(here: str, settings: Iterable[str], *, refused: bool) -> None:
    """WorkspaceError for a folder that is too wide, that toolroll itself lives in, or that holds no files."""
    if refused:
        what = "is the whole machine" if here == "/" else "is a home folder or holds one, with all its secrets"
        raise WorkspaceError(
            f"The workspace {here!r} {what}: name a folder for the work (Kit('DIR'), or -C DIR), or say that you mean "
            "it (Policy(wide=True), or --wide)."
        )
    within = any(is_beneath(here, one) for one in (*_imports(), *map(_find_real, settings)))
    if within or here in _runs_from():
        raise WorkspaceError(
            f"toolroll itself lives in the workspace {here!r}, so nothing in it could be changed safely: name another "
            f"folder, or {_ELSEWHERE}."
        )
    if here == "/dev" or any(is_beneath(here, one) for one in ("/proc", "/sys")):
        raise WorkspaceError(f"The workspace {here!r} holds no files but the kernel's: name a folder of files.")


def _imports() -> frozenset[str]:
    """The real folders and archives that modules of toolroll, of Python and of other packages are imported from."""
    return _found(tuple(one for one in sys.path if isinstance(one, str)), *_prefixes())[0]


def _runs_from() -> frozenset[str]:
    """All that toolroll runs from: those, environments, interpreters, its own program, and links on the way there."""
    return _found(tuple(one for one in sys.path if isinstance(one, str)), *_prefixes())[1]


@lru_cache(maxsize=4)  # a process runs from what it was started from
def _found(entries: tuple[str, ...], *prefixes: str) -> tuple[frozenset[str], frozenset[str]]:
    site = sys.modules.get("site")
    user = getattr(site, "USER_SITE", None) if getattr(site, "ENABLE_USER_SITE", None) else None
    packages = [one for one in entries if os.path.basename(one) in _IMPORTED or one.endswith(".zip")]
    imports = [PACKAGE, os.path.dirname(os.__file__), *packages, *([user] if isinstance(user, str) else [])]
    programs = [sys.executable, getattr(sys, "_base_executable", "")]
    if os.path.basename(sys.argv[0] if sys.argv else "").startswith("toolroll"):
        programs.append(os.path.abspath(sys.argv[0]))
    others = [*programs, *prefixes, _HOLDER, sys.pycache_prefix or ""]
    trails = (one for path in (*imports, *others) if os.path.isabs(path) for one in _trail(path))
    return frozenset(map(os.path.realpath, imports)), frozenset(trails)


def _prefixes() -> Iterator[str]:
    yield from (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)


def _find_real(path: str) -> str:
    """The same as `os.path.realpath`, by the kernel where it knows the path: that takes a tenth of the time."""
    try:
        fd = os.open(path, O_PATH | os.O_CLOEXEC)
        try:
            found = os.readlink(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)
    except (OSError, AttributeError):  # it is not there, or not Linux
        found = ""
    is_clear = found.startswith("/") and not found.endswith(" (deleted)")
    return found if is_clear else os.path.realpath(path)


def _trail(path: str) -> Iterator[str]:
    """Where a path really leads, and where each link on the way to it really is."""
    path = os.path.abspath(path)
    if _find_real(path) == path:
        yield path
        return
    here, todo, links = "/", list(reversed(components(path))), 0
    while todo:
        name = todo.pop()
        if name == "..":
            here = os.path.dirname(here)
            continue
        step = f"{here.rstrip('/')}/{name}"
        try:
            target = os.readlink(step)
        except OSError:
            here = step
            continue
        links += 1
        if links > _MAX_LINKS:
            return
        yield step
        todo += reversed(components(target))
        here = "/" if target.startswith("/") else here
    yield here


def _holder(path: str, workspace: str) -> str:
    """What must be read-only so that `path` stays: a link is held by its folder, if that is not the workspace."""
    above = os.path.dirname(path)
    return above if above != workspace and os.path.islink(path) else path


def _homes() -> set[str]:
    """The home folders of the user: what the environment says, and what the system says."""
    found = {os.environ.get("HOME", "")}
    with suppress(ImportError, KeyError):
        import pwd

        found |= {pwd.getpwuid(user).pw_dir for user in (os.getuid(), os.geteuid())}
    return {_find_real(one) for one in found if os.path.isabs(one)} | {"/"}


def _secrets(workspace: str, homes: Iterable[str]) -> Iterator[str]:
    """The secret paths of every home in a wide workspace."""
    from toolroll.policy.secrets import secret_paths

    every = {home for home in homes if home != "/"} | {"/root"}
    for folder in ("/home", "/Users"):
        if is_beneath(folder, workspace):
            with suppress(OSError), os.scandir(folder) as entries:
                every |= {os.path.realpath(one.path) for one in entries if one.is_dir()}
    for path in secret_paths(every):
        yield path
        yield os.path.realpath(path)
    if workspace == "/":
        from toolroll.host.files.system import system

        yield from (*_KERNEL, *system().hidden)


def _system_folders(workspace: str) -> Iterator[str]:
    """What of a workspace that is the whole machine is the system's own."""
    from toolroll.host.files.system import ETC, FOLDERS

    if workspace == "/":
        for path in (*FOLDERS, ETC, *_BOOT):
            yield from _trail(path)


def _first(parts: Sequence[str], known: dict[Parts, str]) -> str | None:
    """The known path that the parts name or are beneath."""
    wanted = tuple(map(fold_name, parts))
    return next((known[wanted[:end]] for end in range(len(wanted) + 1) if wanted[:end] in known), None)
