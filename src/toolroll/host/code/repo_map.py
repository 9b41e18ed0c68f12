"""The atlas of a workspace: what files it has, how they hang together, and what was changed in the past."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.code.map_builder import Charted, Charts
    from toolroll.host.code.structure import Structure
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.git.repository import Repository
    from toolroll.host.runtime.cancellation import Token
    from toolroll.host.runtime.progress import Progress
    from toolroll.host.search.search import Search
    from toolroll.policy.rules import Policy
    from toolroll.text.code.map.commit_history import Past

_PASTS = 4
_SECONDS = 10.0  # for git
_TICK = 0.1  # seconds until a cancellation is noticed
_REF = re.compile(r"refs/[\w./@+-]+")
_REFS_BYTES = 10_000_000
_LOG = (
    *("log", "--no-merges", "--no-color", "--no-decorate", "--no-show-signature", "--no-ext-diff", "--no-textconv"),
    *("--no-renames", "--ignore-submodules=all", "--name-only", "-z"),
)


class Atlas:
    """Charts and past of the folders of one workspace, made when asked for. Several threads may use it at a time."""

    def __init__(self, files: Workspace, search: Search, structure: Structure, policy: Policy) -> None:
        self._files = files
        self._search = search
        self._structure = structure
        self._policy = policy
        self._lock = threading.Lock()
        self._charts: Charts | None = None
        self._noting = threading.Lock()
        self._pasts: dict[tuple[str, str], Past] = {}

    @contextmanager
    def charted(
        self, path: str = ".", token: Token | None = None, progress: Progress | None = None
    ) -> Iterator[Charted]:
        """The chart of a folder of the workspace as it is now; it stays so until the caller is done."""
        while not self._lock.acquire(timeout=_TICK):
            if token is not None:
                token.check()
        try:
            if self._charts is None:
                from toolroll.host.code.map_builder import Charts

                self._charts = Charts(self._files, self._search, self._structure, self._policy)
            yield self._charts.updated(self._files.root.text(path) or ".", token, progress)
        finally:
            self._lock.release()

    def past(self, open_repository: Callable[[str, float], Repository], path: str = ".") -> Past | None:
        """The changes of the repository that a folder is in; None if there is none in reach, or git cannot tell."""
        from toolroll.text.code.map import commit_history as past
        from toolroll.text.git.plans import Command, Plan

        def plan() -> Plan:
            return (yield Command((*_LOG, f"-n{past.COMMITS}", f"--format={past.FORMAT}"))).out

        try:
            repository = open_repository(path, _SECONDS)
            if repository.place.parts is None:
                return None  # above the workspace, where commands do not reach
            known_by = (repository.place.folder, _head(repository.place.folder))
            held = self._pasts.get(known_by) if known_by[1] else None
            if held is None:
                held = past.Past(past.read(repository.carry_out(plan()), repository.inside))
        except ToolError as error:
            if error.code == ErrorCode.CANCELLED:
                raise
            return None  # the ranking does without
        with self._noting:
            self._pasts[known_by] = held
            if len(self._pasts) > _PASTS:
                del self._pasts[next(iter(self._pasts))]
        return held

    def close(self) -> None:
        """Let go of what is kept on disk."""
        with self._lock:
            if self._charts is not None:
                self._charts.close()


def _head(folder: str) -> str:
    """The commit that a repository is at; empty if its files do not tell."""
    head = _line(os.path.join(folder, "HEAD"))
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    if not _REF.fullmatch(name) or ".." in name:
        return ""
    shared = os.path.normpath(os.path.join(folder, _line(os.path.join(folder, "commondir")) or "."))
    if found := _line(os.path.join(shared, name)):
        return found
    packed = _read(os.path.join(shared, "packed-refs"))
    return next((line.split()[0] for line in packed.split("\n") if line.endswith(f" {name}")), "")


def _line(path: str) -> str:
    return _read(path).partition("\n")[0].strip()


def _read(path: str) -> str:
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(fd, encoding="utf-8", errors="replace") as file:
            return file.read(_REFS_BYTES)
    return ""
