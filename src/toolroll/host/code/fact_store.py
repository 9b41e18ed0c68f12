"""Where sheets are kept: by content, in memory and in a database of the state folder."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolroll.text.code.map.file_facts import FORMAT, Sheet

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.runtime.state import State

Stamp = tuple[int, int, int, int, int]
"""The state of a file by its times: device, number, size, modified, changed."""

_MEMORY = 48 << 20  # bytes of packed sheets
_SPARE = 2_000  # rows of what is gone that are kept for when it comes back
_WAIT = 5.0  # seconds for another kit on the same state
_AT_ONCE = 500  # values in one question
_TABLES = (
    "create table if not exists sheets (key blob primary key, data blob not null) without rowid",
    "create table if not exists places (path text primary key, stamp text not null, key blob not null) without rowid",
)


class Sheets:
    """Sheets by the digest of what they were made of. What cannot be kept is made again: it is only a cache."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._recent: OrderedDict[bytes, bytes] = OrderedDict()
        self._weight = 0
        self._base: sqlite3.Connection | None = None
        self._tried = False

    def places(self) -> dict[str, tuple[Stamp, bytes]]:
        """What was last known of each path: its state, and the key of its sheet."""
        rows = self._asked("select path, stamp, key from places")
        return {path: (_read(stamp), key) for path, stamp, key in rows}

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Sheet]:
        """Those that are kept, of the keys that are wanted."""
        import msgspec

        wanted = list(dict.fromkeys(keys))
        packed = {key: self._recent[key] for key in wanted if key in self._recent}
        missing = [key for key in wanted if key not in packed]
        for at in range(0, len(missing), _AT_ONCE):
            part = missing[at : at + _AT_ONCE]
            packed.update(self._asked(f"select key, data from sheets where key in ({','.join('?' * len(part))})", part))
        decoder = msgspec.msgpack.Decoder(Sheet)
        found = {}
        for key, data in packed.items():
            with suppress(msgspec.MsgspecError):  # half a row is none
                found[key] = decoder.decode(data)
        return found

    def put(self, packed: Mapping[bytes, bytes], places: Mapping[str, tuple[Stamp, bytes]]) -> None:
        """Keep packed sheets, and which states of which paths they are of."""
        for key, data in packed.items():
            if key not in self._recent:
                self._recent[key] = data
                self._weight += len(data)
        while self._weight > _MEMORY:
            self._weight -= len(self._recent.popitem(last=False)[1])
        rows = [(path, " ".join(map(str, stamp)), key) for path, (stamp, key) in places.items() if _is_text(path)]
        self._change(
            ("insert or ignore into sheets values (?, ?)", list(packed.items())),
            ("insert or replace into places values (?, ?, ?)", rows),
        )

    def tidy(self, paths: Iterable[str]) -> None:
        """Forget most of what belongs to none of these paths, all that there are."""
        gone = {path for (path,) in self._asked("select path from places")}.difference(paths)
        if len(gone) > _SPARE:
            self._change(("delete from places where path = ?", [(path,) for path in gone]))
        counts = self._asked("select (select count(*) from sheets), (select count(*) from places)")
        if any(sheets > 2 * places + _SPARE for sheets, places in counts):
            self._change(("delete from sheets where key not in (select key from places)", [()]))

    def close(self) -> None:
        """Let the database go."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def _asked(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        import sqlite3

        base = self._opened()
        if base is not None:
            with suppress(sqlite3.Error):  # as if nothing had been kept
                return base.execute(text, values).fetchall()
        return []

    def _change(self, *steps: tuple[str, list[Any]]) -> None:
        import sqlite3

        base = self._opened()
        if base is not None and any(rows for _, rows in steps):
            with suppress(sqlite3.Error), base:  # no room, or another kit takes too long: it is made again
                for text, rows in steps:
                    base.executemany(text, rows)

    def _opened(self) -> sqlite3.Connection | None:
        if not self._tried:
            self._tried = True
            self._base = _opened(self._state)
        return self._base


def _opened(state: State) -> sqlite3.Connection | None:
    """The database, made anew if it is none; None where there cannot be one."""
    import sqlite3

    try:
        state.folder("atlas")
    except OSError:
        return None
    path = os.path.join(state.path, "atlas", f"sheets-{FORMAT}.sqlite")
    for _ in range(2):
        try:
            base = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False)
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
