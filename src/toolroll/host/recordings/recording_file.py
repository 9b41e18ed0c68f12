"""The file of a recording: whole lines, for its owner alone, signed; several processes may write."""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os

from toolroll.host.runtime import user_folders

_KEY, _KEY_BYTES = "recordings.key", 32
_SIGNED = b',"signature":"%b"}\n'
_DIGITS = 64
_TAIL = len(_SIGNED % b"") + _DIGITS


class RecordingFile:
    """A recording that is being written. Lines are appended whole, each signed together with all before it."""

    def __init__(self, path: str) -> None:
        """OSError where the file cannot be written, or the user's key cannot be kept."""
        self._key = read_key() or _make_key()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    @property
    def is_new(self) -> bool:
        return os.fstat(self._fd).st_size == 0

    def add(self, row: bytes, *, first: bool = False) -> None:
        """Write a JSON object as a line; `first`: unless another process has begun the file."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            if first and not self.is_new:
                return
            end = os.fstat(self._fd).st_size
            before = split_signature(os.pread(self._fd, _TAIL, max(0, end - _TAIL)))[1]
            rest = memoryview(row[:-1] + _SIGNED % sign(self._key, before, row))
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._fd)


def read_key() -> bytes:
    """The user's key for recordings; empty where there is none."""
    with contextlib.suppress(OSError), open(os.path.join(user_folders.state_dir(), _KEY), "rb") as file:
        return file.read()
    return b""


def _make_key() -> bytes:
    """A new key; that of another process if it was quicker."""
    path = os.path.join(user_folders.state_dir(), _KEY)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
    return read_key()


def sign(key: bytes, before: bytes, row: bytes) -> bytes:
    """The signature of a row after one with the signature `before`."""
    return hmac.digest(key, before + row, "sha256").hex().encode()


def split_signature(line: bytes) -> tuple[bytes, bytes]:
    """The row of a line, and its signature; that is empty where there is none."""
    signature = line[-_TAIL:][len(_SIGNED % b"") - 3 : -3]
    if len(line) < _TAIL or line[-_TAIL:] != _SIGNED % signature:
        return line.rstrip(b"\n"), b""
    return line[:-_TAIL] + b"}", signature


def is_beneath(path: str, folder: str) -> bool:
    """Whether a file would be in a folder, whatever links lead there."""
    top, above = os.stat(folder), os.path.dirname(os.path.abspath(path))
    while os.path.dirname(above) != above:
        if os.path.exists(above) and os.path.samestat(os.stat(above), top):
            return True
        above = os.path.dirname(above)
    return False
