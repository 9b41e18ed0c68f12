"""Guards the repository of a workspace while commands, jobs and servers that may write there run.

The baseline is taken while nothing runs in the workspace, by this kit or another with the same state folder, and is
kept on disk. While something runs, a watch puts settings and hooks back as soon as they change; at the end of each
command everything is compared once more, and objects and refs that were lost are put back. A kit that finds the
baseline of a killed one does the same before anything else.
"""

from __future__ import annotations

import fcntl
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from toolroll.host.files.openat import LIST
from toolroll.host.runtime.dir_entries import Parts, Stamp, are_old, open_dir, take_stamp, take_stamps
from toolroll.host.runtime.inotify import EventsLostError, FolderWatch
from toolroll.host.sandbox.git.baseline import GIT, MAX_NAMES, Baseline, take_baseline
from toolroll.host.sandbox.git.restore import Restorer
from toolroll.host.sandbox.git.vault import Vault
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.state import State

_RUNNING = "running"


class InUse:
    """The use of one workspace by one kit. `folder` is a descriptor of a folder of the state, which stays open."""

    def __init__(self, folder: int) -> None:
        self._folder = folder
        self._turn = self._open("turn")
        self._users = self._open("users")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One kit at a time may begin, end, or put things back."""
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def is_free(self) -> bool:
        """Within a turn, and before `begin` or after `end`: whether no other kit runs anything."""
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(self._users, fcntl.LOCK_UN)
        return True

    def was_cut_off(self) -> bool:
        """While the workspace is free: whether a kit that ran something was killed before it could end."""
        return take_stamp(self._folder, _RUNNING) is not None

    def begin(self) -> None:
        """Within a turn: this kit runs something from now on."""
        fcntl.flock(self._users, fcntl.LOCK_SH)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(_RUNNING, flags, 0o600, dir_fd=self._folder))

    def end(self) -> None:
        """Within a turn: this kit runs nothing any more."""
        fcntl.flock(self._users, fcntl.LOCK_UN)
        if self.is_free():
            with suppress(FileNotFoundError):
                os.unlink(_RUNNING, dir_fd=self._folder)

    def close(self) -> None:
        for fd in (self._turn, self._users):
            os.close(fd)

    def _open(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self._folder)


_FOLDER = "git"
_BASELINE = "baseline"
_ENDED = "The command was ended, because it changed the repository's settings or hooks again and again."
_CROWDED = (
    "Nothing was started: {path!r} has more than {names:,} names, so that what a command changes there could not be "
    "put back. Ask the user to remove those that are not needed."
)
_MAX_SENTENCES = 30
_MAX_RESTORES, _RESTORES_S = 100, 10.0  # so many in so many seconds are no accident


@dataclass(slots=True, eq=False)
class GuardedCommand:
    """One command, job or server while it runs."""

    hold: tuple[str, ...] = ()  # absolute folders that must keep their names, for a sandbox that can see to it
    keep: tuple[str, ...] = ()  # absolute paths in them that must stay as they are
    stop: Callable[[], object] = int  # ends it without waiting for the end
    said: dict[str, None] = field(default_factory=dict)  # what was put back while it ran, in sentences

    def add(self, sentences: Iterable[str]) -> None:
        """Remember what was put back, each sentence once and not without end."""
        for sentence in sentences:
            if len(self.said) < _MAX_SENTENCES or sentence == _ENDED:
                self.said[sentence] = None


class GitGuard:
    """One for each kit. Safe to use from many threads."""

    def __init__(self, root: Root, state: State) -> None:
        self._root = root
        self._state = state
        self._lock = threading.RLock()
        self._running: set[GuardedCommand] = set()
        self._baseline = Baseline()
        self._restorer: Restorer | None = None
        self._in_use: InUse | None = None
        self._vault: Vault | None = None
        self._watch: GitWatch | None = None
        self._written: tuple[Baseline, os.stat_result] | None = None
        self._seen: _Seen | None = None
        self._watched: Mapping[Parts, set[str] | None] = {}
        self._mounts: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        self._guards = False
        self._restored: deque[float] = deque(maxlen=_MAX_RESTORES)
        self._recovered: list[str] = []
        self._make_vault: Callable[[int, int], Vault] = Vault
        self._is_shared = True

    def start_from(self, known: Baseline, make_vault: Callable[[int, int], Vault]) -> None:
        """For a fork of a frozen workspace: its files need not be read again, nor objects be kept as usual.

        Only its own commands use its repository, and after a kill there is no fork: what was changed is put
        back at the end of each command, without a watch.
        """
        self._is_shared = False
        device, stamped = os.fstat(self._root.fd).st_dev, known.entries.items()
        entries = {at: replace(one, stamp=(*one.stamp[:1], device, *one.stamp[2:])) for at, one in stamped if one.stamp}
        self._baseline, self._make_vault = Baseline(entries=entries), make_vault

    def recover(self) -> list[str]:
        """Put back what commands of a killed kit have changed; a sentence for each thing."""
        if not self._was_cut_off():
            return []
        with self._lock:
            in_use, _ = self._parts()
            with in_use.turn():
                self._recovered += self._recover(in_use)
            return list(self._recovered)

    def begin(self) -> GuardedCommand:
        """Before something is started that may write to the workspace."""
        with self._lock:
            guarded = GuardedCommand()
            if not self._running:
                self._open()
            guarded.hold, guarded.keep = self._mounts
            guarded.add(self._recovered)
            self._recovered = []
            self._running.add(guarded)
            if self._guards and self._is_shared:
                self._start_watch()
            return guarded

    def mounts(
        self, protected: Iterable[str], guarded: GuardedCommand | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a sandbox with mounts holds for something that runs: folders that keep their names, and read-only paths.

        `protected` are the names in the workspace that stay as they are.
        """
        keep = tuple(self._path((name,)) for name in protected if guarded is None or name != GIT[0])
        return ((), keep) if guarded is None else (guarded.hold, (*keep, *guarded.keep))

    def end(self, guarded: GuardedCommand) -> list[str]:
        """After its end: put back what it has changed; what was put back while it ran, in sentences."""
        with self._lock:
            if guarded not in self._running:
                return []
            try:
                self.check(ended=True)
                if self._vault is not None and self._guards:
                    self._say(self._vault.put_back(self._baseline.repositories))
            finally:
                self._running.remove(guarded)
                if not self._running:
                    self._close()
            return list(guarded.said)

    def check(self, *, ended: bool = False) -> None:
        """Put back settings and hooks that have changed, while something runs or when it has `ended`."""
        with self._lock:
            if self._running and self._guards and self._restorer is not None and not self._is_unchanged():
                sentences = self._restorer.put_back(ended=ended)
                self._say(sentences)
                if sentences:
                    self._count()

    def close(self) -> None:
        """Let go of everything. What still runs is not guarded any more."""
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        with self._lock:
            self._close()
            for part in (self._vault, self._in_use, self._restorer):
                if part is not None:
                    part.close()
            self._vault = self._in_use = self._restorer = self._seen = None

    def _say(self, sentences: list[str]) -> None:
        for one in self._running:
            one.add(sentences)

    def _count(self) -> None:
        """End what runs if it undoes our work again and again: its hook would be there for most of the time."""
        now = time.monotonic()
        self._restored.append(now)
        if len(self._restored) == _MAX_RESTORES and now - self._restored[0] < _RESTORES_S:
            self._restored.clear()
            self._say([_ENDED])
            for one in self._running:
                one.stop()

    def _path(self, parts: Iterable[str]) -> str:
        return "/".join((self._root.path, *parts))

    def _parts(self) -> tuple[InUse, Vault]:
        if self._in_use is None or self._vault is None:
            folder = self._state.folder(_FOLDER)
            self._in_use, self._vault = InUse(folder), self._make_vault(self._root.fd, folder)
        return self._in_use, self._vault

    def _open(self) -> None:
        """Take the baseline, or that of another kit which runs something."""
        if not os.path.lexists(self._path(GIT)) and not self._was_cut_off():
            self._set(Baseline())
            return
        in_use, vault = self._parts()
        with in_use.turn():
            if in_use.is_free():
                self._recovered += self._recover(in_use)
                if not self._is_unchanged():
                    self._set(take_baseline(self._root.fd, self._baseline))
                vault.refresh(self._baseline.repositories)
                if self._is_shared:
                    self._write()
            else:
                self._set(self._read() or take_baseline(self._root.fd))
                self._seen = None  # what is there now may be different already
                vault.load(self._baseline.repositories)
            if crowded := sorted(self._baseline.crowded):
                raise ToolError(ErrorCode.SECURITY, _CROWDED.format(names=MAX_NAMES, path="/".join(crowded[0])))
            in_use.begin()
        self._guards = True

    def _set(self, baseline: Baseline) -> None:
        """Take this as the baseline from now on."""
        if self._restorer is not None:
            self._restorer.close()
        self._baseline, self._restorer = baseline, Restorer(self._root.fd, baseline)
        self._seen = _Seen(self._root.fd, baseline)
        self._watched = baseline.watched()
        hold, keep = baseline.mounts()
        self._mounts = tuple(map(self._path, hold)), tuple(map(self._path, keep))

    def _is_unchanged(self) -> bool:
        return self._seen is not None and self._seen.is_unchanged()

    def _close(self) -> None:
        """Nothing runs any more."""
        if self._guards and self._in_use is not None:
            self._guards = False
            if self._watch is not None:
                self._watch.rest()
            with self._in_use.turn():
                self._in_use.end()

    def _recover(self, in_use: InUse) -> list[str]:
        """Within a turn: put back what a kit has left that was killed while it ran something."""
        if not in_use.is_free() or not in_use.was_cut_off():
            return []
        baseline, (_, vault) = self._read(), self._parts()
        said = []
        if baseline is not None:
            restorer = Restorer(self._root.fd, baseline)
            said = restorer.put_back()
            restorer.close()
            vault.load(baseline.repositories)
            said += vault.put_back(baseline.repositories)
        in_use.end()
        return [f"{one} (toolroll was killed while a command ran.)" for one in said]

    def _was_cut_off(self) -> bool:
        """Whether some kit runs something, or was killed while it did."""
        return os.path.lexists(os.path.join(self._state.path, _FOLDER, "running"))

    def _read(self) -> Baseline | None:
        try:
            with open(os.path.join(self._state.path, _FOLDER, _BASELINE), "rb") as file:
                return Baseline.decode(file.read())
        except (OSError, msgspec.MsgspecError):
            return None

    def _write(self) -> None:
        """Keep the baseline on disk, unless it is there already."""
        path = os.path.join(self._state.path, _FOLDER, _BASELINE)
        if self._written is not None and _is_same(self._written[0], self._baseline):
            with suppress(FileNotFoundError):
                now, was = os.stat(path), self._written[1]
                if os.path.samestat(now, was) and now.st_mtime_ns == was.st_mtime_ns:
                    return
        self._state.put(_FOLDER, _BASELINE, self._baseline.encode())
        self._written = self._baseline, os.stat(path)

    def _start_watch(self) -> None:
        if self._watch is None:
            self._watch = GitWatch(self._root.fd, self.check)
        self._watch.follow(self._watched)


class _Seen:
    """The stamps of what is in a baseline and of what is missing from it: the quick way to see that nothing changed."""

    def __init__(self, root: int, baseline: Baseline) -> None:
        self._root = root
        self._whole, self._folders = baseline.paths()
        found = self._look()
        self._found = found if are_old(found[0]) else None

    def is_unchanged(self) -> bool:
        """Whether nothing has changed for sure."""
        return self._found is not None and self._look() == self._found

    def _look(self) -> tuple[list[Stamp | None], list[Stamp | None]]:
        identities = (one and one[:3] for one in take_stamps(self._root, self._folders))
        return take_stamps(self._root, self._whole), list(identities)


def _is_same(one: Baseline, other: Baseline) -> bool:
    if one is other:
        return True
    whole = [(baseline.repositories, baseline.crowded, baseline.entries.keys()) for baseline in (one, other)]
    return whole[0] == whole[1] and all(entry.same(other.entries[parts]) for parts, entry in one.entries.items())


_TOGETHER_S = 0.002  # changes that come so close to each other are looked at once
_POLL_S = 0.05  # where the kernel does not report changes
_LOOK_S = 1.0  # where it does: a file that is mapped into memory, or has a name elsewhere, changes unreported


class GitWatch:
    """Watches folders until it is closed; `changed` is called in its thread."""

    def __init__(self, root: int, changed: Callable[[], None]) -> None:
        """`root` is a descriptor of the workspace; it stays the caller's."""
        self._root = root
        self._changed = changed
        self._lock = threading.Lock()
        self._folders: Mapping[Parts, set[str] | None] = {}
        self._numbers: dict[int, Parts] = {}
        self._polls = False
        self._rests = True
        self._sleeps = False
        self._closed = False
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        try:
            self._watch: FolderWatch | None = FolderWatch()
        except OSError:
            self._watch = None
        self._thread = threading.Thread(target=self._live, name="toolroll git", daemon=True)
        self._thread.start()

    def follow(self, folders: Mapping[Parts, set[str] | None]) -> None:
        with self._lock:
            self._rests = False
            if folders != self._folders or self._polls:
                self._folders = folders
                self._add()
            if self._sleeps:
                self._sleeps = False
                os.write(self._waker, b"x")

    def rest(self) -> None:
        """Nothing runs any more; the folders stay watched for the next time."""
        self._rests = True

    def close(self) -> None:
        with self._lock:  # the thread lets go of the descriptors only after this
            if not self._closed:
                self._closed = True
                os.write(self._waker, b"x")
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _add(self) -> None:
        """Watch every folder that is there now; one that is watched already stays so."""
        self._polls = self._watch is None
        numbers = {}
        for parts in self._folders:
            try:
                with open_dir(self._root, parts) as path:
                    fd = os.open(".", LIST, dir_fd=path)
            except OSError:
                continue  # it is not there: the folder above is watched for it
            try:
                if self._watch is not None:
                    numbers[self._watch.add(fd, os.fstat(fd).st_dev)] = parts
            except OSError:
                self._polls = True  # too many watches, or a file system that does not report changes
            finally:
                os.close(fd)
        if self._watch is not None:
            for number in self._numbers.keys() - numbers.keys():
                self._watch.remove(number)
        self._numbers = numbers

    def _live(self) -> None:
        try:
            while not self._closed:
                reported = self._wait()
                if not self._closed and self._is_needed(reported):
                    with self._lock:
                        self._add()  # a folder may be another one now; it is watched before it is looked at
                    with suppress(OSError):  # a full disk: the end of the command says so, and the watch goes on
                        self._changed()
        finally:
            with self._lock:
                self._closed = True
                if self._watch is not None:
                    self._watch.close()
                os.close(self._wake)
                os.close(self._waker)

    def _wait(self) -> bool:
        """Wait for a change, or for the time to look without one; whether it was a change."""
        waiting = select.poll()
        waiting.register(self._wake, select.POLLIN)
        if self._watch is not None:
            waiting.register(self._watch.fd, select.POLLIN)
        if waiting.poll(1000 * (_POLL_S if self._polls else _LOOK_S)):
            time.sleep(_TOGETHER_S)
            return True
        with self._lock:
            self._sleeps = self._rests
        if self._sleeps:
            waiting.poll()
        return False

    def _is_needed(self, reported: bool) -> bool:
        """Whether it is time to look at the repository."""
        with suppress(BlockingIOError):
            os.read(self._wake, 1000)
        try:
            changes = {} if self._watch is None else self._watch.take()
        except EventsLostError:
            return True
        with self._lock:
            return not reported or any(self._matters(number, names) for number, names in changes.items())

    def _matters(self, number: int, names: Mapping[bytes, bool]) -> bool:
        if number not in self._numbers:
            return False
        wanted = self._folders.get(self._numbers[number], set())
        # The empty name is the folder itself, which is moved or gone.
        return wanted is None or any(not name or os.fsdecode(name) in wanted for name in names)
