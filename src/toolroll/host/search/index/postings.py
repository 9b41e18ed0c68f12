"""Which files hold which runs of three letters, in a database of the state folder. Several processes may use it.

It is never deleted from: a file that has changed gets a new number, and what belongs to the old one is passed over.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from toolroll.host.files.versions import Stamp

BINARY = 1
"""A file that holds a NUL, which a search passes over."""
ALWAYS = 2
"""A file whose runs are not kept: it may match anything."""
FOLDED = 4
"""A file that holds a letter which is an "s" or a "k" to those who ignore case, though its runs do not tell."""

MOST = 2_000
"""Files that are worth naming; more of them are searched as quickly without."""

_FORMAT = 1
_WAIT = 5.0  # seconds for another process that writes
_TABLES = (
    "create table if not exists files (id integer primary key autoincrement, path blob unique, stamp text, kind int)",
    "create table if not exists made (one integer primary key, epoch int, times int)",
    "insert or ignore into made values (1, 0, 0)",
    "create virtual table if not exists runs using fts5("
    "text, tokenize='trigram', content='', detail=none, columnsize=0)",
)


class CommonError(Exception):
    """Too many files fit."""


class IndexedFile(NamedTuple):
    """What is known of a file."""

    id: int
    stamp: Stamp
    kind: int


class Postings:
    """The database, open until it is closed. Not for several threads at a time."""

    def __init__(self, path: str) -> None:
        """OSError or sqlite3.Error where there cannot be one; one that is broken is made anew."""
        self._base = _opened(path)
        self._state: tuple[int, int] = (-1, -1)
        self.known: dict[str, IndexedFile] = {}
        """By path; kept up by `matching` and `news`."""
        self.always: set[str] = set()
        self.folded: set[str] = set()
        """Those of these kinds."""
        self._paths: dict[int, str] = {}
        self._last = 0
        self._news: set[str] | None = None

    def news(self) -> set[str] | None:
        """The paths of which more has become known since it was last asked; None for all of them."""
        if self._made() != self._state:
            self._base.execute("begin")
            try:
                self._load()
            finally:
                self._base.execute("commit")
        found, self._news = self._news, set()
        return found

    def matching(self, query: str) -> set[str] | None:
        """The files of which the kept runs fit a query; None if something was written since `news`.

        CommonError if there are so many that it is no use to know them.
        """
        found = self._base.execute("select rowid from runs where runs match ?", (query,))
        rows = found.fetchmany(MOST + 1)
        found.close()
        if self._made() != self._state:  # asked afterwards: then what is known and what was found belong together
            return None
        if len(rows) > MOST:
            raise CommonError
        paths = self._paths
        return {paths[number] for (number,) in rows if number in paths}

    def close(self) -> None:
        self._base.close()

    def put(self, files: Iterable[tuple[str, Stamp, int, str]]) -> None:
        """Keep files with their state, kind and text, in one transaction."""
        self._base.execute("begin immediate")
        try:
            for path, stamp, kind, text in files:
                number = self._base.execute(
                    "insert or replace into files (path, stamp, kind) values (?, ?, ?)",
                    (os.fsencode(path), " ".join(map(str, stamp)), kind),
                ).lastrowid
                if text:
                    self._base.execute("insert into runs (rowid, text) values (?, ?)", (number, text))
            self._base.execute("update made set times = times + 1")
        except BaseException:
            self._base.execute("rollback")
            raise
        self._base.execute("commit")

    def wasted(self) -> float:
        """How many numbers were given for each file that is kept."""
        last, count = self._base.execute("select coalesce(max(id), 0), count(*) from files").fetchone()
        return float(last / count) if count else 1.0

    def empty(self) -> None:
        """Forget everything."""
        self._base.execute("begin immediate")
        self._base.execute("drop table runs")
        self._base.execute("delete from files")
        self._base.execute("delete from sqlite_sequence")
        self._base.execute(_TABLES[-1])
        self._base.execute("update made set epoch = epoch + 1, times = times + 1")
        self._base.execute("commit")

    def _made(self) -> tuple[int, int]:
        epoch, times = self._base.execute("select epoch, times from made").fetchone()
        return epoch, times

    def _load(self) -> None:
        made = self._made()
        if made[0] != self._state[0]:
            self.known, self.always, self.folded = {}, set(), set()
            self._paths, self._last, self._news = {}, 0, None
        self._state = made
        rows = self._base.execute("select id, path, stamp, kind from files where id > ? order by id", (self._last,))
        for number, name, stamp, kind in rows:
            path = os.fsdecode(name)
            before = self.known.get(path)
            if before is not None:
                del self._paths[before.id]
            dev, ino, size, modified, changed = map(int, stamp.split())
            self.known[path] = IndexedFile(number, (dev, ino, size, modified, changed), kind)
            self._paths[number] = path
            (self.always.add if kind & ALWAYS else self.always.discard)(path)
            (self.folded.add if kind & FOLDED else self.folded.discard)(path)
            self._last = number
            if self._news is not None:
                self._news.add(path)


def _opened(path: str) -> sqlite3.Connection:
    import sqlite3

    for again in (True, False):
        with suppress(FileExistsError):  # nobody else's to read; what belongs to it gets the same mode
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        base = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            base.execute("pragma journal_mode=wal")
            base.execute("pragma synchronous=normal")
            _prepare(base)
            return base
        except sqlite3.OperationalError:
            base.close()
            raise
        except sqlite3.DatabaseError:
            base.close()
            if not again:
                raise
            remove(path)
    raise AssertionError


def remove(path: str) -> None:
    """Delete a database, which is made anew when it is opened next. Who has it open keeps what was there."""
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def _prepare(base: sqlite3.Connection) -> None:
    import sqlite3

    (version,) = base.execute("pragma user_version").fetchone()
    if version not in (0, _FORMAT):
        raise sqlite3.DatabaseError("another format")
    if version != _FORMAT:
        base.execute("begin immediate")
        for text in _TABLES:
            base.execute(text)
        base.execute(f"pragma user_version = {_FORMAT}")
        base.execute("commit")
