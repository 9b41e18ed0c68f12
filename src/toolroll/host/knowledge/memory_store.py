"""The memories of a workspace, in a database of the state folder that several processes may use at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge import memories as remembering
from toolroll.text.knowledge.memories import Found, Memory, Merger, Room, Strategy, Summary, Type
from toolroll.text.knowledge.passages import Ranking

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.knowledge.semantic import Meaning

_MOST = 10_000
_SECONDS = 5.0  # for making vectors during a search
_COLUMNS = "number, content, type, importance, created, updated"
_FIRST = (
    # With autoincrement a number never comes back for something else.
    "create table memories (number integer primary key autoincrement, content text not null, type text not null, "
    "importance real not null, created real not null, updated real not null)",
    "create table vectors (number integer not null, model text not null, data blob not null, "
    "primary key (number, model)) without rowid",
    "create trigger gone after delete on memories begin delete from vectors where number = old.number; end",
    "create trigger changed after update of content on memories when new.content <> old.content "
    "begin delete from vectors where number = old.number; end",
)
_SECOND = ("drop trigger gone", "drop trigger changed", "drop table vectors")  # which are kept by content now


class Memories:
    """Keeps and finds memories. Nothing is opened before it is needed, and nothing stays open."""

    def __init__(self, state: State, token: CancelToken, meaning: Meaning | None = None) -> None:
        self._state = state
        self._token = token
        self._meaning = meaning
        self._base = Database(state, token, "memories", _FIRST, _SECOND)

    def add(self, content: str, type: Type, importance: float) -> tuple[Memory, bool, Room]:
        """Remember a text; whether it is new, and which working memories had to make room.

        What is known already in this type is only refreshed. ToolError when there are too many.
        """
        content, now = remembering.check_content(content), time.time()
        with self._base.changing() as base:
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
        self._unlearn([old])
        return old

    def search(self, query: str, type: Type | None, limit: int) -> Found:
        """The memories that answer a question, the best first, and what they were ranked by."""
        memories = self.all(type)
        likeness, ranking = self._likeness(memories, query)
        found = remembering.ranked(memories, query, time.time(), likeness)
        rows = [remembering.row(one, score) for one, score in found[:limit]]
        return Found(rows, len(found), ranking.by, ranking.note)

    def summary(self, type: Type | None, most: int) -> Summary:
        """How many there are, and so many of those that matter most."""
        return remembering.summarised(self.all(type), time.time(), most)

    def forget(
        self, strategy: Strategy, type: Type | None, *, threshold: float, days: float, keep: int
    ) -> tuple[list[Memory], int]:
        """Delete what the strategy picks among those of a type; what it was, and how many memories are left."""
        if not self._base.exists:
            return [], 0
        with self._base.changing() as base:
            memories = _all(base)
            among = [one for one in memories if type in (None, one.type)]
            gone = remembering.forgotten(among, strategy, time.time(), threshold=threshold, days=days, keep=keep)
            _drop(base, [one.number for one in gone])
        self._unlearn(gone)
        return gone, len(memories) - len(gone)

    def consolidate(self, threshold: float, type: Type | None) -> Merger:
        """Make important short-lived memories semantic, and one of those that say the same."""
        if not self._base.exists:
            return Merger()
        with self._base.changing() as base:
            merger = remembering.consolidated(_all(base), threshold, type)
            for one in merger.changed:
                _keep(base, one)
            _drop(base, list(merger.merged))
            return merger

    def all(self, type: Type | None = None) -> list[Memory]:
        """Every memory of a type, or of all, in the order in which they came."""
        if not self._base.exists:
            return []
        with self._base.opened() as base:
            return [one for one in _all(base) if type in (None, one.type)]

    def _likeness(self, memories: Sequence[Memory], query: str) -> tuple[dict[int, float] | None, Ranking]:
        """How like the question the memories are, by number, the latest in any case."""
        lacks = self._meaning.lacks if self._meaning is not None else ""
        if self._meaning is None or lacks:
            return None, Ranking(reason=lacks)
        if not memories:
            return None, Ranking("meaning and words")
        from toolroll.host.models.embedding.vector_cache import VectorCache

        latest = sorted(memories, key=lambda one: -one.updated)
        try:
            embedder = self._meaning.embedder
            (asked,) = embedder.embed([query], self._token)
            made = VectorCache(self._state, self._token, embedder).vectors(
                [one.content for one in latest], _SECONDS, len(asked)
            )
        except ToolError as error:
            self._token.check()  # unless it is the call itself that ends
            return None, Ranking(reason=error.message)
        like = {
            one.number: float(vector @ asked) for one, vector in zip(latest, made, strict=True) if vector is not None
        }
        left = len(memories) - len(like)
        return like, Ranking("meaning and words", f"{left} of {len(memories)} by words alone, for now." if left else "")

    def _unlearn(self, memories: Sequence[Memory]) -> None:
        """Leave no trace of what is forgotten."""
        from toolroll.host.models.embedding.vector_cache import forget

        forget(self._state, self._token, [one.content for one in memories])

    @contextmanager
    def _changing(self, number: int) -> Iterator[sqlite3.Connection]:
        """The database in a transaction, for one that must be there."""
        if not self._base.exists:
            raise remembering.missing(number)
        with self._base.changing() as base:
            yield base


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
