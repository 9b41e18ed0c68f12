"""What commands see, mounted once by our own process and copied for each of them. For root.

Bubblewrap reads the table of mounts again for every mount that it makes, which are some dozens. So the mounts that are
the same for many commands are made once, in a namespace of their own. A command gets a copy of it, in which its own
folders are added, and bubblewrap takes all of that by one mount.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple
from weakref import finalize

from toolroll.host.files.system import DEV, DEVICES, PROC
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.sandbox.mount_plan import split_words
from toolroll.host.sandbox.syscalls import run_apart

if TYPE_CHECKING:
    from toolroll.host.sandbox.syscalls import Kernel

_HERE = "/proc/thread-self/ns/mnt"
_OWN_FOLDER, _NEW_MOUNTS = 0x200, 0x20000  # CLONE_FS, CLONE_NEWNS
_PRIVATE, _ALL_BENEATH = 1 << 18, 0x4000  # MS_PRIVATE, MS_REC
_DETACH = 2
_FROM_CWD = -100  # AT_FDCWD
_BY_DESCRIPTOR, _RECURSIVE = 0x1000, 0x8000  # AT_EMPTY_PATH, AT_RECURSIVE
_CLONE = 1 | os.O_CLOEXEC | _RECURSIVE  # OPEN_TREE_CLONE
_ATTACH = 4  # MOVE_MOUNT_F_EMPTY_PATH
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8  # of `mount` and of `mount_setattr`
_TERMINALS = f"{DEV}/pts"
_DEV_WORDS = (
    *("--tmpfs", DEV),
    *(word for path in DEVICES for word in ("--dev-bind", path, path)),
    *(
        word
        for at, name in enumerate(("in", "out", "err"))
        for word in ("--symlink", f"{PROC}/self/fd/{at}", f"{DEV}/std{name}")
    ),
    *("--symlink", f"{PROC}/self/fd", f"{DEV}/fd", "--symlink", f"{PROC}/kcore", f"{DEV}/core"),
    *("--symlink", "pts/ptmx", f"{DEV}/ptmx"),
)


class _Step(NamedTuple):
    """One option of bubblewrap; `tree` is a descriptor of what is to be mounted, or -1."""

    option: str
    source: str
    target: str
    data: str
    tree: int


class PreparedMounts:
    """A namespace of mounts, made once and copied for each command."""

    def __init__(self, kernel: Kernel, words: Sequence[str], places: Sequence[str]) -> None:
        """It has the mounts of these words of bubblewrap, and folders where each command mounts its own.

        OSError where it cannot be made.
        """
        self._kernel = kernel
        self._fd, top = run_apart(lambda: self._make(words, places))
        finalize(self, os.close, self._fd)
        if run_apart(self._find_tops) != (top, _identity("/")):
            raise OSError(0, "the root of this process is not that of its namespace", "/")

    def _make(self, words: Sequence[str], places: Sequence[str]) -> tuple[int, tuple[int, int]]:
        """A descriptor of a new namespace, in which the calling thread is from now on, and its root."""
        call = self._kernel.call
        call("unshare", _NEW_MOUNTS)
        call("mount", b"none\0", b"/\0", 0, _ALL_BENEATH | _PRIVATE, 0)
        with ExitStack() as stack:
            steps = list(self._open(words, stack))
            self._mount_new("tmpfs", "/tmp", "mode=0755")
            os.chdir("/tmp")  # of this thread alone
            call("pivot_root", b".\0", b".\0")
            call("umount2", b".\0", _DETACH)
            os.chdir("/")
            self._run(steps, make=True)
            for path in (_TERMINALS, *places):
                os.makedirs(path, exist_ok=True)
            for path in (DEV, "/"):
                self._set(_FROM_CWD, path, _READ_ONLY)
            return os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC), _identity("/")

    def _find_tops(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """What is the root for a thread that has entered, and when it is back."""
        with self.enter((), ()):
            inside = _identity("/")
        return inside, _identity("/")

    @contextmanager
    def enter(self, folders: Sequence[str], inner: Sequence[str], alias: tuple[str, str] = ("", "")) -> Iterator[None]:
        """What the calling thread starts in the block has these mounts, and those of the words; it is back after that.

        `folders` are words whose mount points are made where they are missing, and `inner` those inside them. `alias`
        is a folder with all that is in it, and a second path for it.

        It must be a thread that has begun for this: it keeps a working folder of its own.
        """
        call = self._kernel.call
        with ExitStack() as stack:
            steps, others = list(self._open(folders, stack)), list(self._open(inner, stack))
            call("unshare", _OWN_FOLDER)
            back = stack.enter_context(closing_fd(os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)))
            try:
                call("setns", self._fd, _NEW_MOUNTS)
                call("unshare", _NEW_MOUNTS)
                self._mount_new("devpts", _TERMINALS, "newinstance,ptmxmode=0666,mode=620", _NO_SETUID | _NO_EXEC)
                self._run(steps, make=True)
                self._run(others, make=False)
                if alias[1]:
                    os.makedirs(alias[1], exist_ok=True)
                    self._attach(stack.enter_context(closing_fd(self._clone(alias[0]))), alias[1])
                yield
            finally:
                call("setns", back, _NEW_MOUNTS)

    def _open(self, words: Iterable[str], stack: ExitStack) -> Iterator[_Step]:
        """What the words say, with descriptors of what they mount, which are closed with the stack."""
        data = {"--perms": "0755"}
        for option, values in split_words(words):
            if option in ("--perms", "--size"):
                data[option] = values[0]
            elif option == "--dev":
                yield from self._open(_DEV_WORDS, stack)
            else:
                source, target = PROC if option == "--proc" else values[0], values[-1]
                text = ",".join(
                    f"{name}={data[key]}" for key, name in (("--perms", "mode"), ("--size", "size")) if key in data
                )
                tree = -1
                if "bind" in option or option == "--proc":
                    try:
                        tree = stack.enter_context(closing_fd(self._open_tree(option, source)))
                    except FileNotFoundError:
                        if option.endswith("-try"):
                            continue
                        raise
                yield _Step(option, source, target, text, tree)
                data = {"--perms": "0755"}

    def _open_tree(self, option: str, source: str) -> int:
        """A descriptor of a copy of what is there, with the rights that bubblewrap would give it."""
        by_descriptor = option.endswith("-fd")
        tree = self._clone("" if by_descriptor else source, int(source) if by_descriptor else _FROM_CWD)
        try:
            rights = _NO_SETUID | (0 if option == "--dev-bind" else _NO_DEVICES)
            self._set(tree, "", rights | (_READ_ONLY if option.startswith("--ro-") else 0))
        except BaseException:
            os.close(tree)
            raise
        return tree

    def _clone(self, path: str, at: int = _FROM_CWD) -> int:
        return self._kernel.call("open_tree", at, _path(path), _CLONE | (0 if path else _BY_DESCRIPTOR))

    def _run(self, steps: Iterable[_Step], *, make: bool) -> None:
        for one in steps:
            if one.option == "--remount-ro":
                self._set(_FROM_CWD, one.target, _READ_ONLY)
                continue
            if make and one.option == "--symlink":
                os.makedirs(os.path.dirname(one.target), exist_ok=True)
                os.symlink(one.source, one.target)
                continue
            if make and not os.path.lexists(one.target):
                _make_place(one)
            if one.option == "--tmpfs":
                self._mount_new("tmpfs", one.target, one.data)
            else:
                self._attach(one.tree, one.target)

    def _attach(self, tree: int, target: str) -> None:
        self._kernel.call("move_mount", tree, b"\0", _FROM_CWD, _path(target), _ATTACH)

    def _mount_new(self, kind: str, target: str, data: str, flags: int = _NO_SETUID | _NO_DEVICES) -> None:
        name = _path(kind)
        self._kernel.call("mount", name, _path(target), name, flags, _path(data))

    def _set(self, at: int, path: str, rights: int) -> None:
        """Take rights from a mount; from a whole tree, which then is also private, if that is `at`."""
        whole = _BY_DESCRIPTOR | _RECURSIVE if not path else 0
        given = struct.pack("=4Q", rights, 0, 0 if path else _PRIVATE, 0)
        self._kernel.call("mount_setattr", at, _path(path), whole, given, len(given))


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _make_place(step: _Step) -> None:
    """Make what a step mounts upon."""
    if step.tree < 0 or stat.S_ISDIR(os.fstat(step.tree).st_mode):
        os.makedirs(step.target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(step.target), exist_ok=True)
        os.close(os.open(step.target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o444))


def _path(text: str) -> bytes:
    return os.fsencode(text) + b"\0"
