"""Fill the index in a child process of the lowest priority, which ends with its parent."""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from toolroll.host.files.versions import SETTLED_NS, Stamp, stamp_of
from toolroll.host.runtime.launcher import PIPE, AccessRules, ChildProcess, Launcher, module_paths, wait_for
from toolroll.host.runtime.state import create_nameless_file
from toolroll.host.search.in_process import FOLDING_SIGNS, is_binary
from toolroll.host.search.index.postings import ALWAYS, BINARY, FOLDED, Postings
from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.host.files.root import Root

TEXT_BYTES = 2_000_000
"""Larger files are not indexed; they are searched each time."""

_BATCH_FILES = 200
_MAX_BATCH_S = 1.0  # after which a batch is written, however small
_MAX_WASTE = 2.5  # rows written per file, after which the index starts again
_BLOCK = 1 << 20
_CHILD = (
    "import sys; sys.path[:] = sys.argv[5:]; from toolroll.host.search.index.builder import serve; "
    "serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))"
)


class IndexBuilder:
    """Runs one child at a time for the index of one workspace."""

    def __init__(self, root: Root, index: str, most_bytes: int, launcher: Launcher) -> None:
        self._root = root
        self._launcher = launcher
        self._index = index
        self._most_bytes = most_bytes
        self._child: ChildProcess | None = None

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self, paths: Iterable[str]) -> None:
        """Index these files; ToolError if no child can be started."""
        self.close()
        names = create_nameless_file(b"\0".join(map(os.fsencode, paths)))
        given = [self._root.path, self._index, str(names), str(self._most_bytes)]
        reach = AccessRules((os.path.dirname(self._index),), (self._root.path,))
        try:
            # The child ends when this pipe closes.
            self._child = self._launcher.start_python(
                _CHILD, [*given, *module_paths()], reach, stdin=PIPE, pass_fds=(names,)
            )
        finally:
            os.close(names)

    def wait(self, seconds: float) -> bool:
        """Whether the child ends within `seconds`."""
        return self._child is None or wait_for(self._child, seconds) is not None

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            if child.stdin is not None:
                child.stdin.close()


def serve(workspace: str, index: str, names: int, most_bytes: int) -> None:
    """In the child: index the files that are listed in the descriptor `names`, unless another child does that."""
    from toolroll.host.files.root import Root

    os.nice(19)
    with open(names, "rb") as source:
        paths = [os.fsdecode(name) for name in source.read().split(b"\0") if name]
    lock = os.open(f"{index}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    with Root(workspace) as root:
        fill(Postings(index), root, paths, most_bytes)


def fill(postings: Postings, root: Root, paths: Iterable[str], most_bytes: int) -> None:
    """Index files. Leaves out those that cannot be read or have just changed."""
    if postings.wasted() > _MAX_WASTE:
        postings.empty()
    batch: list[tuple[str, Stamp, int, str]] = []
    began = time.monotonic()
    for one in _alive(_read(root, path, most_bytes) for path in paths):
        if one is not None:
            batch.append(one)
        if len(batch) >= _BATCH_FILES or time.monotonic() - began > _MAX_BATCH_S:
            postings.put(batch)
            batch, began = [], time.monotonic()
    postings.put(batch)
    postings.close()


def _alive(
    files: Iterator[tuple[str, Stamp, int, str] | None],
) -> Iterator[tuple[str, Stamp, int, str] | None]:
    """The same files, until the parent closes our stdin."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    for one in files:
        if any(event & select.POLLHUP for _, event in poll.poll(0)):
            return
        yield one


def _read(root: Root, path: str, most_bytes: int) -> tuple[str, Stamp, int, str] | None:
    try:
        fd = root.file(path)
    except (OSError, ToolError):
        return None
    try:
        before, now = stamp_of(os.fstat(fd)), time.time_ns()
        if max(before[3], before[4]) > now - SETTLED_NS or before[2] > most_bytes:
            return None
        kind, text = _kind(fd, before[2])
        return (path, before, kind, text) if stamp_of(os.fstat(fd)) == before else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _kind(fd: int, size: int) -> tuple[int, str]:
    """The kind of a file, and the text to index."""
    if size > TEXT_BYTES:
        return ALWAYS | (BINARY if is_binary(fd) else 0), ""
    data = b""
    while block := os.read(fd, _BLOCK):
        data += block
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ALWAYS | (BINARY if is_binary(fd) else 0), ""
    kind = FOLDED if any(sign in data for sign in FOLDING_SIGNS) else 0
    if b"\0" in data:
        return kind | BINARY, data.replace(b"\0", b"\n").decode("latin-1")
    return kind, data.decode("latin-1")
