"""What commands move in a repository: branches, tags, HEAD and the index; moved back by an undo."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.host.capture.git_objects import digest_staged
from toolroll.host.files import atomic
from toolroll.host.files.journal.entry import REFS
from toolroll.host.files.walk import FOLDER
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import AccessRules, Launcher
from toolroll.result import ToolError
from toolroll.text.names import show_name

if TYPE_CHECKING:
    from toolroll.host.files.journal.contents import Blobs
    from toolroll.host.files.root import Root

_GIT, _HEAD, _INDEX, _PACKED, _STASH = ".git", "HEAD", "index", "packed-refs", "refs/stash"
_FOLDERS = ("refs/heads/", "refs/tags/")
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_SINGLE = (_HEAD, "ORIG_HEAD", _STASH, *_UNDER_WAY)
_SYMBOLIC = "ref: "
_REFTABLE = "ref: refs/heads/.invalid"  # what HEAD is where refs are kept in another format
_MAX_BYTES = 1 << 24  # of a file of refs
_TIMEOUT_S = 60.0
_MAX_NAMED = 10
_STAGED = "staged"  # in a note
_WHO = {"GIT_COMMITTER_NAME": "toolroll", "GIT_COMMITTER_EMAIL": "toolroll@localhost"}
_MESSAGE = "toolroll: undo"

Refs = dict[str, str]
"""By name: the name of an object, or "ref: " and another ref."""


class GitRefs:
    """The refs and the index of the repository whose folder is in the workspace. Not thread-safe."""

    def __init__(self, root: Root, blobs: Blobs, launcher: Launcher, max_bytes: int) -> None:
        """Of an index of more than `max_bytes` the content is not kept."""
        self._root, self._blobs, self._launcher, self._max_bytes = root, blobs, launcher, max_bytes
        self._read: dict[str, tuple[tuple[int, ...], Refs]] = {}  # by path: the stamp of a file, and its refs
        self._refs: Refs = {}
        self._index: tuple[tuple[int, ...], str] | None = None  # its stamp, and the name of the content

    def take_moved(self) -> dict[str, Any]:
        """What was moved since the last call, as a note of the journal; empty for nothing."""
        before, index = self._refs, self._index
        self._refs = now = self._look()
        if not now and not before:
            return {}
        self._keep_index()
        moved = _compare(before, now)
        if not before or (not moved and self._index == index):
            return {}
        name = self._name_kept(index[1]) if index else None
        note = note_moved(moved, name, self._read_index())
        is_same = not moved and (not name or digest_staged(self._blobs.content(name)) == note[_STAGED])
        return {} if is_same else note

    def put_back(self, notes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
        """Move back what these notes, newest first, say; the note of that, and a sentence.

        All of it, or nothing where something else has moved a ref or staged a file since.
        """
        wanted, others = _join(notes)
        now = self._look()
        others |= {name for name, (left, _) in wanted.items() if now.get(name, "") != left}
        current = self._read_index()
        if digest_staged(current) != notes[0][_STAGED]:
            others.add(_INDEX)
        if others:
            return {}, f"Branches stay as they are: {_names(others)} was changed since. Commits are in `git reflog`."
        if _STASH in wanted and not (wanted[_STASH][1] and self._is_dropped(wanted[_STASH][1])):
            del wanted[_STASH]  # a stash that was made stays
        index = notes[-1][_INDEX]
        try:
            self._move(wanted)
            if index:
                self._write_index(self._blobs.content(index))
            elif index == "":  # not kept
                self._run(["read-tree", _HEAD])
        except (OSError, ToolError):
            return {}, f"Branches could not be moved back: {_names(wanted)}. Commits are in `git reflog`."
        done = {name: [left, target] for name, (left, target) in wanted.items()}
        kept = self._blobs.keep(current) if len(current) <= self._max_bytes else ""
        note = note_moved(done, None if index is None else kept, self._read_index())
        return note, f"Moved back in the repository: {_names(wanted) or _INDEX}.{self._name_rebase()}"

    def _look(self) -> Refs:
        """What the refs are now; none where there is no repository, or its refs are kept as a reftable."""
        try:
            git = os.open(_GIT, FOLDER, dir_fd=self._root.fd)
        except OSError:
            return {}
        try:
            known, self._read = self._read, {}
            found = dict(self._file(git, _PACKED, known))
            for name in _SINGLE:
                found |= self._file(git, name, known)
            for folder in _FOLDERS:
                self._walk(git, folder, known, found)
            return {} if found.get(_HEAD) == _REFTABLE else found
        finally:
            os.close(git)

    def _walk(self, git: int, folder: str, known: Mapping[str, tuple[tuple[int, ...], Refs]], found: Refs) -> None:
        with suppress(OSError):
            with closing_fd(os.open(folder, FOLDER, dir_fd=git)) as fd:
                entries = [(one.name, one.is_dir(follow_symlinks=False)) for one in os.scandir(fd)]
            for name, is_folder in entries:
                if is_folder:
                    self._walk(git, f"{folder}{name}/", known, found)
                elif not name.endswith(".lock"):
                    found |= self._file(git, folder + name, known)

    def _file(self, git: int, path: str, known: Mapping[str, tuple[tuple[int, ...], Refs]]) -> Refs:
        """The refs in a file, which is read only if it has another stamp than before."""
        try:
            stamp = _stamp(os.stat(path, dir_fd=git, follow_symlinks=False))
            if path not in known or known[path][0] != stamp:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=git)
                with os.fdopen(fd, "rb") as file:
                    text = os.fsdecode(file.read(_MAX_BYTES)).strip()
                self._read[path] = stamp, _parse_packed(text) if path == _PACKED else {path: text}
            else:
                self._read[path] = known[path]
        except OSError:
            return {}
        return self._read[path][1]

    def _keep_index(self) -> None:
        """Keep the index, if it is another than before and not too large."""
        try:
            stamp = _stamp(os.stat(f"{_GIT}/{_INDEX}", dir_fd=self._root.fd, follow_symlinks=False))
        except OSError:
            self._index = None
            return
        if self._index is None or self._index[0] != stamp:
            self._index = stamp, self._keep_content() if stamp[1] <= self._max_bytes else ""

    def _keep_content(self) -> str:
        """Keep the content of the index; its name, which `_name_kept` is asked about before it is used."""
        data = self._read_index()
        return self._blobs.keep(data) if data else ""

    def _name_kept(self, name: str) -> str:
        return name

    def _read_index(self) -> bytes:
        with suppress(OSError), self._root.place_listed(f"{_GIT}/{_INDEX}") as place:
            fd = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place.fd)
            with os.fdopen(fd, "rb") as file:
                return file.read() if stat.S_ISREG(os.fstat(fd).st_mode) else b""
        return b""

    def _write_index(self, data: bytes) -> None:
        """Replace the index, under git's own lock."""
        with self._root.place_listed(f"{_GIT}/{_INDEX}.lock") as lock:
            atomic.write(lock, data, stage=None, create_only=True, mode=0o644)
            os.rename(lock.name, _INDEX, src_dir_fd=lock.fd, dst_dir_fd=lock.fd)

    def _move(self, wanted: Mapping[str, tuple[str, str]]) -> None:
        """Move refs from what they are to what they shall be; HEAD first, for its branch may go."""
        head = wanted.get(_HEAD)
        if head is not None:
            self._set_head(head[1])
        rows = [_row(name, *pair) for name, pair in wanted.items() if name != _HEAD]
        try:
            if rows:
                logged = ["--create-reflog"] if _STASH in wanted else []
                self._run(["update-ref", *logged, "-m", _MESSAGE, "--no-deref", "--stdin"], "".join(rows))
        except (OSError, ToolError):
            if head is not None:
                self._set_head(head[0])
            raise

    def _set_head(self, value: str) -> None:
        if value.startswith(_SYMBOLIC):
            self._run(["symbolic-ref", "-m", _MESSAGE, _HEAD, value.removeprefix(_SYMBOLIC)])
        else:
            self._run(["update-ref", "-m", _MESSAGE, "--no-deref", _HEAD, value])

    def _is_dropped(self, stash: str) -> bool:
        """Whether a stash is not in the list of stashes, which is the log of their ref."""
        with suppress(OSError), open(os.path.join(self._root.path, _GIT, "logs", _STASH), "rb") as file:
            return stash.encode() not in file.read(_MAX_BYTES)
        return True

    def _name_rebase(self) -> str:
        under_way = [
            one for one in ("rebase-merge", "rebase-apply") if os.path.isdir(f"{self._root.path}/{_GIT}/{one}")
        ]
        return " A rebase is still under way: `git rebase --quit` ends it." if under_way else ""

    def _run(self, words: Sequence[str], given: str = "") -> None:
        """Run git on the repository, without its hooks; ToolError if it fails."""
        from toolroll.host.sandbox.git.git_process import ask_git

        git = os.path.join(self._root.path, _GIT)
        how: dict[str, Any] = {"given": os.fsencode(given), "variables": _WHO}
        if ask_git(self._launcher, [f"--git-dir={git}", *words], AccessRules((git,)), _TIMEOUT_S, **how)[1] != 0:
            raise OSError(0, f"git {words[0]} failed")


def note_moved(moved: Mapping[str, Sequence[str]], index: str | None, now: bytes) -> dict[str, Any]:
    """The note of an entry: what refs were and are, empty for nothing; the old index, and what is staged now.

    `index` is the name of its content, empty if that is not kept; None if an undo shall leave it alone.
    """
    kept = {name: pair for name, pair in moved.items() if name in _SINGLE or name.startswith(_FOLDERS)}
    return {REFS: kept, _INDEX: index, _STAGED: digest_staged(now)}


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _parse_packed(text: str) -> Refs:
    rows = (line.split(" ", 1) for line in text.splitlines() if line[:1] not in ("#", "^", ""))
    return {row[1]: row[0] for row in rows if len(row) == 2 and row[1].startswith((*_FOLDERS, _STASH))}


def _compare(before: Refs, now: Refs) -> dict[str, list[str]]:
    """The refs that differ: what each was and is, empty for nothing."""
    if before == now:
        return {}
    names = sorted(one for one in before.keys() | now.keys() if one.isprintable())  # the journal is UTF-8
    return {one: [before.get(one, ""), now.get(one, "")] for one in names if before.get(one) != now.get(one)}


def _join(notes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, tuple[str, str]], set[str]]:
    """By ref: what it was left as, and what it is to be; and the refs that something else moved in between."""
    wanted: dict[str, tuple[str, str]] = {}
    others: set[str] = set()
    for note in notes:
        for name, (before, after) in note[REFS].items():
            left, target = wanted.get(name, (after, after))
            if target != after:
                others.add(name)
            wanted[name] = left, before
    return {name: pair for name, pair in wanted.items() if pair[0] != pair[1]}, others


def _row(name: str, left: str, target: str) -> str:
    """A line for `git update-ref --stdin`."""
    old = f" {left}" if left and "\n" not in left else ""
    if not target:
        return f"delete {name}{old}\n"
    return f"update {name} {target.splitlines()[0]}{old}\n" if left else f"create {name} {target.splitlines()[0]}\n"


def _names(refs: Iterable[str]) -> str:
    named = [one.removeprefix("refs/").removeprefix("heads/") for one in sorted(refs) if one != "ORIG_HEAD"]
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    return ", ".join(map(show_name, named[:_MAX_NAMED])) + more
