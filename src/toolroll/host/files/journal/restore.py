"""Put paths back to the state that the journal knows, and compare them with it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from toolroll.host.files import atomic
from toolroll.host.files.journal.entry import PathChange, PathState, is_kept_kind, look, unkept_content
from toolroll.host.files.journal.log import HeldNames, JournalLog
from toolroll.host.files.openat import PathHandle
from toolroll.host.files.root import Root
from toolroll.result import ErrorCode, ToolError

_MAX_LOOKS = 50_000  # entries of folders that are looked at for the other names of a file


class TakenBack(NamedTuple):
    """What became of steps that were to be undone without recording it."""

    left: list[str]
    """Each path that stays as it is, with the reason."""
    failed: list[PathChange]
    """The steps that may succeed later, oldest first."""


def take_back(root: Root, log: JournalLog, steps: Sequence[PathChange], held: HeldNames | None = None) -> TakenBack:
    """Undo steps without recording it, the last first. What others have changed since is left alone."""
    left, failed = list[str](), list[PathChange]()
    for step in reversed(steps):
        try:
            if not _take_back(root, log, step, held):
                left.append(f"{step.path} (changed by others since)")
        except ToolError as error:
            left.append(f"{step.path} ({error.message})")
        except OSError as error:
            left.append(f"{step.path} ({error.strerror}; the next start tries again)")
            failed.insert(0, step)
    return TakenBack(left, failed)


def _take_back(root: Root, log: JournalLog, step: PathChange, held: HeldNames | None) -> bool:
    """Undo one step; False if something else is there."""
    if step.source is not None:
        _move_back(root, step)
        return True
    try:
        place = root.place_listed(step.path, create=step.before is not None)
    except FileNotFoundError:
        return True
    with place, writable(place.fd):
        if place.mode() and not is_kept_kind(place.mode()):
            return False
        now, _ = look(place.fd, place.name)
        if is_same_state(now, step.before) and not (step.before is not None and step.before.mtime_ns):
            return True
        if not _is_halfway(now, step):
            return False
        if step.before is None:
            remove_entry(place)
        elif held is None or not held.put_back(place, step.before):
            data = log.blobs.content(step.before.content) if step.before.kind == "file" else b""
            put_state(place, step.before, data)
        return True


def is_same_state(now: PathState | None, known: PathState | None) -> bool:
    """Whether what is there is what is known; -1 is a mode that was not known yet."""
    if now is None or known is None:
        return now is known
    return (now.kind, now.content) == (known.kind, known.content) and known.mode in (now.mode, -1, 0)


def _is_halfway(now: PathState | None, step: PathChange) -> bool:
    """Whether what is there can be the work of a step that was cut off: done but for its mode, or the old gone."""
    if now is None or step.after is None:
        return now is None
    return (now.kind, now.content) in {(one.kind, one.content) for one in (step.before, step.after) if one is not None}


def _move_back(root: Root, step: PathChange) -> None:
    if step.source is None:
        return
    try:
        with (
            root.place_listed(step.path) as new,
            root.place_listed(step.source, create=True) as old,
        ):
            if not old.mode() and new.mode():
                os.rename(new.name, old.name, src_dir_fd=new.fd, dst_dir_fd=old.fd)
            elif new.mode() and os.path.samestat(old.status(), new.status()):
                os.unlink(new.name, dir_fd=new.fd)  # a move by linking that was cut off in the middle
    except FileNotFoundError:
        return


def is_folder(root: Root, path: str) -> bool:
    """Whether a folder has this real path, and no link to one."""
    try:
        with root.place_listed(path) as place:
            return stat.S_ISDIR(place.mode())
    except OSError:
        return False


@contextmanager
def writable(folder: int) -> Iterator[None]:
    """Let names in an open folder be changed, if it is ours; its mode is put back in the end."""
    mode, path = stat.S_IMODE(os.fstat(folder).st_mode), f"/proc/self/fd/{folder}"
    if mode & stat.S_IRWXU == stat.S_IRWXU:
        yield
        return
    with suppress(OSError):  # another owner's
        os.chmod(path, mode | stat.S_IRWXU)
    try:
        yield
    finally:
        with suppress(OSError):
            os.chmod(path, mode)


def is_removable(place: PathHandle) -> bool:
    """Whether it can go: a folder that others have put something into stays."""
    if not stat.S_ISDIR(place.mode()):
        return bool(place.mode())
    fd = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.fd)
    try:
        return not os.listdir(fd)
    finally:
        os.close(fd)


def remove_entry(place: PathHandle) -> None:
    """Remove a file, a link or an empty folder, if it is there."""
    if stat.S_ISDIR(place.mode()):
        if is_removable(place):
            os.rmdir(place.name, dir_fd=place.fd)
    elif place.mode():
        os.unlink(place.name, dir_fd=place.fd)


def put_state(place: PathHandle, state: PathState, data: bytes) -> None:
    """Make a place what it was."""
    if state.kind == "file":
        is_there = stat.S_ISREG(place.mode())
        if is_there and not os.access(place.name, os.W_OK, dir_fd=place.fd, effective_ids=True):
            os.unlink(place.name, dir_fd=place.fd)  # its mode may be that of another name of the same file too
        atomic.write(place, data, stage=None, mode=state.mode | stat.S_IWUSR if state.mtime_ns else state.mode)
        _put_times(place, state)
        os.chmod(place.name, state.mode, dir_fd=place.fd)
    elif state.kind == "link":
        os.symlink(state.content, place.name, dir_fd=place.fd)
    elif state.kind == "directory":
        with suppress(FileExistsError):  # only its mode was changed
            os.mkdir(place.name, dir_fd=place.fd)
        if state.mode >= 0:
            os.chmod(place.name, state.mode, dir_fd=place.fd)
        _put_times(place, state)
    else:
        raise ToolError(ErrorCode.UNSUPPORTED, f"{place.path!r} cannot be put back.")


def _put_times(place: PathHandle, state: PathState) -> None:
    """Put back time and extended attributes, where they are known."""
    if state.mtime_ns:
        atomic.set_attributes(place, state.attributes)
        os.utime(place.name, ns=(state.mtime_ns, state.mtime_ns), dir_fd=place.fd, follow_symlinks=False)


def link_again(root: Root, place: PathHandle, state: PathState) -> bool:
    """Make a place one of several names of a file, as it was; False if no other name has that file any more."""
    for path in state.names:
        with suppress(OSError, ToolError), root.place_listed(path) as other:
            now, _ = look(other.fd, other.name)
            if now is None or (now.kind, now.content, now.mode) != (state.kind, state.content, state.mode):
                continue
            if not place.mode() or not os.path.samestat(place.status(), other.status()):
                draft = atomic.passing_name()
                os.link(other.name, draft, src_dir_fd=other.fd, dst_dir_fd=place.fd, follow_symlinks=False)
                os.replace(draft, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
            _put_times(place, state)
            return True
    return False


def find_names(root: Root, status: os.stat_result, path: str) -> Iterator[str]:
    """The other paths in the same root of a file that has several names, as far as a short look finds them."""
    name, owner, _ = root.owner(tuple(path.split("/")))
    folders, looks, left = [""], 0, status.st_nlink - 1
    while folders and left and looks < _MAX_LOOKS:
        below = folders.pop()
        with suppress(OSError), os.scandir(os.path.join(owner.path, below)) as found:
            for one in found:
                looks += 1
                inner = f"{below}{one.name}"
                if one.is_dir(follow_symlinks=False):
                    folders += [f"{inner}/"] if one.name != ".git" else []
                elif one.inode() == status.st_ino and (full := f"{name}/{inner}" if name else inner) != path:
                    left -= 1
                    yield full


def is_still(folder: int, name: str, known: PathState, since: float) -> bool:
    """Whether what has a name in an open folder is what is known of it by its size and time, or by its kind.

    Of a folder that is taken as a whole: whether nothing in it was changed `since`.
    """
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    if known.kind == "file":
        return stat.S_ISREG(status.st_mode) and known.content == unkept_content(status.st_size, status.st_mtime_ns)
    if known.kind != "ignored":
        return not is_kept_kind(status.st_mode)
    return stat.S_ISDIR(status.st_mode) and _newest(folder, name) <= since * 1_000_000_000


def _newest(folder: int, name: str) -> int:
    """When something in a folder was changed last, in ns."""
    newest = 0
    for _, folders, files, inner in os.fwalk(name, dir_fd=folder):
        newest = max(newest, os.fstat(inner).st_ctime_ns)
        for one in (*files, *folders):
            with suppress(FileNotFoundError):
                newest = max(newest, os.stat(one, dir_fd=inner, follow_symlinks=False).st_ctime_ns)
    return newest
