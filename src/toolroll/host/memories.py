"""The memories of a workspace, in a database of the state folder that several processes may use at once."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.host.locked import locked
from toolroll.host.state import State
from toolroll.host.token import Token
from toolroll.result import ErrorCode, ToolError
from toolroll.text import remembering
from toolroll.text.remembering import Found, Memory, Merger, Room, Strategy, Summary, Type

if TYPE_CHECKING:
    import sqlite3

Embed = Callable[[list[str]], list[list[float]]]
"""Texts to vectors of one length, one for each. A ToolError that it raises only makes a search one by text."""

VERSION = 1
_FOLDER = "memories"
_FILE = "memories.sqlite"
_MOST = 10_000
_AT_ONCE = 64  # texts that are embedded together
_WAIT = 10.0  # seconds for somebody who holds the database without our lock
_ALONE = "Ranked by text alone: no embedder is set up, so what is said in other words may be missed."
_COLUMNS = "number, content, type, importance, created, updated"
_TABLES = (
    # With autoincrement a number never comes back for something else.
    "create table memories (number integer primary key autoincrement, content text not null, type text not null, "
    "importance real not null, created real not null, updated real not null)",
    "create table vectors (number integer not null, model text not null, data blob not null, "
    "primary key (number, model)) without rowid",
    "create trigger gone after delete on memories begin delete from vectors where number = old.number; end",
    "create trigger changed after update of content on memories when new.content <> old.content "
    "begin delete from vectors where number = old.number; end",
    f"pragma user_version = {VERSION}",
)
_KINDS = {
    "SQLITE_BUSY": (ErrorCode.TIMEOUT, "Another program holds the memories. Try again."),
    "SQLITE_READONLY": (ErrorCode.PERMISSION, "The memories may not be changed here. Go on without."),
    "SQLITE_CANTOPEN": (ErrorCode.PERMISSION, "The memories cannot be opened. Go on without."),
    "SQLITE_NOTADB": (ErrorCode.IO, "The memories are broken. Go on without, and tell the user to move away {path!r}."),
    "SQLITE_CORRUPT": (
        ErrorCode.IO,
        "The memories are broken. Go on without, and tell the user to move away {path!r}.",
    ),
}


class Memories:
    """Keeps and finds memories. Nothing is opened before it is needed, and nothing stays open."""

    def __init__(self, state: State, token: Token, embed: Embed | None = None, model: str = "") -> None:
        """With `embed`, also likeness of meaning counts; vectors are kept under the name of the `model`."""
        self._state = state
        self._token = token
        self._embed = embed
        self._model = model
        self._path = os.path.join(state.path, _FOLDER, _FILE)

    def add(self, content: str, type: Type, importance: float) -> tuple[Memory, bool, Room]:
        """Remember a text; whether it is new, and which working memories had to make room.

        What is known already in this type is only refreshed. ToolError when there are too many.
        """
        content, now = remembering.check_content(content), time.time()
        with self._changing() as base:
            memories = _all(base)
            known = next((one for one in memories if one.type == type and _same(one.content, content)), None)
            if known is not None:
                made = replace(known, importance=max(known.importance, importance), updated=now)
                _keep(base, made)
                return made, False, Room()
            if len(memories) >= _MOST:
                raise ToolError(
                    ErrorCode.TOO_LARGE,
                    f"There are {len(memories)} memories already. Make room with action 'forget' or 'consolidate'.",
                )
            values = (content, type, importance, now, now)
            cursor = base.execute(
                "insert into memories (content, type, importance, created, updated) values (?, ?, ?, ?, ?)", values
            )
            made = Memory(int(cursor.lastrowid or 0), *values)
            return made, True, _make_room(base, [*memories, made], made, now)

    def update(self, id: str, content: str | None, type: Type | None, importance: float | None) -> tuple[Memory, Room]:
        """Change what is given; the memory as it is now, and which working ones had to make room."""
        number, now = remembering.check_id(id), time.time()
        text = None if content is None else remembering.check_content(content)
        with self._changing(number) as base:
            old = _one(base, number)
            made = replace(
                old,
                content=old.content if text is None else text,
                type=type or old.type,
                importance=old.importance if importance is None else importance,
                updated=now,
            )
            _keep(base, made)
            return made, _make_room(base, _all(base), made, now)

    def remove(self, id: str) -> Memory:
        """Delete one; what it was."""
        number = remembering.check_id(id)
        with self._changing(number) as base:
            old = _one(base, number)
            _drop(base, [number])
            return old

    def search(self, query: str, type: Type | None, limit: int) -> Found:
        """The memories that answer a question, the best first, and what they were ranked by."""
        memories = self.all(type)
        likeness, reason = None, _ALONE
        if self._embed is not None and memories:
            try:
                likeness, reason = self._likeness(self._embed, memories, query), ""
            except ToolError as error:
                self._token.check()  # unless it is the call itself that ends
                reason = f"Ranked by text alone, for the embedder failed: {error.message}"
        found = remembering.ranked(memories, query, time.time(), likeness)
        rows = [remembering.row(one, score) for one, score in found[:limit]]
        return Found(rows, len(found), "text" if likeness is None else "text and vectors", reason)

    def summary(self, type: Type | None, most: int) -> Summary:
        """How many there are, and so many of those that matter most."""
        return remembering.summarised(self.all(type), time.time(), most)

    def forget(
        self, strategy: Strategy, type: Type | None, *, threshold: float, days: float, keep: int
    ) -> tuple[list[Memory], int]:
        """Delete what the strategy picks among those of a type; what it was, and how many memories are left."""
        if not os.path.exists(self._path):
            return [], 0
        with self._changing() as base:
            memories = _all(base)
            among = [one for one in memories if type in (None, one.type)]
            gone = remembering.forgotten(among, strategy, time.time(), threshold=threshold, days=days, keep=keep)
            _drop(base, [one.number for one in gone])
            return gone, len(memories) - len(gone)

    def consolidate(self, threshold: float, type: Type | None) -> Merger:
        """Make important short-lived memories semantic, and one of those that say the same."""
        if not os.path.exists(self._path):
            return Merger()
        with self._changing() as base:
            merger = remembering.consolidated(_all(base), threshold, type)
            for one in merger.changed:
                _keep(base, one)
            _drop(base, list(merger.merged))
            return merger

    def all(self, type: Type | None = None) -> list[Memory]:
        """Every memory of a type, or of all, in the order in which they came."""
        if not os.path.exists(self._path):
            return []
        with self._opened() as base:
            return [one for one in _all(base) if type in (None, one.type)]

    def _likeness(self, embed: Embed, memories: Sequence[Memory], query: str) -> dict[int, float]:
        """How like the question each memory is. Vectors that are missing are made, without the lock, and kept."""
        with self._opened() as base:
            rows = base.execute("select number, data from vectors where model = ?", (self._model,)).fetchall()
        vectors = {number: array("f", data) for number, data in rows if len(data) % 4 == 0}
        (asked,) = _embedded(embed, [query])
        todo = [one for one in memories if len(vectors.get(one.number, ())) != len(asked)]
        for at in range(0, len(todo), _AT_ONCE):
            self._token.check()
            part = todo[at : at + _AT_ONCE]
            made = _embedded(embed, [one.content for one in part])
            vectors |= {one.number: vector for one, vector in zip(part, made, strict=True)}
            self._keep_vectors(part, made)
        return {one.number: remembering.like(asked, vectors[one.number]) for one in memories}

    def _keep_vectors(self, memories: Sequence[Memory], vectors: Sequence[array[float]]) -> None:
        # Only for what still says the same: somebody may have changed it since it was read.
        text = "insert or replace into vectors select number, ?, ? from memories where number = ? and content = ?"
        with self._changing() as base:
            pairs = zip(memories, vectors, strict=True)
            base.executemany(text, [(self._model, made.tobytes(), one.number, one.content) for one, made in pairs])

    @contextmanager
    def _changing(self, number: int | None = None) -> Iterator[sqlite3.Connection]:
        """The database in a transaction: all of it happens, or nothing."""
        if number is not None and not os.path.exists(self._path):
            raise remembering.missing(number)
        with self._opened() as base:
            base.execute("begin immediate")
            try:
                yield base
            except BaseException:
                base.rollback()
                raise
            base.commit()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The database, for one at a time: whoever waits can be cancelled, and tables are made once."""
        import sqlite3

        folder = self._state.folder(_FOLDER)
        with locked(folder, "lock", self._token):
            with suppress(FileExistsError):  # nobody else's to read; what belongs to it gets the same mode
                os.close(os.open(_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
            try:
                with closing(sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None)) as base:
                    base.execute("pragma journal_mode=wal")
                    base.execute("pragma synchronous=full")
                    _prepare(base)
                    yield base
            except sqlite3.Error as error:
                if (told := self._told(error)) is None:
                    raise
                raise told from error

    def _told(self, error: sqlite3.Error) -> ToolError | None:
        """The error in words; None for one that nobody can act on, such as a full disk."""
        name = getattr(error, "sqlite_errorname", "") or ""
        for kind, (code, message) in _KINDS.items():
            if name.startswith(kind):
                return ToolError(code, message.format(path=self._path), details={"error": str(error)})
        return None


def _prepare(base: sqlite3.Connection) -> None:
    (version,) = base.execute("pragma user_version").fetchone()
    if version > VERSION:
        raise ToolError(
            ErrorCode.UNSUPPORTED, "The memories were written by a newer toolroll. Go on without, or update it."
        )
    if version < VERSION:
        base.execute("begin immediate")
        for text in _TABLES:
            base.execute(text)
        base.commit()


def _all(base: sqlite3.Connection) -> list[Memory]:
    return [Memory(*values) for values in base.execute(f"select {_COLUMNS} from memories order by number")]


def _one(base: sqlite3.Connection, number: int) -> Memory:
    values = base.execute(f"select {_COLUMNS} from memories where number = ?", (number,)).fetchone()
    if values is None:
        raise remembering.missing(number)
    return Memory(*values)


def _keep(base: sqlite3.Connection, memory: Memory) -> None:
    base.execute(
        "update memories set content = ?, type = ?, importance = ?, created = ?, updated = ? where number = ?",
        (memory.content, memory.type, memory.importance, memory.created, memory.updated, memory.number),
    )


def _drop(base: sqlite3.Connection, numbers: Sequence[int]) -> None:
    base.executemany("delete from memories where number = ?", [(number,) for number in numbers])


def _make_room(base: sqlite3.Connection, memories: Sequence[Memory], new: Memory, now: float) -> Room:
    room = remembering.made_room(memories, new.number, now) if new.type == "working" else Room()
    for one in room.promoted:
        _keep(base, one)
    _drop(base, [one.number for one in room.dropped])
    return room


def _same(one: str, other: str) -> bool:
    return remembering.same(one) == remembering.same(other)


def _embedded(embed: Embed, texts: list[str]) -> list[array[float]]:
    """The vectors of texts, each of the length 1; ToolError when the embedder gave something else."""
    made = [array("f", remembering.unit(vector)) for vector in embed(texts)]
    if len(made) != len(texts) or len({len(vector) for vector in made}) != 1:
        raise ToolError(ErrorCode.EXECUTION, f"{len(texts)} texts gave {len(made)} vectors, or not all of one length.")
    return made
