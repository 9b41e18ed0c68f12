"""The forks of a kit: opened, found by their numbers, merged and dropped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from toolroll.host.forks.fork import Fork, ForkChange, is_run_by_git, new_repositories, open_fork, summarize
from toolroll.host.forks.landing import Landing
from toolroll.host.forks.merge import Merge, check_conflicts
from toolroll.host.forks.place import ForkHome
from toolroll.host.forks.repository import RepositoryChange, RepositoryState, UnmergeableError
from toolroll.host.shell.shell import NamesBaseError
from toolroll.result import ErrorCode, ToolError
from toolroll.text.files.changes import Change, change_rows, describe_changes
from toolroll.text.patch.write import FileVersions, build_patch, list_omitted
from toolroll.text.truncate import bound

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.files.root import Root
    from toolroll.host.files.workspace import Workspace
    from toolroll.host.forks.views import ForkKind, Node
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.launcher import Launcher
    from toolroll.host.shell.command_result import CommandResult

_MAX_OPEN = 1000
_CLOSERS = 8  # threads
_MAX_DIFF_CHARS = 10_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpenFork:
    """A fork under its number, and the kit on it."""

    number: int
    fork: Fork
    kit: Any
    held: bool = False
    """Whether it was made for one command: then it goes when all of it was merged."""
    opened: float = field(default_factory=time.time)

    def rows(self, paths: Sequence[str] = ()) -> list[ForkChange]:
        """What differs: everything, or at these paths and beneath them."""
        found = self.fork.compare(_Replaced(self.kit))
        return found if not paths else [one for one in found if any(_is_at(one.path, path) for path in paths)]

    def context(self, call: Call) -> Any:
        """The context for a tool that does the work of a call in this fork instead."""
        ctx = self.kit.context(token=call.token, message=call.message, progress=call.progress, cwd=call.cwd)
        ctx.call.name, ctx.call.arguments, ctx.call.is_compared = call.name, call.arguments, self.held
        return ctx

    def changes(self) -> list[Change]:
        return summarize(self.rows())

    def diff(self) -> str:
        return write_diff(self.rows())


def write_diff(rows: Sequence[ForkChange]) -> str:
    """The differences of files as one patch; what no patch can hold is named."""
    made = new_repositories(rows)
    files = [
        _as_file(one)
        for one in rows
        if (_is_file(one.base) or _is_file(one.fork)) and (not one.path.startswith(made) or is_run_by_git(one))
    ]
    omitted = list_omitted(files)
    return build_patch(files) + (f"Not shown: {', '.join(omitted)}.\n" if omitted else "")


class Forks:
    """The open forks of one workspace."""

    def __init__(
        self,
        root: Root,
        max_bytes: int,
        guard: Guard,
        launcher: Launcher,
        open_kit: Callable[[Fork, int], Any] | None,
    ) -> None:
        """`open_kit` opens a kit on a fork; without it there are none."""
        self._root = root
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._open: dict[int, OpenFork] = {}
        self._last = 0
        self._merged: set[int] = set()
        self._open_kit = open_kit
        self._launcher = launcher
        self._home: ForkHome | None = None
        self._repository: RepositoryState | None = None
        self._landing = Landing(root.path, guard, launcher)

    def open(self, kind: ForkKind | None = None, *, held: bool = False) -> OpenFork:
        """Make a fork, with a kit on it."""
        for merged in self._merged:
            self.drop(merged)
        self._merged.clear()
        if self._open_kit is None:
            raise ToolError(ErrorCode.UNSUPPORTED, "Forks need local files and commands, which this kit has not.")
        with self._lock:
            if len(self._open) >= _MAX_OPEN:
                raise ToolError(ErrorCode.TOO_LARGE, f"{_MAX_OPEN} forks are open. Use `commit` or `discard` on some.")
            self._last += 1
            number = self._last
        fork = open_fork(self._root, self._make_home(), self._max_bytes, kind, self._repository)
        self._repository = fork.repository  # forks of the same state share it
        try:
            made = OpenFork(number, fork, self._open_kit(fork, number), held)
        except BaseException:
            fork.close()
            raise
        with self._lock:
            self._open[number] = made
        return made

    def _make_home(self) -> ForkHome:
        with self._lock:
            if self._home is None:
                self._home = ForkHome(self._root.path)
            return self._home

    def get(self, number: int) -> OpenFork:
        """The fork of this number; ToolError if there is none."""
        with self._lock:
            if (found := self._open.get(number)) is not None:
                return found
            there = ", ".join(map(str, self._open)) or "none"
        raise ToolError(ErrorCode.NOT_FOUND, f"There is no fork {number}. Open forks: {there}.")

    def all(self) -> list[OpenFork]:
        """All open forks, oldest first."""
        with self._lock:
            return list(self._open.values())

    def merge(
        self, number: int, call: Call, files: Workspace, paths: Sequence[str] = ()
    ) -> tuple[list[Change], RepositoryChange]:
        """Carry the differences of a fork over, as steps of the call that these files belong to.

        The repository is merged with all of the files only.
        """
        found = self.get(number)
        rows = found.rows(paths)
        check_conflicts(rows)
        with found.fork.merge_repository(self._launcher) as repository:
            change = RepositoryChange({}, {}) if paths else repository.compare()
            self._landing.authorise(call, rows, write_diff(rows), str(change))
            merge = Merge(files)
            merge.apply(rows)
            repository.apply(change, merge.recorder)
            found.fork.accept(rows, repository.after(change))
        if found.held and not paths:  # dropped later: this call may still fail, and be taken back
            self._merged.add(number)
        return summarize(rows), change

    def describe(self, number: int) -> str:
        """What differs in a fork, in one line: files, commits, branches, staged files. Empty if nothing does."""
        found = self.get(number)
        return " ".join(filter(None, [describe_changes(found.changes()), self._describe_repository(found)]))

    def _describe_repository(self, found: OpenFork) -> str:
        with found.fork.merge_repository(self._launcher) as repository:
            return repository.describe()

    def hold(self, ctx: Any, start: Callable[[Any], CommandResult]) -> CommandResult:
        """Run a command in a fork, which stays if it changed something; `start` takes the context to run it in."""
        held = self.open(held=True)
        stays = False
        try:
            result = start(held.context(ctx.call))
            if result.outcome != "exited":
                return _add_note(result, "It did not end by itself: nothing of what it changed is held.")
            rows, repository = held.rows(), self._describe_repository(held)
            stays = bool(rows or repository)
            return _describe(held.number, rows, repository, result)
        finally:
            if not stays:
                self.drop(held.number)

    def run(self, ctx: Any, work: Callable[[Any], T]) -> T:
        """Do the work of a call in a fork, then land what it changed if the policy lets it; ToolError if not.

        Work that failed lands too, as it would without a fork, unless it was cancelled. What cannot be merged is done
        again in the workspace if the approver agrees.
        """
        held = self.open(held=True)
        try:
            done = _try(work, held.context(ctx.call))
            if isinstance(done, NamesBaseError):
                raise done
            self.land(held, held.rows(), ctx)
            return _unwrap(done)
        except (NamesBaseError, UnmergeableError) as error:
            why = error.message
        finally:
            self.drop(held.number)
        self.ask_to_run(ctx.call, why)
        return work(ctx)

    def ask_to_run(self, call: Call, why: str) -> None:
        """Return if what cannot be looked at before it lands may run in the workspace itself; ToolError if not."""
        self._landing.ask_to_run(call, why)

    def land(self, held: OpenFork, rows: Sequence[ForkChange], ctx: Any) -> None:
        """Merge these changes of a fork, and those of its repository, as an entry of the journal.

        ToolError if the policy does not let them.
        """
        with held.fork.merge_repository(self._launcher) as repository, ExitStack() as stack:
            change = repository.compare()
            if not rows and not change:
                return
            check_conflicts(rows)
            self._landing.authorise(ctx.call, rows, write_diff(rows), str(change))
            recorder = ctx.files.recorder  # of a call that is an entry already
            if recorder is None:
                recorder = stack.enter_context(ctx.journal.entry(ctx.call.name, ctx.call.session, ctx.call.message))
            Merge(ctx.files.recording(recorder)).apply(rows)
            repository.apply(change, recorder)
        ctx.call.changes.extend(summarize(rows))

    def discard(self, number: int, paths: Sequence[str]) -> list[Change]:
        """Make a fork what the workspace is at these paths."""
        found = self.get(number)
        rows = found.rows(paths)
        with found.kit.journal.entry("discard", found.kit.session, "") as recorder:
            back = [ForkChange(row.path, row.fork, row.base, False) for row in rows]
            Merge(found.kit.context().files.recording(recorder)).apply(back)
        return summarize(rows)

    def drop(self, number: int) -> None:
        """Remove a fork; nothing if that is done already."""
        with self._lock:
            found = self._open.pop(number, None)
        if found is not None:
            found.kit.close()
            found.fork.close()

    def close(self) -> None:
        with ThreadPoolExecutor(_CLOSERS) as pool:  # to remove many folders is to wait for the disk
            list(pool.map(self.drop, list(self._open)))
        if self._home is not None:
            self._home.close()


class _Replaced(Container[str]):
    """The paths at which a fork had something before it was changed there, as the journal of its kit says."""

    def __init__(self, kit: Any) -> None:
        self._kit = kit

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    @cached_property
    def _paths(self) -> set[str]:
        first: dict[str, bool] = {}
        for entry in self._kit.journal.entries() if self._kit.is_open else ():
            for change in entry.changes:
                first.setdefault(change.source or change.path, change.source is not None or change.before is not None)
        return {path for path, was_there in first.items() if was_there}


def _try(work: Callable[[Any], T], ctx: Any) -> T | ToolError:
    """What the work gives, or the error that it ends with; that it was cancelled is raised."""
    try:
        return work(ctx)
    except ToolError as error:
        if error.code is ErrorCode.CANCELLED:
            raise
        return error


def _unwrap(done: T | ToolError) -> T:
    if isinstance(done, ToolError):
        raise done
    return done


def _describe(number: int, rows: Sequence[ForkChange], repository: str, result: CommandResult) -> CommandResult:
    """The result of a held command, with what it changed."""
    if not rows and not repository:
        return _add_note(result, "It changed no file.")
    changes, shown = summarize(rows), bound(write_diff(rows), _MAX_DIFF_CHARS, "head").text
    line = " ".join(filter(None, [describe_changes(changes), repository]))
    next_calls = f'commit {{"fork": {number}}} keeps it, discard {{"fork": {number}}} drops it.'
    said = f"{line} All of it is held as fork {number}; the workspace is as it was. Next: {next_calls}"
    meta = {"fork": number, "changes": change_rows(changes), "changes_total": len(changes), "diff": shown}
    return replace(_add_note(result, f"{said}\n{shown}" if shown else said), meta={**result.meta, **meta})


def _add_note(result: CommandResult, said: str) -> CommandResult:
    return replace(result, note="\n".join(filter(None, [result.note, said])))


def _is_at(path: str, wanted: str) -> bool:
    return wanted in (".", path) or path.startswith(f"{wanted}/")


def _is_file(node: Node | None) -> bool:
    return node is not None and node.state.kind == "file"


def _as_file(row: ForkChange) -> FileVersions:
    base, fork = (one if _is_file(one) else None for one in (row.base, row.fork))
    modes = [0o755 if one is not None and one.state.mode & 0o100 else 0o644 for one in (base, fork)]
    return FileVersions(row.path, base and base.data, fork and fork.data, *modes)
