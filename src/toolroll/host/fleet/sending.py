"""A frozen base on its way to a node: packed here, named by its content, and unpacked once in the cache of the node."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
import tarfile
import tempfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import msgspec

from toolroll.host.files.copies import remove_tree
from toolroll.host.files.system import real
from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.forks.place import STATE, sweep
from toolroll.host.runtime.user_folders import cache_dir

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_LOCK, _FILES = "lock", "files"


class BaseOffer(msgspec.Struct, frozen=True):
    """What a base is called: a digest of its content, the folder where it was prepared, and the size of its archive."""

    digest: str
    folder: str
    size: int


class PackedBase:
    """The archive of a frozen base, in a file without a name. `close` removes it."""

    def __init__(self, base: FrozenCopy) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(dir=os.path.dirname(base.state))  # noqa: SIM115 - `close` closes it
        with (
            gzip.GzipFile(fileobj=self.file, filename="", mode="wb", compresslevel=1, mtime=0) as whole,
            tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            tar.add(base.path, ".", filter=_describe)
        size = self.file.tell()
        self.file.seek(0)
        digest = hashlib.file_digest(self.file, "sha256").hexdigest()[:32]
        self.offer = BaseOffer(digest, real(base.path) or base.path, size)

    def copy_to(self, target: SupportsWrite[bytes]) -> None:
        """Write the archive; several threads may do so at once."""
        at = 0
        while data := os.pread(self.file.fileno(), 1 << 20, at):
            target.write(data)
            at += len(data)

    def close(self) -> None:
        self.file.close()


def _describe(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the owner, who is another one on the node, and the time of a link, which no copy keeps."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0 if info.issym() else info.mtime
    return info


class NodeBase:
    """A base that was sent to this machine. Processes share it by its digest, and the last one to close removes it.

    What killed processes left is removed when the next base is opened.
    """

    def __init__(self, offer: BaseOffer) -> None:
        self._folder = os.path.join(cache_dir(), "bases", offer.digest)
        while not self._hold():
            pass  # the last process that used it has just removed it
        sweep(os.path.dirname(self._folder))
        self.path = os.path.join(self._folder, _FILES, os.path.basename(offer.folder))
        self.state = os.path.join(self._folder, STATE)

    def _hold(self) -> bool:
        path = os.path.join(self._folder, _LOCK)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            return False
        fcntl.flock(self._held, fcntl.LOCK_SH)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(self._held)):
                return True
        os.close(self._held)
        return False

    @property
    def is_here(self) -> bool:
        """Whether some process has unpacked it."""
        return os.path.isdir(self.path)

    def unpack(self, archive: IO[bytes]) -> None:
        """Read the archive of a `PackedBase` and put the files in their place, unless they are there."""
        new = tempfile.mkdtemp(prefix="new-", dir=self._folder)
        with tarfile.open(fileobj=archive, mode="r|gz") as tar:
            tar.extraction_filter = lambda member, _: member  # links and modes as they are: the archive is our own
            tar.extractall(os.path.join(new, os.path.basename(self.path)))
        with suppress(OSError):  # another process was first
            os.rename(new, os.path.join(self._folder, _FILES))
            return
        remove_tree(new)

    def close(self) -> None:
        """Remove it, unless another process uses it."""
        with suppress(BlockingIOError):
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(self._folder)
        os.close(self._held)
        with suppress(OSError):
            os.rmdir(os.path.dirname(self._folder))
