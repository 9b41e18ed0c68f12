"""Trigram index in a database of the state folder. Several processes may use it.

Rows are never deleted: a changed file gets a new number, and the rows of the old one are ignored.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from toolroll.host.runtime.database import open_cache

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from toolroll.host.files.versions import Stamp

BINARY = 1
"""Kind of a binary file: it holds a NUL."""
ALWAYS = 2
"""Kind of a file without trigrams: it can match anything."""
FOLDED = 4
"""Kind of a file with a letter that matches "s" or "k" if case is ignored, which its trigrams do not show."""

MAX_MATCHES = 2_000
"""Files that are worth naming; more of them are searched as fast without the index."""

_FORMAT = 1
_TABLES = (
    "create table if not exists files (id integer primary key autoincrement, path blob unique, stamp text, kind int)",
    "create table if not exists made (one integer primary key, epoch int, times int)",
    "insert or ignore into made values (1, 0, 0)",
    "create virtual table if not exists runs using fts5("
    "text, tokenize='trigram', content='', detail=none, columnsize=0)",
)


class TooCommonError(Exception):
    """Too many files match."""


class IndexedFile(NamedTuple):
    """A file as it was indexed."""

    id: int
    stamp: Stamp
    kind: int


class Postings:
    """An open trigram index. Not thread-safe."""

    def __init__(self, path: str) -> None:
        """Opens or creates the database, and replaces a damaged one; OSError or sqlite3.Error if that fails."""
        self._base = open_cache(path, _prepare)
        self._state: tuple[int, int] = (-1, -1)
        self.known: dict[str, IndexedFile] = {}
        """Indexed files by path; updated by `news`."""
        self.always: set[str] = set()
        self.folded: set[str] = set()
        """Files of these kinds."""
        self._paths: dict[int, str] = {}
        self._last = 0
        self._news: set[str] | None = None

    def news(self) -> set[str] | None:
        """The paths that were indexed since the last call; None for all."""
        if self._made() != self._state:
            self._base.execute("begin")
            try:
                self._load()
            finally:
                self._base.execute("commit")
        found, self._news = self._news, set()
        return found

    def matching(self, query: str) -> set[str] | None:
        """The files whose trigrams match a query; None if something was written since `news`.

        TooCommonError if there are too many to be of use.
        """
        found = self._base.execute("select rowid from runs where runs match ?", (query,))
        rows = found.fetchmany(MAX_MATCHES + 1)
        found.close()
        if self._made() != self._state:  # checked afterwards, so that `known` and the result belong together
            return None
        if len(rows) > MAX_MATCHES:
            raise TooCommonError
        paths = self._paths
        return {paths[number] for (number,) in rows if number in paths}

    def close(self) -> None:
        self._base.close()

    def put(self, files: Iterable[tuple[str, Stamp, int, str]]) -> None:
        """Index files with stamp, kind and text, in one transaction."""
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
        """Rows written per indexed file."""
        last, count = self._base.execute("select coalesce(max(id), 0), count(*) from files").fetchone()
        return float(last / count) if count else 1.0

    def empty(self) -> None:
        """Remove all rows."""
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
