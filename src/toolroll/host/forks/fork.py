"""A fork: a copy-on-write copy of a workspace, and what differs in it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from toolroll.host.files.root import Root
from toolroll.host.forks import overlay
from toolroll.host.forks.place import STATE, ForkHome, ForkPlace
from toolroll.host.forks.repository import GIT, RepositoryMerge, RepositoryState, read_repository
from toolroll.host.forks.tree_copy import FOLDER, TreeCopy, can_reflink
from toolroll.host.forks.views import CopyView, ForkKind, ForkView, Node, OverlayView, find_node
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.result import ErrorCode, ToolError, next_step
from toolroll.text.files.changes import Change

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import Launcher

# Settings of a repository that make git run nothing; an address with "::" names a program.
_PLAIN_SETTINGS = re.compile(
    rb"""(?:\s*(?:\[(?:core|extensions|user|(?:remote|branch)\ "[^"\n]*")\]
    |(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|objectformat
    |fetch|remote|merge|name|email)\ =\ [^\n]*|url\ =\ (?:(?!::)[^\n])*)\n)*\s*""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class ForkChange:
    """One path that differs: what the workspace has there, what the fork has, and whether both changed it."""

    path: str
    base: Node | None
    fork: Node | None
    conflict: bool


class Fork:
    """One fork. `path` is its workspace, `state` a folder for what a kit keeps beside it."""

    def __init__(self, base: Root, place: ForkPlace, view: ForkView, repository: RepositoryState | None) -> None:
        """`repository` is that of the workspace at this moment."""
        self._base = base
        self._place = place
        self._view = view
        self.repository = repository
        self.kind = view.kind
        self.path = place.workspace
        self.state = os.path.join(place.path, STATE)
        self._merged: dict[str, tuple[object, ...] | None] = {}

    def settle(self) -> None:
        """Return when it may be written to: a moment after it was made."""
        self._view.settle()

    def compare(self, replaced: Container[str] = ()) -> list[ForkChange]:
        """What differs, by path, without the repository, unless that is new.

        `replaced`: paths at which it had something at first.
        """
        self._check_base()
        apart = "" if self.repository is None and find_node(self._base.fd, GIT) is None else GIT
        with self._opened() as fork:
            touched = sorted({*self._view.touched(self._base.fd, fork), *self._merged})
            rows = (self._compare_one(path, fork, replaced) for path in touched if path.split("/", 1)[0] != apart)
            return [row for row in rows if row is not None]

    def _compare_one(self, path: str, folder: int, replaced: Container[str]) -> ForkChange | None:
        base, fork = self._node(self._base.fd, path), self._node(folder, path)
        if _identity(base) == _identity(fork):
            return None
        merged = path in self._merged and self._merged[path] == _identity(base)
        moved = not merged and self._view.is_moved(path, base, replaced)
        if moved and self._view.is_unchanged(path, fork):
            return None
        return ForkChange(path, base, fork, moved)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """A descriptor of its workspace, which is not kept: there may be many forks."""
        with closing_fd(os.open(self.path, FOLDER)) as fd:
            yield fd

    def accept(self, rows: Sequence[ForkChange], repository: RepositoryState | None) -> None:
        """Take these differences as merged: later ones are compared with what the workspace has there now."""
        self.repository = repository
        self._merged |= {row.path: _identity(row.fork) for row in rows}

    @contextmanager
    def merge_repository(self, launcher: Launcher) -> Iterator[RepositoryMerge]:
        """Compares the repository of the fork with that of the workspace, and merges it."""
        with self._opened() as fork:
            touched = partial(self._view.touched, self._base.fd, fork)
            scratch = self._place.folder("git")
            yield RepositoryMerge(self._base, fork, self.repository, touched, scratch, launcher)

    def close(self) -> None:
        """Remove it, with all that was changed in it."""
        self._place.close()

    def _node(self, folder: int, path: str) -> Node | None:
        try:
            return find_node(folder, path)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a socket, pipe or device, which cannot be merged
                return None
            raise

    def _check_base(self) -> None:
        try:
            there = os.path.samestat(os.stat(self._base.path), os.fstat(self._base.fd))
        except FileNotFoundError:
            there = False
        if not there:
            raise ToolError(
                ErrorCode.NOT_FOUND,
                f"The workspace {self._base.path!r} of this fork was removed or moved: there is nothing to merge into. "
                f"The files of the fork are at {self.path!r} until it is dropped.",
            )


def _identity(node: Node | None) -> tuple[object, ...] | None:
    return None if node is None else (node.state, node.attributes)


def open_fork(
    base: Root, home: ForkHome, max_bytes: int, kind: ForkKind | None = None, repository: RepositoryState | None = None
) -> Fork:
    """Fork a workspace by the best way that works here, or by the one that is named; ToolError if none does.

    What its repository has in common with `repository` is not read again.
    """
    if base.others:
        raise ToolError(ErrorCode.UNSUPPORTED, "A workspace with further roots cannot be forked. Open a kit on one.")
    try:
        place = home.make_place()
    except OSError as error:
        raise _failure(base, error) from error
    try:
        repository = read_repository(base.fd, repository)
        fork = Fork(base, place, _make_view(base, place, max_bytes, kind), repository)
    except OSError as error:
        place.close()
        raise _failure(base, error) from error
    except BaseException:
        place.close()
        raise
    return fork


def _make_view(base: Root, place: ForkPlace, max_bytes: int, kind: ForkKind | None) -> ForkView:
    skip = frozenset(base.trust.hidden_in(()))
    if os.path.isfile(os.path.join(base.path, GIT)):  # a linked worktree: its repository is the original's
        skip |= {GIT}
    why = "a part of the workspace stays hidden" if skip else overlay.why_not(base.path, place.home.mounts)
    if kind in (None, "overlay"):
        try:
            if not why:
                return OverlayView(base.path, base.fd, place)
        except OSError as error:
            why = f"the kernel says {error.strerror!r}"
        if kind is not None:
            raise _unsupported(kind, why)
    with closing_fd(os.open(place.workspace, FOLDER)) as target:
        reflink = kind != "copy" and can_reflink(base.fd, target)
        if kind == "reflink" and not reflink:
            raise _unsupported(kind, "the file system of the workspace, or of the user's cache, has no reflinks")
        return CopyView(base.fd, target, TreeCopy(max_bytes, reflink, skip))


def _unsupported(kind: str, why: str) -> ToolError:
    return ToolError(ErrorCode.UNSUPPORTED, f"The workspace cannot be forked by {kind}: {why}. Leave the kind out.")


def _failure(base: Root, error: OSError) -> ToolError:
    where = f" at {error.filename!r}" if error.filename else ""
    said = f"The workspace {base.path!r} cannot be forked: {error.strerror}{where}.{next_step(error)}"
    return ToolError(ErrorCode.IO, said)


def summarize(rows: Sequence[ForkChange]) -> list[Change]:
    """The differences as rows of a result; a new or deleted folder is named by what is in it, a repository as one."""
    made = new_repositories(rows)
    shown = [row for row in rows if not row.path.startswith(made)]
    named = {row.path[: at.start()] for row in shown for at in re.finditer("/", row.path)}
    return [_describe(row) for row in shown if row.path not in named or (row.base and row.fork)]


def new_repositories(rows: Sequence[ForkChange]) -> tuple[str, ...]:
    """The git folders that a fork has made, each with a slash behind it: what is in them is only new files."""
    made = (row for row in rows if row.base is None and row.fork is not None and row.fork.state.kind == "directory")
    return tuple(f"{row.path}/" for row in made if row.path.rpartition("/")[2] == GIT)


def is_run_by_git(row: ForkChange) -> bool:
    """Whether a file of a new repository is a hook, or has settings other than those that git itself writes."""
    *above, name = row.path.rpartition(f"{GIT}/")[2].split("/")
    if "hooks" in above:
        return not name.endswith(".sample")
    data = row.fork.data if row.fork is not None else None
    return name in ("config", "config.worktree") and data is not None and not _PLAIN_SETTINGS.fullmatch(data)


def _describe(row: ForkChange) -> Change:
    base, fork = row.base, row.fork
    if base and fork and (base.state.kind, base.state.content) == (fork.state.kind, fork.state.content):
        return Change(row.path, "mode")
    return Change.of_contents(row.path, _content(base), _content(fork))


def _content(node: Node | None) -> bytes | None:
    if node is None:
        return None
    return node.data if node.data is not None else os.fsencode(node.state.content)


def describe_forks(workspace: str) -> tuple[bool, str]:
    """Whether a workspace can be forked here, and how; nothing is left behind."""
    try:
        with Root(workspace) as base:
            home = ForkHome(base.path)
            try:
                return True, _describe_kind(base, home.make_place())
            finally:
                home.close()
    except OSError as error:
        return False, f"not here: {error.strerror}"


def _describe_kind(base: Root, place: ForkPlace) -> str:
    why = overlay.why_not(base.path, place.home.mounts)
    if not why:
        try:
            OverlayView(base.path, base.fd, place)
            return "by overlay: one mount, nothing is copied"
        except OSError as error:
            why = f"no overlay: {error.strerror}"
    with closing_fd(os.open(place.workspace, FOLDER)) as target:
        if can_reflink(base.fd, target):
            return f"by reflinks: contents are shared until they change ({why})"
    return f"by copies of all files, up to the limit fork_bytes ({why}; no reflinks)"
