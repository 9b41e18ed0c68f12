"""Vectors of a library's pieces, made behind it: the library says which are missing and which are too many.

Both lists are in the library's own database and change with it, so that whoever dies in between leaves work and no
damage: what is missing is made the next time, and what is too many is not shown.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.result import ToolError
from toolroll.text.knowledge.passages import Ranking

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.knowledge.semantic import Meaning
    from toolroll.host.runtime.progress import Progress

TABLES = (
    # A way is a model and a store: each has its own vectors, and its own that are missing.
    "create table ways (name text primary key) without rowid",
    "create table missing (number integer not null, way text not null, primary key (number, way)) without rowid",
    "create table gone (number integer primary key)",
)

NEAR = 200
"""Pieces that are asked for as the nearest."""

_MOMENT = 1.0  # seconds for which a search makes vectors
_AT_ONCE = 16  # pieces between two reports of progress
_DROPPED = 10_000


class Behind:
    """Makes the vectors of one library and finds the pieces that are near to a question."""

    def __init__(self, state: State, token: CancelToken, base: Database, meaning: Meaning | None) -> None:
        self._state = state
        self._token = token
        self._base = base
        self._meaning = meaning
        self._checked = False

    def check(self) -> None:
        """ToolError if vectors are set up and can now not be made or kept."""
        if self._meaning is not None and not self._meaning.lacks and not self._checked:
            _ = self._meaning.embedder
            self._meaning.vectors.check(self._token)
            self._checked = True

    def near(self, query: str) -> tuple[dict[int, float], Ranking]:
        """How like a question the nearest pieces are, by number, and what that means for the ranking."""
        meaning = self._meaning
        if meaning is None or meaning.lacks:
            return {}, Ranking(reason=meaning.lacks if meaning is not None else "")
        if not self._base.exists:
            return {}, Ranking("meaning and words")
        embedder = meaning.embedder
        try:
            (vector,) = embedder.embed([query], self._token)
        except ToolError as error:  # words can still find
            self._token.check()  # unless it is the call itself that ends
            return {}, Ranking(reason=error.message)
        left = self.fill(_silent, _MOMENT, len(vector))
        found = meaning.vectors.search(embedder.name, vector, NEAR, self._token)
        if not found and not left and self._again():  # the store was lost
            left = self.fill(_silent, _MOMENT, len(vector))
            found = meaning.vectors.search(embedder.name, vector, NEAR, self._token)
        return dict(found), Ranking("meaning and words" if found or not left else "words", left)

    def fill(self, progress: Progress, seconds: float, size: int = 0) -> str:
        """Make missing vectors, for so long at most; which are still missing then, and why: a sentence, or "".

        `size` is how long the vectors of the model are now, if that is known.
        """
        meaning = self._meaning
        if meaning is None or meaning.lacks or not self._base.exists:
            return ""
        way, why = self._way(meaning), "add any document again to go on with that."
        if not self._due(way):
            return ""
        deadline = time.monotonic() + seconds
        try:
            size = self._make(meaning, way, progress, deadline, size)
            self._sweep(meaning)
            if self._lost(meaning, way) and self._again():
                self._make(meaning, way, progress, deadline, size)
        except ToolError as error:
            self._token.check()  # unless it is the call itself that ends
            why = error.message
        left = self._left(way)
        pieces = f"{left} piece{'s are' if left != 1 else ' is'}"
        return f"{pieces} found by words alone until vectors are made: {why}" if left else ""

    def _make(self, meaning: Meaning, way: str, progress: Progress, deadline: float, size: int) -> int:
        """Make missing vectors; how long they are."""
        from toolroll.host.models.embedding.vector_cache import VectorCache

        kept = VectorCache(self._state, self._token, meaning.embedder)
        total = done = 0
        while texts := self._missing(way):
            total = total or self._left(way)
            vectors = kept.vectors(list(texts.values()), deadline - time.monotonic(), size)
            made = {number: one for number, one in zip(texts, vectors, strict=True) if one is not None}
            size = len(next(iter(made.values())))
            meaning.vectors.put(meaning.embedder.name, made, self._token)
            self._settle(way, list(made))
            done += len(made)
            progress(done, total, "vectors")
            if time.monotonic() >= deadline:
                break
        return size

    def waiting(self, base: sqlite3.Connection) -> int:
        """How many pieces have no vector yet of the model and the store that are set up; 0 if none are."""
        if self._meaning is None or self._meaning.lacks:
            return 0
        way = self._way(self._meaning)  # others that were used once, or never answered, are not waited for
        known = base.execute("select 1 from ways where name = ?", (way,)).fetchone() is not None
        text, given = ("missing where way = ?", (way,)) if known else ("pieces", ())
        return int(base.execute(f"select count(*) from {text}", given).fetchone()[0])

    def clear(self) -> None:
        """Forget all vectors, once the library is empty."""
        from toolroll.host.models.embedding.vector_cache import forget

        forget(self._state, self._token)
        if self._meaning is not None and not self._meaning.lacks:
            self._meaning.vectors.clear(self._token)
            with self._base.changing() as base:
                base.execute("delete from gone")

    def _way(self, meaning: Meaning) -> str:
        return f"{meaning.model} in {meaning.vectors.name}"

    def _due(self, way: str) -> bool:
        """Whether there is anything to do. Of a new way, every vector is missing."""
        with self._base.opened() as base:
            if base.execute("select 1 from ways where name = ?", (way,)).fetchone() is not None:
                text = "select exists (select 1 from missing where way = ?) or exists (select 1 from gone)"
                return bool(base.execute(text, (way,)).fetchone()[0])
        with self._base.changing() as base:
            base.execute("insert or ignore into ways values (?)", (way,))
            base.execute("insert or ignore into missing select number, ? from pieces", (way,))
        return True

    def _lost(self, meaning: Meaning, way: str) -> bool:
        """Whether the store has fewer vectors than were made: it was broken, or of another length, and is new."""
        with self._base.opened() as base:
            text = "select (select pieces from totals) - (select count(*) from missing where way = ?)"
            made = int(base.execute(text, (way,)).fetchone()[0])
        return meaning.vectors.count(meaning.embedder.name, self._token) < made

    def _again(self) -> bool:
        """Let every vector be missing; whether there is a piece at all."""
        assert self._meaning is not None
        name = self._way(self._meaning)
        with self._base.changing() as base:
            return base.execute("insert or ignore into missing select number, ? from pieces", (name,)).rowcount > 0

    def _missing(self, way: str) -> dict[int, str]:
        """Some pieces without a vector: what is embedded of each, by number."""
        with self._base.opened() as base:
            rows = base.execute(
                "select missing.number, title, text from missing join pieces on pieces.number = missing.number "
                "where way = ? order by missing.number limit ?",
                (way, _AT_ONCE),
            ).fetchall()
        return {number: f"{title}\n{text}".strip() for number, title, text in rows}

    def _left(self, way: str) -> int:
        with self._base.opened() as base:
            return int(base.execute("select count(*) from missing where way = ?", (way,)).fetchone()[0])

    def _settle(self, way: str, numbers: Sequence[int]) -> None:
        """What was made is not missing; if its piece has gone meanwhile, its vector has to go too."""
        with self._base.changing() as base:
            base.executemany("delete from missing where number = ? and way = ?", [(one, way) for one in numbers])
            there = present(base, dict.fromkeys(numbers, 0.0))
            lost = [(number,) for number in numbers if number not in there]
            base.executemany("insert or ignore into gone values (?)", lost)

    def _sweep(self, meaning: Meaning) -> None:
        with self._base.opened() as base:
            numbers = [number for (number,) in base.execute("select number from gone limit ?", (_DROPPED,))]
        if numbers:
            meaning.vectors.drop(numbers, self._token)
            with self._base.changing() as base:
                base.executemany("delete from gone where number = ?", [(number,) for number in numbers])


def added(base: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Within the change that adds pieces: they have no vectors yet."""
    base.executemany("insert into missing select ?, name from ways", [(number,) for number in numbers])


def forgotten(base: sqlite3.Connection, document: int) -> None:
    """Within the change that deletes a document, before its pieces go: their vectors have to go too."""
    pieces = "select number from pieces where document = ?"
    base.execute(f"delete from missing where number in ({pieces})", (document,))
    base.execute(f"insert or ignore into gone {pieces} and exists (select 1 from ways)", (document,))


def cleared(base: sqlite3.Connection) -> None:
    """Within the change that empties the library."""
    base.execute("delete from missing")
    base.execute("insert or ignore into gone select number from pieces where exists (select 1 from ways)")


def present(base: sqlite3.Connection, near: Mapping[int, float]) -> dict[int, float]:
    """Those of the numbers that are still pieces."""
    marks = ", ".join("?" * len(near))
    rows = base.execute(f"select number from pieces where number in ({marks})", list(near)).fetchall()
    there = {number for (number,) in rows}
    return {number: value for number, value in near.items() if number in there}


def _silent(_done: float, _total: float | None, _note: str) -> None:
    pass
