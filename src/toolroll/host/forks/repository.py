"""Merge the repository of a fork by meaning: commits, branches, tags, stashes and staged files.

Three sides are compared: the repository when the fork was made, that of the workspace now, and that of the fork. Hooks
and settings are never merged. Git's own lock files keep other programs out meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolroll.host.capture.git_refs import note_moved
from toolroll.host.files import atomic
from toolroll.host.files.journal.entry import PathChange, PathState
from toolroll.host.files.versions import digest
from toolroll.host.forks.git_index import StagedFiles, check_connected, read_staged, write_staged
from toolroll.host.forks.views import beneath, find_node
from toolroll.host.runtime.dir_entries import take_stamp
from toolroll.result import ErrorCode, ToolError
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from toolroll.host.files.journal.recorder import Recorder
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.launcher import Launcher

GIT = ".git"
_HEAD, _INDEX, _PACKED = "HEAD", "index", "packed-refs"
_TABLES = "reftable/tables.list"  # refs in a format that is not read here
_OBJECT = re.compile(r"\.git/objects/(?:([0-9a-f]{2})/([0-9a-f]{38,62})|pack/pack-[0-9a-f]+\.(pack|rev|idx))\Z")
_PACK_ORDER = (None, "pack", "rev", "idx")  # git uses a pack when its idx is there
_UNDER_WAY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
_SUBMODULE = b"160000"
_MAX_SHOWN = 3

Refs = Mapping[str, bytes]
"""What HEAD, branches, tags and other refs are: the name of an object, or "ref: " and another ref."""


class UnmergeableError(ToolError):
    """What a fork did to its repository cannot be merged, whatever the workspace has."""


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The refs and the index of a repository at one moment."""

    refs: Refs
    index: bytes = field(repr=False)
    index_stamp: tuple[int, ...] | None


def read_repository(folder: int, known: RepositoryState | None = None) -> RepositoryState | None:
    """The state of the repository in an open folder; None if there is none. What is as `known` is shared with it."""
    if (head := _read(folder, _HEAD)) is None:
        return None
    refs = {**_packed(_read(folder, _PACKED) or b""), _HEAD: head.strip()}
    if (tables := _read(folder, _TABLES)) is not None:
        refs[_TABLES] = tables
    for path in (one.removeprefix(f"{GIT}/") for one in beneath(folder, f"{GIT}/refs") if not one.endswith(".lock")):
        if data := _read(folder, path):
            refs[path] = data.strip()
    stamp = take_stamp(folder, f"{GIT}/{_INDEX}")
    if known is not None and known.index_stamp == stamp:
        return known if known.refs == refs else RepositoryState(refs, known.index, stamp)
    return RepositoryState(refs, _read(folder, _INDEX) or b"", stamp)


def _packed(data: bytes) -> dict[str, bytes]:
    rows = (line.split(b" ", 1) for line in data.splitlines() if line[:1] not in (b"#", b"^", b""))
    return {os.fsdecode(name): oid for oid, name in rows}


def _read(folder: int, path: str) -> bytes | None:
    node = find_node(folder, f"{GIT}/{path}")
    return node.data if node is not None else None


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """What a fork did to its repository."""

    moved: Mapping[str, tuple[bytes | None, bytes | None]]
    """Refs that only the fork moved: what the workspace has, and what the fork has."""
    staged: StagedFiles
    """Index entries that only the fork changed, by path."""

    def __bool__(self) -> bool:
        return bool(self.moved or self.staged)

    def __str__(self) -> str:
        named = [name.removeprefix("refs/").removeprefix("heads/") for name in self.moved]
        parts = [f"moved {', '.join(named)}"] if named else []
        parts += [f"staged {counted(len(self.staged), 'file')}"] if self.staged else []
        return f"Repository: {', '.join(parts)}." if parts else ""


class RepositoryMerge:
    """Compares the repository of one fork with that of its workspace, and carries over what is new."""

    def __init__(
        self,
        base: Root,
        fork: int,
        start: RepositoryState | None,
        touched: Callable[[], Iterable[str]],
        scratch: str,
        launcher: Launcher,
    ) -> None:
        """`fork` is a descriptor of the fork's folder, `start` the repository when it was made.

        `touched` lists the paths that the fork may have changed.
        """
        self._base, self._fork, self._start, self._touched = base, fork, start, touched
        self._scratch, self._launcher = scratch, launcher
        self._now = read_repository(base.fd, start)
        self._theirs = read_repository(fork, self._now)

    def compare(self) -> RepositoryChange:
        """What only the fork changed; ToolError with both sides where the workspace changed it too."""
        now, theirs, start = self._now, self._theirs, self._start
        if theirs is None or theirs is now or (now is None and start is None):  # a new one is merged as files
            return RepositoryChange({}, {})
        if now is None or start is None:
            raise _refuse("the fork has a repository of its own, which the workspace has not. Merge by paths")
        if now.refs == theirs.refs and now.index == theirs.index:
            return RepositoryChange({}, {})
        for name, what in _UNDER_WAY.items():
            if take_stamp(self._fork, f"{GIT}/{name}") and not take_stamp(self._base.fd, f"{GIT}/{name}"):
                raise _refuse(f"a {what} is under way in the fork. End it there first")
        moved = {}
        for name in sorted(now.refs.keys() | theirs.refs.keys()):
            ours, own, old = now.refs.get(name), theirs.refs.get(name), start.refs.get(name)
            if own in (ours, old):
                continue
            if name == _TABLES:
                raise _refuse("the repository keeps its refs as reftable, which is not merged. Merge by paths")
            if ours != old:
                raise self._conflict(name, ours, own)
            moved[name] = ours, own
        return RepositoryChange(moved, self._compare_staged(start, now, theirs))

    def describe(self) -> str:
        """What would be merged, or why it would not; empty for nothing."""
        try:
            return str(self.compare())
        except ToolError as error:
            return error.message

    def _conflict(self, name: str, ours: bytes | None, own: bytes | None) -> ToolError:
        sides = " and ".join(f"{(one or b'nothing').decode(errors='replace')[:60]!r} ({who})" for one, who in
                             ((ours, "workspace"), (own, "fork")))  # fmt: skip
        return ToolError(
            ErrorCode.CONFLICT,
            f"Nothing was merged: {name!r} moved in the workspace since the fork was made, and in the fork too: "
            f"{sides}. Rebase in a new fork, or merge by paths, which leaves branches alone.",
            details={"refs": [name]},
        )

    def _compare_staged(self, *sides: RepositoryState) -> StagedFiles:
        """The entries of the index that only the fork changed."""
        if sides[1].index == sides[2].index:
            return {}
        read = {one.index: one for one in sides}
        found = {data: read_staged(data, self._git_folder, self._scratch, self._launcher) for data in read}
        start, now, theirs = (found[one.index] for one in sides)
        if theirs in (now, start):
            return {}
        paths = [one for one in now.keys() | theirs.keys() if theirs.get(one) not in (now.get(one), start.get(one))]
        if both := sorted(one for one in paths if now.get(one) != start.get(one)):
            names = ", ".join(repr(os.fsdecode(one)) for one in both[:_MAX_SHOWN])
            raise ToolError(
                ErrorCode.CONFLICT,
                f"Nothing was merged: {names} was staged in the workspace since the fork was made, and otherwise in "
                "the fork. Unstage it on one side, or merge by paths, which leaves the index alone.",
                details={"paths": [os.fsdecode(one) for one in both]},
            )
        return {one: theirs.get(one, ()) for one in sorted(paths)}

    @property
    def _git_folder(self) -> str:
        return os.path.join(self._base.path, GIT)

    def apply(self, change: RepositoryChange, recorder: Recorder) -> None:
        """Carry a change over: objects first, then staged files and refs, all or none."""
        if not change or self._now is None:
            return
        git = self._git_folder, self._scratch, self._launcher
        self._add_objects()
        names = [own for _, own in change.moved.values() if own is not None and not own.startswith(b"ref:")]
        entries = [entry.split() for entries in change.staged.values() for entry in entries]
        check_connected([*names, *(oid for mode, oid, _ in entries if mode != _SUBMODULE)], *git)
        width = max((len(one) for one in self._now.refs.values() if not one.startswith(b"ref:")), default=40)
        index = write_staged(change.staged, self._now.index, width, *git) if change.staged else b""
        with recorder.aside(), self._locked(change, recorder):
            if read_repository(self._base.fd, self._now) != self._now:
                raise ToolError(
                    ErrorCode.CONFLICT, "The repository was changed during the merge. Nothing was merged. Try again."
                )
            writer = _RefWriter(self._base, self._fork, recorder)
            for name in sorted(change.moved, key=lambda one: change.moved[one][1] is not None):  # deletions first
                writer.move(name, change.moved[name][1])
            if change.moved:
                writer.add_to_log()
            if change.staged:
                writer.put(_INDEX, index)
        sides = {name: [os.fsdecode(one or b"") for one in pair] for name, pair in change.moved.items()}
        before = digest(self._now.index).hex() if change.staged and self._now.index else None
        recorder.note |= note_moved(sides, before, index or self._now.index)

    def after(self, change: RepositoryChange) -> RepositoryState | None:
        """What later changes are to be compared with, once this one was merged."""
        return read_repository(self._base.fd, self._now) if change or self._start is None else self._start

    def _add_objects(self) -> None:
        found = [(match, path) for path in self._touched() if (match := _OBJECT.match(path))]
        for match, path in sorted(found, key=lambda one: (_PACK_ORDER.index(one[0][3]), one[1])):
            node = find_node(self._fork, path)
            if node is None or node.data is None or take_stamp(self._base.fd, path) is not None:
                continue
            if match[1] and not _is_intact(node.data, match[1] + match[2]):
                raise _refuse(f"the fork's object {match[1]}{match[2]} is damaged")
            with self._base.place_listed(path, create=True) as place:
                atomic.write(place, node.data, stage=None, mode=0o444)

    @contextmanager
    def _locked(self, change: RepositoryChange, recorder: Recorder) -> Iterator[None]:
        """Hold git's locks of all that is going to change; after a kill the next start removes them."""
        names = [*change.moved, *([_INDEX] if change.staged else [])]
        names += [_PACKED] if any(own is None for _, own in change.moved.values()) else []
        mark = f"toolroll {os.getpid()} {os.urandom(8).hex()}\n".encode()
        with ExitStack() as stack:
            for name in names:
                path = f"{GIT}/{name}.lock"
                with suppress(NotADirectoryError):  # the ref above it goes first
                    place = stack.enter_context(self._base.place_listed(path, create=True, check=recorder.expect))
                    recorder.about_to(PathChange(path, None, PathState.of_file(mark, 0o644)))
                    try:
                        atomic.write(place, mark, stage=None, create_only=True, durable=False)
                    except FileExistsError:
                        raise ToolError(
                            ErrorCode.CONFLICT,
                            f"Nothing was merged: git is at work in the workspace ({path!r} is there). Try again.",
                        ) from None
                    stack.callback(_unlink, place.name, place.fd)
            yield


class _RefWriter:
    """Writes files of the repository as steps of a call."""

    def __init__(self, base: Root, fork: int, recorder: Recorder) -> None:
        self._base, self._fork, self._recorder = base, fork, recorder

    def move(self, name: str, value: bytes | None) -> None:
        """Set a ref to what the fork has, with its log."""
        self.put(name, None if value is None else value + b"\n")
        if value is None and name in _packed(packed := _read(self._base.fd, _PACKED) or b""):
            self.put(_PACKED, _without(packed, name))
        if name != _HEAD:
            self.put(f"logs/{name}", _read(self._fork, f"logs/{name}"))

    def add_to_log(self) -> None:
        """Add the fork's lines to the log of HEAD."""
        ours, own = (_read(fd, f"logs/{_HEAD}") or b"" for fd in (self._base.fd, self._fork))
        known = set(ours.splitlines())
        more = [line for line in own.splitlines(keepends=True) if line.rstrip(b"\n") not in known]
        if more:
            self.put(f"logs/{_HEAD}", ours + b"".join(more))

    def put(self, name: str, data: bytes | None) -> None:
        """Write a file of the repository, or remove it."""
        path, recorder = f"{GIT}/{name}", self._recorder
        if data is None and take_stamp(self._base.fd, path) is None:
            return
        self._clear_folder(path)
        with self._base.place_listed(path, create=data is not None, check=recorder.expect) as place:
            if data is None:
                recorder.remove(place.fd, place.name, place.path)
                return
            before = _read(self._base.fd, name)
            with recorder.writing(place, data, before, 0o644):
                atomic.write(place, data, stage=None, mode=0o644, sync=recorder.folders.add)

    def _clear_folder(self, path: str) -> None:
        """Remove empty folders that have the name of a ref, which git leaves behind."""
        found = find_node(self._base.fd, path)
        if found is not None and found.state.kind == "directory":
            for one in sorted([path, *beneath(self._base.fd, path)], reverse=True):
                with self._base.place_listed(one) as place:
                    os.rmdir(place.name, dir_fd=place.fd)


def _without(packed: bytes, name: str) -> bytes:
    """A file of packed refs without one of them, and without what belongs to it."""
    kept, skip = [], False
    for line in packed.splitlines(keepends=True):
        skip = line.rstrip(b"\n").endswith(b" " + os.fsencode(name)) or (skip and line.startswith(b"^"))
        if not skip:
            kept.append(line)
    return b"".join(kept)


def _is_intact(data: bytes, name: str) -> bool:
    """Whether a loose object is what its name says."""
    algorithm = hashlib.sha1 if len(name) == 40 else hashlib.sha256
    with suppress(zlib.error):
        return algorithm(zlib.decompress(data)).hexdigest() == name
    return False


def _refuse(why: str) -> UnmergeableError:
    return UnmergeableError(ErrorCode.UNSUPPORTED, f"Nothing was merged: {why}.")


def _unlink(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
