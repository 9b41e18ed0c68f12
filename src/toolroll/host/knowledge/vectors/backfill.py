"""Embed the pieces of a library after they were added: its database lists missing and stale vectors.

Both lists change in the same transactions as the library, so that a process that dies leaves work and no damage:
missing vectors are made the next time, and stale ones are not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from toolroll.host.runtime.call import Progress
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge.passages import RankingMethod

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.knowledge.semantic import SemanticRanking

TABLES = (
    # A way is a model and a store: each has its own vectors, and its own that are missing.
    "create table ways (name text primary key) without rowid",
    "create table missing (number integer not null, way text not null, primary key (number, way)) without rowid",
    "create table gone (number integer primary key)",
)

MAX_NEAREST = 200  # how many nearest pieces a search asks for

_BATCH_PIECES = 64  # pieces between two reports of progress, at least
_BROKEN = ", broken"  # behind the name of a way: it lists the pieces that the embedder has no vector for
_BROKEN_PIECES = (
    "select source, first from missing join pieces on pieces.number = missing.number "
    "join documents on documents.number = document where way = ? order by missing.number"
)
_MAX_DROPPED = 10_000


class VectorBackfill:
    """Makes the vectors of one library and finds the pieces nearest to a question."""

    def __init__(self, state: State, token: CancelToken, base: Database, meaning: SemanticRanking | None) -> None:
        self._state = state
        self._token = token
        self._base = base
        self._meaning = meaning
        self._checked = False

    def check(self) -> None:
        """ToolError if vectors are set up but cannot be made or stored now."""
        if self._meaning is not None and not self._meaning.unavailable_reason and not self._checked:
            _ = self._meaning.embedder
            self._meaning.vectors.check(self._token)
            self._checked = True

    def near(self, query: str) -> tuple[dict[int, float], RankingMethod]:
        """The cosines of the nearest pieces, by number, and the ranking method. Makes no vector but the question's."""
        meaning = self._meaning
        if meaning is None or meaning.unavailable_reason:
            return {}, RankingMethod(reason=meaning.unavailable_reason if meaning is not None else "")
        if not self._base.exists:
            return {}, RankingMethod("meaning and words")
        embedder = meaning.embedder
        try:
            vector = meaning.embed_question(query, self._token)
        except ToolError as error:  # words can still find
            self._token.check()  # unless it is the call itself that ends
            return {}, RankingMethod(reason=error.message)
        due = self._due(self._way(meaning))
        try:
            found = meaning.vectors.search(embedder.name, vector, MAX_NEAREST, self._token)
        except ToolError as error:
            if error.code is not ErrorCode.IO:
                raise
            return {}, RankingMethod(reason=error.message)
        if due or (not found and self._again()):  # or else the store was lost
            self.start(size=len(vector))
        left = self.say_missing()
        return dict(found), RankingMethod("meaning and words" if found or not left else "words", left)

    def start(self, wanted: Sequence[int] = (), size: int = 0) -> None:
        """Begin to make missing vectors in the background, those of these pieces first.

        `size` is how long the vectors of the model are now, if that is known.
        """
        meaning = self._meaning
        if meaning is None or meaning.unavailable_reason or not self._base.exists:
            return

        def fill(progress: Progress, token: CancelToken) -> str:
            return VectorBackfill(self._state, token, self._base.under(token), meaning).fill(progress, size=size)

        meaning.background.start(fill, wanted)

    def wait(self, seconds: float, progress: Progress) -> str:
        """Wait until the vectors are made, for so long at most; which are still missing then: a sentence, or ""."""
        if self._meaning is not None:
            self._meaning.background.wait(seconds, self._token, progress)
        return self.say_missing()

    def say_missing(self) -> str:
        """How many vectors are missing, and why: a sentence, or ""."""
        meaning = self._meaning
        if meaning is None or meaning.unavailable_reason or not self._base.exists:
            return ""
        with self._base.connect() as base:
            (total,) = base.execute("select pieces from totals").fetchone()
            broken = base.execute(_BROKEN_PIECES, (self._way(meaning) + _BROKEN,)).fetchall()
            left = self.waiting(base) - len(broken)
        said = [f"{left} of {total} passages have no embedding yet: {meaning.background.reason}"] if left else []
        if broken:
            source, line = broken[0]
            others = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
            said.append(f"The embedder gives no vector that can be used for {source}:{line}{others}.")
        return " ".join(said)

    def unknown(self, base: sqlite3.Connection, numbers: Collection[int]) -> list[int]:
        """Those of these pieces that have no vector yet, in the same order."""
        if self._meaning is None or self._meaning.unavailable_reason or not numbers:
            return []
        text = f"select number from missing where way in (?, ?) and number in ({', '.join('?' * len(numbers))})"
        way = self._way(self._meaning)
        rows = base.execute(text, (way, way + _BROKEN, *numbers)).fetchall()
        missing = {number for (number,) in rows}
        return [number for number in numbers if number in missing]

    def fill(self, progress: Progress, size: int = 0) -> str:
        """Make missing vectors; why some are still missing: a sentence, or ""."""
        meaning = self._meaning
        if meaning is None or meaning.unavailable_reason or not self._base.exists:
            return ""
        way = self._way(meaning)
        if not self._due(way):
            return ""
        try:
            size = self._make(meaning, way, progress, size)
            self._sweep(meaning)
            if self._lost(meaning, way) and self._again():
                self._make(meaning, way, progress, size)
        except ToolError as error:
            self._token.check()  # unless it is the call itself that ends
            return error.message
        return ""

    def _make(self, meaning: SemanticRanking, way: str, progress: Progress, size: int) -> int:
        """Make missing vectors; how long they are."""
        from toolroll.host.models.embedding.vector_cache import VectorCache

        embedder = meaning.bulk_embedder
        kept = VectorCache(self._state, self._token, embedder)
        most = max(_BATCH_PIECES, embedder.batch)
        total = done = 0
        while texts := self._missing(way, meaning.background.take_wanted(), most):
            total = total or self._left(way)
            vectors = kept.vectors(list(texts.values()), inf, size)
            made = {number: one for number, one in zip(texts, vectors, strict=True) if one is not None}
            if made:
                size = len(next(iter(made.values())))
                meaning.vectors.put(meaning.embedder.name, made, self._token)
            self._settle(way, list(made), [number for number in texts if number not in made])
            done += len(texts)
            progress(done, total, "vectors")
        return size

    def waiting(self, base: sqlite3.Connection) -> int:
        """How many pieces have no vector yet of the model and the store that are set up; 0 if none are."""
        if self._meaning is None or self._meaning.unavailable_reason:
            return 0
        way = self._way(self._meaning)  # others that were used once, or never answered, are not waited for
        known = base.execute("select 1 from ways where name = ?", (way,)).fetchone() is not None
        text, given = ("missing where way in (?, ?)", (way, way + _BROKEN)) if known else ("pieces", ())
        return int(base.execute(f"select count(*) from {text}", given).fetchone()[0])

    def clear(self) -> None:
        """Forget all vectors, once the library is empty."""
        from toolroll.host.models.embedding.vector_cache import forget

        forget(self._state, self._token)
        if self._meaning is not None and not self._meaning.unavailable_reason:
            self._meaning.vectors.clear(self._token)
            with self._base.transaction() as base:
                base.execute("delete from gone")

    def _way(self, meaning: SemanticRanking) -> str:
        return f"{meaning.model} in {meaning.vectors.name}"

    def _due(self, way: str) -> bool:
        """Whether there is anything to do. For a new model or store, every vector is missing."""
        with self._base.connect() as base:
            if base.execute("select 1 from ways where name = ?", (way,)).fetchone() is not None:
                text = "select exists (select 1 from missing where way = ?) or exists (select 1 from gone)"
                return bool(base.execute(text, (way,)).fetchone()[0])
        with self._base.transaction() as base:
            base.execute("insert or ignore into ways values (?)", (way,))
            base.execute("insert or ignore into missing select number, ? from pieces", (way,))
        return True

    def _lost(self, meaning: SemanticRanking, way: str) -> bool:
        """Whether the store has fewer vectors than were made: it was broken or of another length, and was replaced."""
        missing = "select count(*) from missing where way in (?, ?)"
        made = self._count(f"select (select pieces from totals) - ({missing})", way, way + _BROKEN)
        return meaning.vectors.count(meaning.embedder.name, self._token) < made

    def _again(self) -> bool:
        """List every vector as missing; returns whether there is any piece."""
        assert self._meaning is not None
        name = self._way(self._meaning)
        with self._base.transaction() as base:
            base.execute("delete from missing where way = ?", (name + _BROKEN,))
            return base.execute("insert or ignore into missing select number, ? from pieces", (name,)).rowcount > 0

    def retry_broken(self) -> None:
        """List the vectors that were broken as missing, so that the embedder is asked for them once more."""
        if self._meaning is not None and not self._meaning.unavailable_reason and self._base.exists:
            way = self._way(self._meaning)
            with self._base.transaction() as base:
                base.execute("update or replace missing set way = ? where way = ?", (way, way + _BROKEN))

    def _missing(self, way: str, wanted: Sequence[int], most: int) -> dict[int, str]:
        """Some pieces without a vector, the wanted ones first: what is embedded of each, by number."""
        text = "select missing.number, title, text from missing join pieces on pieces.number = missing.number where way"
        marks = ", ".join("?" * len(wanted))
        with self._base.connect() as base:
            rows = base.execute(f"{text} = ? and missing.number in ({marks})", (way, *wanted)).fetchall()
            some = f"{text} = ? order by missing.number limit ?"
            rows = rows or base.execute(some, (way, most)).fetchall()
        return {number: f"{title}\n{text}".strip() for number, title, text in rows}

    def _left(self, way: str) -> int:
        return self._count("select count(*) from missing where way = ?", way)

    def _count(self, text: str, *values: str) -> int:
        with self._base.connect() as base:
            return int(base.execute(text, values).fetchone()[0])

    def _settle(self, way: str, numbers: Sequence[int], broken: Sequence[int]) -> None:
        """Take what was made off the list, and list what is broken; a vector whose piece was deleted is stale."""
        with self._base.transaction() as base:
            marked = [(way + _BROKEN, one, way) for one in broken]
            base.executemany("update or replace missing set way = ? where number = ? and way = ?", marked)
            base.executemany("delete from missing where number = ? and way = ?", [(one, way) for one in numbers])
            there = keep_present(base, dict.fromkeys(numbers, 0.0))
            lost = [(number,) for number in numbers if number not in there]
            base.executemany("insert or ignore into gone values (?)", lost)

    def _sweep(self, meaning: SemanticRanking) -> None:
        with self._base.connect() as base:
            numbers = [number for (number,) in base.execute("select number from gone limit ?", (_MAX_DROPPED,))]
        if numbers:
            meaning.vectors.drop(numbers, self._token)
            with self._base.transaction() as base:
                base.executemany("delete from gone where number = ?", [(number,) for number in numbers])


def add_missing(base: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """In the transaction that adds pieces: list them as missing."""
    base.executemany("insert into missing select ?, name from ways", [(number,) for number in numbers])


def forget_document(base: sqlite3.Connection, document: int) -> None:
    """In the transaction that deletes a document, before its pieces: list their vectors as stale."""
    pieces = "select number from pieces where document = ?"
    base.execute(f"delete from missing where number in ({pieces})", (document,))
    base.execute(f"insert or ignore into gone {pieces} and exists (select 1 from ways)", (document,))


def clear_vectors(base: sqlite3.Connection) -> None:
    """In the transaction that empties the library: list all vectors as stale."""
    base.execute("delete from missing")
    base.execute("insert or ignore into gone select number from pieces where exists (select 1 from ways)")


def keep_present(base: sqlite3.Connection, near: Mapping[int, float]) -> dict[int, float]:
    """Drop the numbers whose pieces were deleted."""
    marks = ", ".join("?" * len(near))
    rows = base.execute(f"select number from pieces where number in ({marks})", list(near)).fetchall()
    there = {number for (number,) in rows}
    return {number: value for number, value in near.items() if number in there}
