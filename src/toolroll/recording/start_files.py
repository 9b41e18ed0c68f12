"""The files that a recording begins with: keep them, and put them into a folder again."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager

from toolroll.host.recordings.replay_place import ReplayPlace
from toolroll.kit import Kit
from toolroll.policy.rules import Policy
from toolroll.recording.recording import StartState
from toolroll.result import ErrorCode, ToolError
from toolroll.tools.files.delete import delete

MAX_BYTES = 64 << 20
"""Of the files that a recording holds, compressed."""


def keep_start(kit: Kit, version: str) -> StartState:
    """The state of a kit's files now; ToolError where they are too large to be kept."""
    commit, branch = _ask_git(kit, "rev-parse", "-q", "--verify", "HEAD^{commit}"), ""
    is_top = commit and _ask_git(kit, "rev-parse", "--show-cdup", "--is-inside-work-tree") == "true"
    names: set[str] | None = None
    if is_top:
        branch = _ask_git(kit, "symbolic-ref", "-q", "HEAD")
        status = _ask_git(kit, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
        names = {row[3:] for row in status.split("\0") if row}
    packed, there = _pack(kit, names)
    if len(packed) > MAX_BYTES:
        message = f"The files take {len(packed):,} bytes, more than the {MAX_BYTES:,} that a recording holds."
        raise ToolError(ErrorCode.TOO_LARGE, f"{message} Commit them, or record a smaller workspace.")
    deleted = sorted((names or set()) - there)
    return StartState(version, kit.dialect.name, kit.mode, commit if is_top else "", branch, deleted, packed)


@contextmanager
def put_back(start: StartState, source: str) -> Iterator[tuple[str, str]]:
    """A folder with the files of a start, and one for the state of a kit; both are removed at the end.

    `source` is a folder with the repository that the commit is in.
    """
    place = ReplayPlace(source, start.commit, start.branch)
    try:
        with Kit(place.path, policy=Policy(), state_dir=f"{place.state}-start") as kit:
            kit.unpack(gzip.decompress(start.files))
            for one in start.deleted:
                delete(kit.context(), one)
        yield place.path, place.state
    finally:
        place.close()


def _ask_git(kit: Kit, *words: str) -> str:
    """What git says; empty where it fails, as without a repository."""
    try:
        done = kit.exec(["git", *words])
    except ToolError:
        return ""
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n") if done.code == 0 else ""


def _pack(kit: Kit, names: set[str] | None) -> tuple[bytes, set[str]]:
    """A compressed tar of the files of these names, or of all, and the names that are in it."""
    made, there = io.BytesIO(), set()
    with (
        kit.pack() as file,
        gzip.GzipFile(fileobj=made, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=file) as whole,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as kept,
    ):
        for member in whole:
            if names is None or member.name in names:
                there.add(member.name)
                kept.addfile(member, whole.extractfile(member) if member.isreg() else None)
    return made.getvalue(), there
