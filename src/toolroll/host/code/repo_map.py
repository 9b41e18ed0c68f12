"""Maps of the folders of a workspace, and the commit history behind them."""

from __future__ import annotations

import os
import re
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.code.map_builder import BuiltMap, MapBuilder, Ranking
    from toolroll.host.code.structure import Structure
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.git.repository import Repository
    from toolroll.host.runtime.call import Progress
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.search.search import Search
    from toolroll.text.code.map.commit_history import CommitHistory

AHEAD_DELAY_S = 1.0  # a session that ends sooner reads nothing ahead
MIN_AHEAD, _MAX_AHEAD = 256, 50_000  # files of a repository that is read ahead; a smaller one is read by a call
_MAX_HISTORIES = 4
_GIT_TIMEOUT_S = 10.0
_REF = re.compile(r"refs/[\w./@+-]+")
_MAX_REFS_BYTES = 10_000_000
_LOG = (
    *("log", "--no-merges", "--no-color", "--no-decorate", "--no-show-signature", "--no-ext-diff", "--no-textconv"),
    *("--no-renames", "--ignore-submodules=all", "--name-only", "-z"),
)


class RepoMaps:
    """Maps and commit history of the folders of one workspace, made on demand. Thread-safe."""

    def __init__(self, files: Workspace, search: Search, structure: Structure) -> None:
        self._files = files
        self._search = search
        self._structure = structure
        self._lock = threading.Lock()
        self._builder: MapBuilder | None = None
        self._ahead: threading.Thread | None = None
        self._closed, self._closing = threading.Event(), CancelToken()
        self._history_lock = threading.Lock()
        self._histories: dict[tuple[str, str], CommitHistory] = {}

    @contextmanager
    def build(
        self,
        path: str = ".",
        token: CancelToken | None = None,
        progress: Progress | None = None,
        rank: Ranking | None = None,
    ) -> Iterator[BuiltMap]:
        """The map of a folder as it is now; it does not change until the block ends.

        With `rank`, of many files that are not known those are read that it has first.
        """
        while not self._lock.acquire(timeout=POLL_SECONDS):
            if token is not None:
                token.check()
        try:
            yield self._open().update(self._files.root.text(path) or ".", token, progress, rank)
        finally:
            self._lock.release()

    def read_ahead(self, launcher: Launcher) -> None:
        """Read a large repository in the background, after a while in which it may be closed again; returns at once."""
        if self._ahead is None:
            self._ahead = threading.Thread(target=self._read_ahead, args=(launcher,), name="toolroll map", daemon=True)
            self._ahead.start()

    def _read_ahead(self, launcher: Launcher) -> None:
        if self._closed.wait(AHEAD_DELAY_S) or not MIN_AHEAD < _count_tracked(self._files.root.path) < _MAX_AHEAD:
            return
        with suppress(ToolError, OSError):  # no call waits for it
            with self._lock:
                builder = self._open()
            builder.read_ahead(self._lock, self._closing, launcher)

    def _open(self) -> MapBuilder:
        if self._builder is None:
            from toolroll.host.code.map_builder import MapBuilder

            self._builder = MapBuilder(self._files, self._search, self._structure)
        return self._builder

    def commit_history(
        self, open_repository: Callable[[str, float], Repository], path: str = "."
    ) -> CommitHistory | None:
        """The commits of the repository that holds a folder; None if there is none in the workspace, or git fails."""
        from toolroll.text.code.map.commit_history import FORMAT, MAX_COMMITS, CommitHistory, read_log
        from toolroll.text.git.requests import GitCommand, Plan

        def plan() -> Plan:
            return (yield GitCommand((*_LOG, f"-n{MAX_COMMITS}", f"--format={FORMAT}"))).out

        try:
            repository = open_repository(path, _GIT_TIMEOUT_S)
            if repository.place.parts is None:
                return None  # above the workspace, out of reach for commands
            known_by = (repository.place.folder, _head(repository.place.folder))
            held = self._histories.get(known_by) if known_by[1] else None
            if held is None:
                held = CommitHistory(read_log(repository.run_plan(plan()), repository.inside))
        except ToolError as error:
            if error.code == ErrorCode.CANCELLED:
                raise
            return None  # files are ranked without it
        with self._history_lock:
            self._histories[known_by] = held
            if len(self._histories) > _MAX_HISTORIES:
                del self._histories[next(iter(self._histories))]
        return held

    def close(self) -> None:
        self._closed.set()
        self._closing.cancel()
        if self._ahead is not None:
            self._ahead.join()
        with self._lock:
            if self._builder is not None:
                self._builder.close()


def _count_tracked(folder: str) -> int:
    """How many files a repository has in its index, by the head of that; 0 if there is none."""
    with suppress(OSError), open(os.path.join(folder, ".git", "index"), "rb") as index:
        mark, _, count = struct.unpack(">4sLL", index.read(12).ljust(12))
        return int(count) if mark == b"DIRC" else 0
    return 0


def _head(folder: str) -> str:
    """The commit that a repository is at; empty if that cannot be read from its files."""
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
            return file.read(_MAX_REFS_BYTES)
    return ""
