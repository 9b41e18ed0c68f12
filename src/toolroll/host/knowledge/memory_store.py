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
from toolroll.text.knowledge import memories
from toolroll.text.knowledge.contradictions import contradicts
from toolroll.text.knowledge.memories import EvictionPlan, Memory, MergePlan, Strategy, Type
from toolroll.text.knowledge.memory_markdown import WrittenMemory
from toolroll.text.knowledge.passages import RankingMethod

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.knowledge.semantic import SemanticRanking

_MAX_MEMORIES = 10_000
_SHOWN_ALL = 10  # memories or fewer, where none answers
_EMBED_SECONDS = 5.0  # for making vectors during a search
_COLUMNS = "number, content, type, importance, created, updated, replaced"
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
_THIRD = ("alter table memories add column replaced integer not null default 0",)


class MemoryStore:
    """Keeps and finds memories. Nothing is opened before it is needed, and nothing stays open."""

    def __init__(self, state: State, token: CancelToken, meaning: SemanticRanking | None = None) -> None:
        self._state = state
        self._token = token
        self._meaning = meaning
        self._base = Database(state, token, "memories", _FIRST, _SECOND, _THIRD)

    def add(self, content: str, type: Type, importance: float) -> tuple[Memory, bool, EvictionPlan]:
        """Remember a text; whether it is new, and which working memories had to make room.

        What is known already in this type is only refreshed, and what it contradicts is marked as replaced by it.
        ToolError when there are too many.
        """
        content, now = memories.check_content(content), time.time()
        with self._base.transaction() as base:
            kept = _all(base)
            known = next((one for one in kept if one.type == type and _same(one.content, content)), None)
            if known is not None:
                made = replace(known, importance=max(known.importance, importance), updated=now, replaced=0)
                _keep(base, made)
                _mark_replaced(base, kept, made)
                return made, False, EvictionPlan()
            if len(kept) >= _MAX_MEMORIES:
                raise ToolError(
                    ErrorCode.TOO_LARGE,
                    f"There are {len(kept)} memories already. Make room with action 'forget' or 'consolidate'.",
                )
            values = (content, type, importance, now, now)
            cursor = base.execute(
                "insert into memories (content, type, importance, created, updated) values (?, ?, ?, ?, ?)", values
            )
            made = Memory(int(cursor.lastrowid or 0), *values)
            kept = _mark_replaced(base, kept, made)
            return made, True, _make_room(base, [*kept, made], made, now)

    def update(
        self, id: str, content: str | None, type: Type | None, importance: float | None
    ) -> tuple[Memory, EvictionPlan]:
        """Change what is given; the memory as it is now, and which working ones had to make room."""
        number, now = memories.check_id(id), time.time()
        text = None if content is None else memories.check_content(content)
        with self._changing(number) as base:
            old = _one(base, number)
            made = replace(
                old,
                content=old.content if text is None else text,
                type=type or old.type,
                importance=old.importance if importance is None else importance,
                updated=now,
                replaced=0,
            )
            _keep(base, made)
            _mark_replaced(base, _all(base), made)
            return made, _make_room(base, _all(base), made, now)

    def remove(self, id: str) -> Memory:
        number = memories.check_id(id)
        with self._changing(number) as base:
            old = _one(base, number)
            _drop(base, [number])
        self._unlearn([old])
        return old

    def search(self, query: str, type: Type | None, limit: int) -> memories.MemoryResults:
        """The memories that answer a question, the best first, and what they were ranked by."""
        latest = sorted(self.all(type), key=lambda one: -one.updated)
        likeness, ranking = None, RankingMethod()
        if self._meaning is not None:
            texts = [one.content for one in latest]
            near, ranking = self._meaning.similarities(query, texts, _EMBED_SECONDS, self._token)
            likeness = {latest[at].number: value for at, value in near.items()} if ranking.by != "words" else None
        found = memories.rank(latest, query, time.time(), likeness)
        rows = [memories.show_memory(one, score) for one, score in found[:limit]]
        others = memories.list_memories(latest) if not rows and len(latest) <= _SHOWN_ALL else []
        return memories.MemoryResults(rows, len(found), ranking.by, ranking.note, others)

    def summary(self, type: Type | None, most: int) -> memories.MemorySummary:
        """How many there are, and so many of those that matter most."""
        return memories.summarise(self.all(type), time.time(), most)

    def forget(
        self, strategy: Strategy, type: Type | None, *, threshold: float, days: float, keep: int
    ) -> tuple[list[Memory], int]:
        """Delete what the strategy picks among those of a type; what it was, and how many memories are left."""
        if not self._base.exists:
            return [], 0
        with self._base.transaction() as base:
            kept = _all(base)
            among = [one for one in kept if type in (None, one.type)]
            gone = memories.choose_forgotten(among, strategy, time.time(), threshold=threshold, days=days, keep=keep)
            _drop(base, [one.number for one in gone])
        self._unlearn(gone)
        return gone, len(kept) - len(gone)

    def consolidate(self, threshold: float, type: Type | None) -> MergePlan:
        """Make important short-lived memories semantic, and one of those that say the same."""
        if not self._base.exists:
            return MergePlan()
        with self._base.transaction() as base:
            merger = memories.plan_merge(_all(base), threshold, type)
            for one in merger.changed:
                _keep(base, one)
            _drop(base, list(merger.merged))
            return merger

    def load(self, written: Sequence[WrittenMemory], *, prune: bool) -> tuple[int, int, int]:
        """Take over what a person wrote, all or nothing; how many were added, changed and removed.

        `prune`: memories that are not in it are removed.
        """
        known = {one.id: one for one in self.all()}
        for one in written:
            memories.check_content(one.content)
            if one.id and one.id not in known:
                raise memories.missing_memory(memories.check_id(one.id))
        changed = [one for one in written if one.id and _differs(known[one.id], one)]
        for one in changed:
            self.update(one.id, one.content, one.type, one.importance)
        new = [one for one in written if not one.id]
        for one in new:
            self.add(one.content, one.type, 0.5 if one.importance is None else one.importance)
        gone = [id for id in known if id not in {one.id for one in written}] if prune else []
        for id in gone:
            self.remove(id)
        return len(new), len(changed), len(gone)

    def replaced_by(self, newer: Memory) -> list[Memory]:
        """The memories that a newer one contradicts."""
        return [one for one in self.all() if one.replaced == newer.number]

    def all(self, type: Type | None = None) -> list[Memory]:
        """Every memory of a type, or of all, in the order in which they came."""
        if not self._base.exists:
            return []
        with self._base.connect() as base:
            return [one for one in _all(base) if type in (None, one.type)]

    def _unlearn(self, gone: Sequence[Memory]) -> None:
        from toolroll.host.models.embedding.vector_cache import forget

        forget(self._state, self._token, [one.content for one in gone])

    @contextmanager
    def _changing(self, number: int) -> Iterator[sqlite3.Connection]:
        """The database in a transaction, for one that must be there."""
        if not self._base.exists:
            raise memories.missing_memory(number)
        with self._base.transaction() as base:
            yield base


def _all(base: sqlite3.Connection) -> list[Memory]:
    return [Memory(*values) for values in base.execute(f"select {_COLUMNS} from memories order by number")]


def _one(base: sqlite3.Connection, number: int) -> Memory:
    values = base.execute(f"select {_COLUMNS} from memories where number = ?", (number,)).fetchone()
    if values is None:
        raise memories.missing_memory(number)
    return Memory(*values)


def _keep(base: sqlite3.Connection, memory: Memory) -> None:
    base.execute(
        "update memories set content = ?, type = ?, importance = ?, created = ?, updated = ?, replaced = ? "
        "where number = ?",
        (
            memory.content,
            memory.type,
            memory.importance,
            memory.created,
            memory.updated,
            memory.replaced,
            memory.number,
        ),
    )


def _drop(base: sqlite3.Connection, numbers: Sequence[int]) -> None:
    base.executemany("delete from memories where number = ?", [(number,) for number in numbers])
    base.executemany("update memories set replaced = 0 where replaced = ?", [(number,) for number in numbers])


def _mark_replaced(base: sqlite3.Connection, kept: Sequence[Memory], new: Memory) -> list[Memory]:
    """All memories, where those that a new one contradicts are marked; events stay what happened."""
    if new.type == "episodic":
        return [*kept]
    old = [one for one in kept if one.type != "episodic" and one.number != new.number]
    marked = {one.number: replace(one, replaced=new.number) for one in old if contradicts(one.content, new.content)}
    for one in marked.values():
        _keep(base, one)
    return [marked.get(one.number, one) for one in kept]


def _differs(one: Memory, written: WrittenMemory) -> bool:
    importance = one.importance if written.importance is None else written.importance
    return (one.content, one.type, one.importance) != (written.content, written.type, importance)


def _make_room(base: sqlite3.Connection, kept: Sequence[Memory], new: Memory, now: float) -> EvictionPlan:
    room = memories.plan_eviction(kept, new.number, now) if new.type == "working" else EvictionPlan()
    for one in room.promoted:
        _keep(base, one)
    _drop(base, [one.number for one in room.dropped])
    return room


def _same(one: str, other: str) -> bool:
    return memories.normalise_content(one) == memories.normalise_content(other)
