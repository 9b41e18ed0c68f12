"""Cache of file facts by content, in memory and in a database of the state folder."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.host.files.versions import Stamp
from toolroll.text.code.map.file_facts import FORMAT, FileFacts

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.runtime.state import State

_MAX_MEMORY_BYTES = 48 << 20  # of packed facts
_MAX_SPARE_ROWS = 2_000  # rows of deleted files that are kept, as they may come back
_LOCK_TIMEOUT_S = 5.0  # for another kit on the same state
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
        self._recent: OrderedDict[bytes, bytes] = OrderedDict()
        self._weight = 0
        self._base: sqlite3.Connection | None = None
        self._tried = False

    def places(self) -> dict[str, tuple[Stamp, bytes]]:
        """The last known stamp of each path, and the key of its facts."""
        rows = self._query("select path, stamp, key from places")
        return {path: (_read(stamp), key) for path, stamp, key in rows}

    def get(self, keys: Iterable[bytes]) -> dict[bytes, FileFacts]:
        """The facts of these keys, as far as they are kept."""
        import msgspec

        wanted = list(dict.fromkeys(keys))
        packed = {key: self._recent[key] for key in wanted if key in self._recent}
        missing = [key for key in wanted if key not in packed]
        for at in range(0, len(missing), _MAX_KEYS):
            part = missing[at : at + _MAX_KEYS]
            packed.update(self._query(f"select key, data from sheets where key in ({','.join('?' * len(part))})", part))
        decoder = msgspec.msgpack.Decoder(FileFacts)
        found = {}
        for key, data in packed.items():
            with suppress(msgspec.MsgspecError):  # a damaged row counts as missing
                found[key] = decoder.decode(data)
        return found

    def put(self, packed: Mapping[bytes, bytes], places: Mapping[str, tuple[Stamp, bytes]]) -> None:
        """Keep packed facts by key, and the stamp and key of each path."""
        for key, data in packed.items():
            if key not in self._recent:
                self._recent[key] = data
                self._weight += len(data)
        while self._weight > _MAX_MEMORY_BYTES:
            self._weight -= len(self._recent.popitem(last=False)[1])
        rows = [(path, " ".join(map(str, stamp)), key) for path, (stamp, key) in places.items() if _is_text(path)]
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
        """Close the database."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def _query(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        import sqlite3

        base = self._connection()
        if base is not None:
            with suppress(sqlite3.Error):  # as if nothing was kept
                return base.execute(text, values).fetchall()
        return []

    def _change(self, *steps: tuple[str, list[Any]]) -> None:
        import sqlite3

        base = self._connection()
        if base is not None and any(rows for _, rows in steps):
            with suppress(sqlite3.Error), base:  # no room, or another kit holds the lock: facts are made again
                for text, rows in steps:
                    base.executemany(text, rows)

    def _connection(self) -> sqlite3.Connection | None:
        if not self._tried:
            self._tried = True
            self._base = _open(self._state)
        return self._base


def _open(state: State) -> sqlite3.Connection | None:
    """Open the database, or create it again if it is damaged; None if that fails."""
    import sqlite3

    try:
        state.folder("atlas")
    except OSError:
        return None
    path = os.path.join(state.path, "atlas", f"sheets-{FORMAT}.sqlite")
    for _ in range(2):
        try:
            base = sqlite3.connect(path, timeout=_LOCK_TIMEOUT_S, check_same_thread=False)
        except sqlite3.OperationalError:
            return None
        try:
            base.execute("pragma journal_mode=wal")
            base.execute("pragma synchronous=normal")
            for table in _TABLES:
                base.execute(table)
            return base
        except sqlite3.OperationalError:
            base.close()
            return None
        except sqlite3.DatabaseError:
            base.close()
            for end in ("", "-wal", "-shm"):
                with suppress(OSError):
                    os.unlink(path + end)
    return None


def _read(text: str) -> Stamp:
    device, number, size, modified, changed = map(int, text.split())
    return device, number, size, modified, changed


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
