"""The running console of the user: one at a time, its port and token in a private file, and a page that opens it."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.file_lock import open_lock, take_lock
from toolroll.host.runtime.user_sockets import run_folder

_LOCK, _RECORD, _PAGE = "console.lock", "console.json", "console.html"
_WAIT_S, _RETRY_S, _CLAIM_TRIES = 5.0, 0.02, 5
_HTML = """\
<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>toolroll console</title>
<meta http-equiv="refresh" content="0; url={link}"><p><a href="{link}">Open the toolroll console</a></p>
"""


class ConsoleRecord(msgspec.Struct, frozen=True):
    """Where the running console is, and the token that its API needs."""

    port: int
    token: str
    pid: int

    @property
    def url(self) -> str:
        """The address without the token."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def link(self) -> str:
        """The address with the token: for the terminal of the user alone."""
        return f"{self.url}#token={self.token}"


def redirect_page() -> str:
    """The path of the page that opens the console: so no argument list holds the token."""
    return os.path.join(run_folder(), _PAGE)


@contextmanager
def claim_console() -> Iterator[bool]:
    """Yield whether this process is the console of the user now; what it publishes is removed in the end."""
    with _open_lock() as lock:
        tries = _CLAIM_TRIES  # another process may be looking whether the lock is free
        while not (claimed := take_lock(lock)) and (tries := tries - 1):
            time.sleep(_RETRY_S)
        if claimed:
            _remove()  # of a console that was killed
        try:
            yield claimed
        finally:
            if claimed:
                _remove()


def publish_console(record: ConsoleRecord) -> None:
    """Write the files of the console that this process has claimed."""
    _write(_PAGE, _HTML.format(link=record.link).encode())
    _write(_RECORD, msgspec.json.encode(record))


def find_console() -> ConsoleRecord | None:
    """The console that runs; None if there is none. Waits for one that is just starting."""
    end = time.monotonic() + _WAIT_S
    while _is_claimed() and time.monotonic() < end:
        with suppress(OSError, msgspec.MsgspecError), open(os.path.join(run_folder(), _RECORD), "rb") as file:
            return msgspec.json.decode(file.read(), type=ConsoleRecord)
        time.sleep(_RETRY_S)
    return None


def stop_console(record: ConsoleRecord) -> bool:
    """Ask the running console to end; whether it has ended."""
    with suppress(ProcessLookupError):
        os.kill(record.pid, signal.SIGTERM)
    end = time.monotonic() + _WAIT_S
    while (claimed := _is_claimed()) and time.monotonic() < end:
        time.sleep(_RETRY_S)
    return not claimed


def _is_claimed() -> bool:
    with _open_lock() as lock:
        return not take_lock(lock, fcntl.LOCK_SH)


@contextmanager
def _open_lock() -> Iterator[int]:
    with (
        closing_fd(os.open(run_folder(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as folder,
        closing_fd(open_lock(folder, _LOCK)) as lock,
    ):
        yield lock


def _write(name: str, data: bytes) -> None:
    """Create a file of the run folder for this user alone; never through a link."""
    path = os.path.join(run_folder(), name)
    draft = f"{path}.{os.getpid()}"
    with suppress(FileNotFoundError):
        os.unlink(draft)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    os.replace(draft, path)


def _remove() -> None:
    for name in (_RECORD, _PAGE):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(run_folder(), name))
