"""Cache of file facts by content, in a database of the state folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolroll.host.files.versions import Stamp
from toolroll.host.runtime.database import open_cache
from toolroll.text.code.map.file_facts import FORMAT, FileFacts
from toolroll.text.encoding import is_unicode

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.runtime.state import State

_MAX_SPARE_ROWS = 2_000  # rows of deleted files that are kept, as they may come back
_MAX_KEYS = 500  # in one query
# The names on disk are those of earlier versions, so that their caches stay valid.
_TABLES = (
    "create table if not exists sheets (key blob primary key, data blob not null) without rowid",
    "create table if not exists places (path text primary key, stamp text not null, key blob not null) without rowid",
)


class FactStore:
    """File facts by the digest of the file. It is only a cache: facts that cannot be kept are made again."""

    def __init__(self, state: State) -> None:
        self._state = state

    def places(self) -> dict[str, tuple[Stamp, bytes]]:
        """The last known stamp of each path, and the key of its facts."""
        rows = self._query("select path, stamp, key from places")
        return {path: (_read(stamp), key) for path, stamp, key in rows}

    def get(self, keys: Iterable[bytes]) -> dict[bytes, FileFacts]:
        import msgspec

        wanted = list(dict.fromkeys(keys))
        decoder = msgspec.msgpack.Decoder(FileFacts)
        found = {}
        for at in range(0, len(wanted), _MAX_KEYS):
            part = wanted[at : at + _MAX_KEYS]
            for key, data in self._query(f"select * from sheets where key in ({','.join('?' * len(part))})", part):
                with suppress(msgspec.MsgspecError):  # a damaged row counts as missing
                    found[key] = decoder.decode(data)
        return found

    def put(self, packed: Mapping[bytes, bytes], places: Mapping[str, tuple[Stamp, bytes]]) -> None:
        """Keep packed facts by key, and the stamp and key of each path."""
        rows = [(path, " ".join(map(str, stamp)), key) for path, (stamp, key) in places.items() if is_unicode(path)]
        self._change(
            ("insert or ignore into sheets values (?, ?)", list(packed.items())),
            ("insert or replace into places values (?, ?, ?)", rows),
        )

    def tidy(self, paths: Iterable[str]) -> None:
        """Delete rows of paths that do not exist any more, if there are many. `paths` are all that exist."""
        gone = {path for (path,) in self._query("select path from places")}.difference(paths)
        if len(gone) > _MAX_SPARE_ROWS:
            self._change(("delete from places where path = ?", [(path,) for path in gone]))
        counts = self._query("select (select count(*) from sheets), (select count(*) from places)")
        if any(facts > 2 * places + _MAX_SPARE_ROWS for facts, places in counts):
            self._change(("delete from sheets where key not in (select key from places)", [()]))

    def close(self) -> None:
        """Close the database; it is then as if empty."""
        if "_base" in self.__dict__:
            self._base.close()

    def _query(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        import sqlite3

        with suppress(sqlite3.Error):  # as if nothing was kept
            return self._base.execute(text, values).fetchall()
        return []

    def _change(self, *steps: tuple[str, list[Any]]) -> None:
        import sqlite3

        if any(rows for _, rows in steps):
            with suppress(sqlite3.Error), self._base as base:  # no room, or another kit holds the lock
                base.execute("begin")
                for text, rows in steps:
                    base.executemany(text, rows)

    @cached_property
    def _base(self) -> sqlite3.Connection:
        """The database of the state folder; one in memory if that fails."""
        import sqlite3

        with suppress(OSError, sqlite3.Error):
            self._state.folder("atlas")
            return open_cache(os.path.join(self._state.path, "atlas", f"sheets-{FORMAT}.sqlite"), _prepare)
        base = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _prepare(base)
        return base


def _prepare(base: sqlite3.Connection) -> None:
    for text in _TABLES:
        base.execute(text)


def _read(text: str) -> Stamp:
    device, number, size, modified, changed = map(int, text.split())
    return device, number, size, modified, changed
