"""SQLite databases in the state folder: created on first use, shared by several processes, changed in transactions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import hold_lock
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError

if TYPE_CHECKING:
    import sqlite3

_ODD = ("SQLITE_ERROR", "")  # a table that is not there or is another one, a text that is none
_BUSY_SECONDS = 10.0  # for another program that holds the database without our lock
_CACHE_SECONDS = 5.0  # for another process that writes to a cache
_BROKEN = "The file of the {what} is broken. Go on without, and tell the user to move away {path!r}."
_AGAIN = "The file of the {what} was broken and is gone: its contents are rebuilt. Try again."
_KINDS = {
    "SQLITE_BUSY": (ErrorCode.TIMEOUT, "Another program holds the {what}. Try again."),
    "SQLITE_READONLY": (ErrorCode.PERMISSION, "The {what} may not be changed here. Go on without."),
    "SQLITE_CANTOPEN": (ErrorCode.PERMISSION, "The {what} cannot be opened. Go on without."),
    "SQLITE_NOTADB": (ErrorCode.IO, _BROKEN),
    "SQLITE_CORRUPT": (ErrorCode.IO, _BROKEN),
}


def open_cache(path: str, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    """A database of what can be made again, which stays open; any thread may use it. A damaged one is replaced.

    `prepare` creates its tables. OSError or sqlite3.Error if it cannot be opened.
    """
    import sqlite3

    with suppress(FileExistsError):  # private; its journal gets the same mode
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        return _open_shared(path, prepare)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        remove_cache(path)
        return _open_shared(path, prepare)


def _open_shared(path: str, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    import sqlite3

    base = sqlite3.connect(path, timeout=_CACHE_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        base.execute("pragma journal_mode=wal")
        base.execute("pragma synchronous=normal")
        prepare(base)
    except BaseException:
        base.close()
        raise
    return base


def remove_cache(path: str) -> None:
    """Delete a database. A process that has it open keeps its content."""
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)


class Database:
    """One file with tables. It is opened on use, and nothing stays open."""

    def __init__(
        self, state: State, token: CancelToken, what: str, *versions: Sequence[str], derived: bool = False
    ) -> None:
        """`what` names it, in messages and on disk; each of `versions` holds statements that upgrade the one before.

        A broken file is deleted if the database is `derived` from other data.
        """
        self._state = state
        self._token = token
        self._what = what
        self._versions = versions
        self._derived = derived
        self.path = os.path.join(state.path, what, f"{what}.sqlite")

    def under(self, token: CancelToken) -> Database:
        """The same database for work under another token."""
        return Database(self._state, token, self._what, *self._versions, derived=self._derived)

    @property
    def exists(self) -> bool:
        return os.path.exists(self.path)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction: all changes are made, or none."""
        with self.connect() as base:
            base.execute("begin immediate")
            try:
                yield base
            except BaseException:
                base.rollback()
                raise
            base.commit()

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """An open connection, exclusively; waiting for it can be cancelled. Creates the tables once."""
        import sqlite3

        folder = self._state.folder(self._what)
        with hold_lock(folder, "lock", self._token):
            with suppress(FileExistsError):  # private; its journal gets the same mode
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(os.path.basename(self.path), flags, 0o600, dir_fd=folder))
            try:
                with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)) as base:
                    # Access is exclusive, and a write-ahead log would be created and removed by every connection.
                    base.execute("pragma journal_mode=delete")
                    base.execute("pragma synchronous=full")
                    self._prepare(base)
                    yield base
            except sqlite3.Error as error:
                if (known := self._translate(error)) is None:
                    raise
                if self._derived and known.code is ErrorCode.IO:
                    os.unlink(self.path)
                raise known from error

    def _prepare(self, base: sqlite3.Connection) -> None:
        (version,) = base.execute("pragma user_version").fetchone()
        if version > len(self._versions):
            raise ToolError(
                ErrorCode.UNSUPPORTED,
                f"A newer toolroll has written the {self._what}. Go on without, or update it.",
            )
        if version < len(self._versions):
            base.execute("begin immediate")
            for texts in self._versions[version:]:
                for text in texts:
                    base.execute(text)
            base.execute(f"pragma user_version = {len(self._versions)}")
            base.commit()

    def _translate(self, error: sqlite3.Error) -> ToolError | None:
        """The error as a ToolError; None for one that a model cannot act on, such as a full disk."""
        import sqlite3

        name = getattr(error, "sqlite_errorname", "") or ""
        if isinstance(error, sqlite3.OperationalError) and name in _ODD:
            name = "SQLITE_CORRUPT"
        for kind, (code, message) in _KINDS.items():
            if name.startswith(kind):
                text = _AGAIN if self._derived and message is _BROKEN else message
                return ToolError(code, text.format(what=self._what, path=self.path), details={"error": str(error)})
        return None
