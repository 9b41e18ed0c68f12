"""Read-only mounts that all commands share, made once in a mount namespace that each command enters.

It stands in a mount namespace of its own that nothing but a descriptor holds, so it leaves nothing behind. Whatever of
the machine's mounts no command has a part in is not in there: bubblewrap reads the list of them again and again.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from toolroll.host.files.openat import PATH, STEP
from toolroll.host.files.system import DEV, DEVICES
from toolroll.host.runtime.launcher import is_beneath, outermost
from toolroll.host.sandbox.mount_plan import MountPlan, Part
from toolroll.host.sandbox.syscalls import Kernel, run_apart
from toolroll.result import ToolError

PLACE = "/sys/kernel"
"""Where it stands, in the namespace: a folder that every system has and no command has any part in."""

_NEW_MOUNTS, _OWN_FOLDER = 0x20000, 0x200  # CLONE_NEWNS, CLONE_FS
_NOSUID, _NODEV, _NOEXEC, _BIND, _ALL, _SLAVE, _PRIVATE = 2, 4, 8, 1 << 12, 1 << 14, 1 << 19, 1 << 18
_SET_READONLY, _SET_NOSUID, _SET_NODEV = 1, 2, 4
_HERE, _TREE, _DETACH, _NOFOLLOW = -100, 0x8000, 2, 8
_MOST = 4
_NAMESPACE = "/proc/thread-self/ns/mnt"
_MOUNTS = "/proc/thread-self/mountinfo"
_TERMINALS = f"{PLACE}{DEV}/pts"
_STREAMS = {name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))}
_LINKS = {"core": "/proc/kcore", "fd": "/proc/self/fd", "ptmx": "pts/ptmx", **_STREAMS}


class SharedMounts:
    """The parts of a view that are the same for many commands. Commands started on it go on when it is closed.

    It is as the machine was when it was made: ask `stands` before each command.
    """

    def __init__(self, kernel: Kernel, view: MountPlan, program: str) -> None:
        """One that `program` can be started on; OSError where we may not or cannot make it."""
        self._fixed = view.fixed
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._held: list[int] = []
        self._end = weakref.finalize(self, _close, self._held)
        try:
            self._changes = select.poll()
            self._changes.register(self._hold(_MOUNTS, os.O_RDONLY), select.POLLPRI)
            self._changes.poll(0)  # reports changes from here on
            for path, how in self._fixed:
                if _covers(path, how):
                    self._hold(path, PATH | os.O_NOFOLLOW)  # so that no other file is given its number
            self._seen = _seen(self._fixed)
            self._held.append(run_apart(lambda: _made(kernel, view, program)))
        except BaseException:
            self._end()
            raise

    def stands(self) -> bool:
        """Whether it would be made the same now: no mount was changed since, and none of its files replaced."""
        with self._lock:
            if not self._end.alive or self._process != os.getpid():  # a fork would hear of changes in our place
                return False
            return not self._changes.poll(0) and self._seen == _seen(self._fixed)

    def open(self) -> int:
        """A descriptor to enter it by, for the caller to close."""
        with self._lock:
            if not self._end.alive:
                raise OSError(errno.ESTALE, "what commands share was closed", PLACE)
            return os.dup(self._held[-1])

    def close(self) -> None:
        """Let no command enter it any more."""
        with self._lock:
            self._end()

    def _hold(self, path: str, flags: int) -> int:
        self._held.append(os.open(path, flags | os.O_CLOEXEC))
        return self._held[-1]


@contextmanager
def enter_mounts(kernel: Kernel, stage: int) -> Iterator[None]:
    """What the calling thread starts in the block sees the stage, with terminals of its own; then the thread is back.

    It must be one that ends with the command: from here on it does not follow when the process changes its folder.
    """
    with ExitStack() as stack:
        back = _opened(stack, _NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)
        folder = _opened(stack, ".", STEP)
        kernel.call("unshare", _OWN_FOLDER)
        stack.callback(os.fchdir, folder)
        stack.callback(kernel.call, "setns", back, _NEW_MOUNTS)
        kernel.call("setns", stage, _NEW_MOUNTS)
        kernel.call("unshare", _NEW_MOUNTS)  # for bubblewrap can mount terminals only with all the rest of /dev
        _mount(kernel, "devpts", _TERMINALS, _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666,mode=620")
        yield


class SharedMountsCache:
    """The stages of the views that commands have had last. Safe to use from many threads."""

    def __init__(self, kernel: Kernel, program: str, works: Callable[[int, MountPlan], bool]) -> None:
        """`program` is bubblewrap; `works` tries it on a new one, by its descriptor, in the calling thread."""
        self._kernel = kernel
        self._program = program
        self._works = works
        self._lock = threading.Lock()
        self._found: OrderedDict[MountPlan, SharedMounts | None] | None = OrderedDict()

    def open(self, view: MountPlan) -> int | None:
        """A descriptor of the stage for a view, for the caller to close.

        None where there cannot be one, and for the first command, which may be the only one.
        """
        with self._lock:
            if self._found is None:
                return None
            if view not in self._found:
                self._found[view] = None
                while len(self._found) > _MOST:
                    _end(self._found.popitem(last=False)[1])
                return None
            self._found.move_to_end(view)
            stage = self._found[view]
            if stage is not None and stage.stands():
                return stage.open()
            _end(stage)
            try:
                self._found[view] = stage = self._tried(SharedMounts(self._kernel, view, self._program), view)
                return stage.open()
            except (OSError, ToolError):  # not ours to make: then bubblewrap mounts everything for each command
                self._let_go()
                return None

    def close(self) -> None:
        """Let no command enter any of them any more."""
        with self._lock:
            self._let_go()

    def _tried(self, stage: SharedMounts, view: MountPlan) -> SharedMounts:
        fd = stage.open()
        try:
            if self._works(fd, view):
                return stage
        finally:
            os.close(fd)
        stage.close()
        raise OSError(errno.EPERM, "bubblewrap does not start there", PLACE)

    def _let_go(self) -> None:
        found, self._found = self._found, None
        for stage in (found or {}).values():
            _end(stage)


def _end(stage: SharedMounts | None) -> None:
    if stage is not None:
        stage.close()


def _opened(stack: ExitStack, path: str, flags: int) -> int:
    fd = os.open(path, flags)
    stack.callback(os.close, fd)
    return fd


def _close(held: list[int]) -> None:
    while held:
        os.close(held.pop())


def _covers(path: str, how: tuple[str, ...]) -> bool:
    """Whether a part is there to cover a secret."""
    return how in (("--tmpfs", path, "--remount-ro", path), ("--ro-bind-try", "/dev/null", path))


def _seen(fixed: Sequence[Part]) -> list[tuple[int, ...]]:
    """The identities of the mounted files: equal ones mean that none was replaced.

    What covers a secret is gone as soon as the name is taken from the file, even if it gets it back: see its ctime.
    """
    found: list[tuple[int, ...]] = []
    for path, how in fixed:
        if how[0] not in ("--symlink", "--dev"):
            try:
                now = os.stat(path)
            except OSError:
                found.append(())
            else:
                found.append((now.st_dev, now.st_ino, now.st_ctime_ns if _covers(path, how) else 0))
    return found


def _made(kernel: Kernel, view: MountPlan, program: str) -> int:
    """A descriptor of the namespace, in which the calling thread is from now on."""
    paths = [path for path, _ in (*view.fixed, *view.own)]
    if any(is_beneath(path, PLACE) or is_beneath(PLACE, path) for path in paths) or DEV not in dict(view.fixed):
        raise OSError(errno.EBUSY, "there is no place for it", PLACE)
    root = os.stat("/")
    kernel.call("unshare", _NEW_MOUNTS | _OWN_FOLDER)
    namespace = os.open(_NAMESPACE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        kernel.call("setns", namespace, _NEW_MOUNTS)
        if not os.path.samestat(root, os.stat("/")):  # nor could anybody come back from it to where we are
            raise OSError(errno.EXDEV, "the root is not that of the namespace", "/")
        os.umask(0)  # the thread's own
        _mount(kernel, "", "/", _SLAVE | _ALL)
        _leave_out(kernel, (os.path.dirname(program), *(path for path in paths if path != DEV), *DEVICES))
        _build(kernel, view.fixed, outermost(path for path, _ in view.own))
    except BaseException:
        os.close(namespace)
        raise
    return namespace


def _leave_out(kernel: Kernel, needed: Sequence[str]) -> None:
    """Take away the mounts that are neither on the way to what is needed nor inside it."""
    with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
        points = [line.split(" ", 5)[4] for line in file]
    for point in reversed(points):
        if "\\" in point or any(is_beneath(point, one) or is_beneath(one, point) for one in (*needed, PLACE)):
            continue
        with suppress(OSError):  # it went with another, or must stay: that only takes time
            kernel.call("umount2", os.fsencode(point) + b"\0", _DETACH | _NOFOLLOW)


def _build(kernel: Kernel, fixed: Sequence[Part], places: Sequence[str]) -> None:
    """Mount the parts, all of them read-only, and make the places for what comes on top of them."""
    _mount(kernel, "tmpfs", PLACE, _NOSUID | _NODEV, "mode=755")
    ground = os.stat(PLACE).st_dev
    for path, how in fixed:
        match how:
            case ("--symlink", target, _):
                _make(os.path.dirname(path), ground)
                os.symlink(target, PLACE + path)
            case ("--dev", _):
                _make(path, ground)
                _make_devices(kernel)
            case ("--tmpfs", *_):
                _mount(kernel, "tmpfs", PLACE + path, _NOSUID | _NODEV, "mode=755")
            case ("--ro-bind-try", source, _) if os.path.exists(source):
                _make(path, ground, folder=os.path.isdir(source))
                _mount(kernel, source, PLACE + path, _BIND | _ALL)
    for path in places:
        _make(path, ground)
    _set(kernel, PLACE, _SET_READONLY | _SET_NOSUID | _SET_NODEV, how=_TREE)
    _set(kernel, PLACE + DEV, 0, _SET_NODEV)


def _make(path: str, ground: int, *, folder: bool = True) -> None:
    """Make a path on the stage and the way to it; OSError where that would be in one of the parts, or by a link."""
    at = PLACE
    steps = path.split("/")[1:]
    for last, step in zip((*[False] * (len(steps) - 1), True), steps, strict=True):
        above, at = at, f"{at}/{step}"
        try:
            if stat.S_ISLNK(os.lstat(at).st_mode):
                raise OSError(errno.ELOOP, "a link is on the way", at)
        except FileNotFoundError:
            if os.stat(above).st_dev != ground:
                raise
            if last and not folder:
                os.mknod(at, stat.S_IFREG | 0o444)
            else:
                os.mkdir(at, 0o700)


def _make_devices(kernel: Kernel) -> None:
    """The devices that bubblewrap gives a command too; its terminals and its shared memory are its own."""
    _mount(kernel, "tmpfs", PLACE + DEV, _NOSUID, "mode=755")
    for path in DEVICES:
        os.mknod(PLACE + path, stat.S_IFCHR | 0o666, os.stat(path).st_rdev)
    for name, target in _LINKS.items():
        os.symlink(target, f"{PLACE}{DEV}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{PLACE}{DEV}/{name}", 0o755)


def _mount(kernel: Kernel, source: str, where: str, flags: int, data: str = "") -> None:
    """Mount a kind of file system, or with `_BIND` a path."""
    first, second, options = (os.fsencode(word) + b"\0" for word in (source, where, data))
    kernel.call("mount", first, second, first, flags, options)


def _set(kernel: Kernel, where: str, on: int, off: int = 0, *, how: int = 0) -> None:
    """Change what a mount allows, and let no later mount of the machine come into it."""
    attributes = struct.pack("4Q", on, off, _PRIVATE, 0)
    kernel.call("mount_setattr", _HERE, os.fsencode(where) + b"\0", how, attributes, len(attributes))
