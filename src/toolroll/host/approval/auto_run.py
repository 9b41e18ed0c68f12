"""Guard files that other programs run by themselves: ask before a file tool changes one, report changes by commands."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from toolroll.host.approval.guard import Guard
from toolroll.host.approval.request import ApprovalRequest, Consent
from toolroll.host.runtime.dir_entries import Stamp, are_old, take_stamp
from toolroll.policy.auto_run import REPOSITORY, AutoRun, could_be_repository, runs_by_itself
from toolroll.policy.effects import Effect
from toolroll.result import ErrorCode, ToolError
from toolroll.text.lines import list_some

_MAX_FILES = 500
_MAX_DEPTH = 6
_MAX_FOLDERS = 500  # that are looked into for nested repositories
_PASSED_OVER = frozenset({"node_modules", "site-packages", "__pycache__", "target", "vendor"})
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_BARE = ("HEAD", "objects", "refs")


class AutoRunCheck:
    """Asks on behalf of one call of a file tool."""

    def __init__(self, guard: Guard, name: str, effects: Effect, arguments: Mapping[str, Any]) -> None:
        self._guard = guard
        self._name = name
        self._effects = effects
        self._arguments = arguments
        self._asked: set[str] = set()
        self.written: list[str] = []  # paths that were written although no person could be asked

    def check(self, root: int, parts: tuple[str, ...], name: str = "") -> None:
        """Return if a path may be changed; ToolError if it is run by another program and the user does not agree.

        `name` is that of the root, where it is not the workspace itself.
        """
        row = runs_by_itself(parts) or _repository_row(root, parts)
        path = "/".join((name, *parts) if name else parts)
        if row is None or path in self._asked:
            return
        reason = f"{path!r} is run by other programs by itself ({row.by})"
        key, covers = ("auto-run", self._name, path), f"every call of {self._name!r} at {path!r}"
        consent = self._guard.ask(
            ApprovalRequest(self._name, self._effects, self._arguments, reason, key=key, covers=covers)
        )
        if consent is Consent.NOT_ASKED and not self._guard.policy.ask & self._effects:
            self.written.append(path)
        elif consent is not Consent.GIVEN:
            why = "The user declined it" if consent is Consent.DECLINED else "No person could be asked"
            raise ToolError(
                ErrorCode.PERMISSION, f"{self._name!r} was refused: {reason}. {why}: do without it, or ask the user."
            )
        self._asked.add(path)


def note(paths: list[str]) -> str:
    """The line of a result that names auto-run files."""
    named = list_some(list(map(repr, paths)), 10)
    be, it = ("is", "it") if len(paths) == 1 else ("are", "them")
    themselves = "itself" if len(paths) == 1 else "themselves"
    return f"note: {named} {be} run by other programs by {themselves}; look at {it} before you open the project"


class AutoRunFiles:
    """Detects which auto-run files a command has changed."""

    def __init__(self, root: int, name: str = "") -> None:
        """`root` is a descriptor of the workspace; it stays the caller's. `name` is that of a further root."""
        self._root = root
        self._above = f"{name}/" if name else ""
        self._top: tuple[Stamp | None, list[str]] = None, []
        self._nested: list[str] | None = None

    def start_from(self, base: AutoRunFiles) -> None:
        """Take over which nested repositories there are, in a fork of a workspace that was scanned."""
        self._nested = base._nested

    def scan(self) -> dict[str, Stamp]:
        """The auto-run files of the workspace, with their stamps."""
        if self._nested is None:
            self._nested = list(_nested(self._root))
        found = dict(self._listed())
        for git in (".git", *self._nested):
            for path in (f"{git}/config", *_hooks(self._root, git)):
                if (one := take_stamp(self._root, path)) is not None:
                    found[path] = one
        return found

    def changes(self, before: dict[str, Stamp]) -> list[str]:
        """The files that differ from those of before; the settings of a new repository are its own."""
        now = self.scan()
        differ = (path for path in sorted({*before, *now}) if before.get(path) != now.get(path))
        return [self._above + path for path in differ if path in before or not path.endswith(".git/config")]

    def _listed(self) -> Iterator[tuple[str, Stamp]]:
        """What the table names, beginning at the top of the workspace."""
        known, names = self._top
        now = take_stamp(self._root, ".")
        if known != now:
            names = [name for name in _names(self._root, ".") if runs_by_itself((name,)) is not None]
            self._top = now if are_old([now]) else None, names
        todo: list[tuple[str, ...]] = [(name,) for name in names]
        left = _MAX_FILES
        while todo and left > 0:
            parts = todo.pop()
            path = "/".join(parts)
            if (one := take_stamp(self._root, path)) is None:
                continue
            if not stat.S_ISDIR(one[0]):
                left -= 1
                yield path, one
            elif len(parts) < _MAX_DEPTH:
                inside = ((*parts, name) for name in _names(self._root, path))
                todo += [below for below in inside if runs_by_itself(below) is not None]


def _repository_row(root: int, parts: tuple[str, ...]) -> AutoRun | None:
    """The row for a write into a bare repository, or one that completes it: git takes such a folder for one."""
    for depth in could_be_repository(parts):
        folder = "/".join(parts[:depth]) or "."
        if all(name == parts[depth] or take_stamp(root, f"{folder}/{name}") is not None for name in _BARE):
            return REPOSITORY
    return None


def _nested(root: int) -> Iterator[str]:
    """The .git of the repositories in the folders of the workspace and in the folders of those."""
    todo, left = _names(root, "."), _MAX_FOLDERS
    while todo and left > 0:
        path, left = todo.pop(0), left - 1
        name = path.rpartition("/")[2]
        one = take_stamp(root, path)
        if name.startswith(".") or name in _PASSED_OVER or one is None or not stat.S_ISDIR(one[0]):
            continue
        git = take_stamp(root, f"{path}/.git")
        if git is not None and stat.S_ISDIR(git[0]):
            yield f"{path}/.git"
        elif all(take_stamp(root, f"{path}/{one}") is not None for one in _BARE):
            yield path
        elif "/" not in path:
            todo += [f"{path}/{below}" for below in _names(root, path)]


def _hooks(root: int, git: str) -> list[str]:
    return [f"{git}/hooks/{name}" for name in _names(root, f"{git}/hooks") if not name.endswith(".sample")]


def _names(root: int, path: str) -> list[str]:
    """The names in a folder. They are only compared, so that a link that was put in its place does no harm."""
    try:
        fd = os.open(path, _OPEN_FOLDER, dir_fd=root)
    except OSError:
        return []
    try:
        return sorted(os.listdir(fd))
    finally:
        os.close(fd)
