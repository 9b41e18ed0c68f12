"""The library of a workspace: documents in pieces, found by words and by meaning, in a database of the state folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from toolroll.host.knowledge import postings as entries
from toolroll.host.knowledge.vectors import backfill as behind
from toolroll.host.knowledge.vectors.backfill import Behind
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge import fusion, passages
from toolroll.text.knowledge.chunks import CUT, Chunk, joined
from toolroll.text.knowledge.passages import Document, Hits, Kind, Passage, Ranking

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.knowledge.semantic import Meaning
    from toolroll.host.runtime.progress import Progress

Rerank = Callable[[str, Sequence[Passage]], Sequence[float]]
"""A question and the passages that seem to answer it, to how well each of them does."""

DOCUMENTS, PIECES, CHARACTERS = 20_000, 200_000, 500_000_000
"""What a library holds at most."""

_TABLES = (
    "create table documents (number integer primary key autoincrement, kind text not null, source text not null, "
    "form text not null, digest text not null, bytes integer not null, added real not null, pieces integer not null, "
    "characters integer not null, length integer not null, terms blob not null, unique (kind, source))",
    # With autoincrement a number never comes back for something else, so that vectors may be kept by it.
    "create table pieces (number integer primary key autoincrement, document integer not null, first integer not null, "
    "last integer not null, title text not null, text text not null)",
    "create index pieces_of on pieces (document)",
    "create table entries (term text not null, document integer not null, data blob not null, "
    "primary key (term, document)) without rowid",
)
_SECOND = (
    "alter table pieces add column page integer not null default 0",
    # What every search asks for, without a look at the terms beside it.
    "create index sizes on documents (pieces, length)",
    *behind.TABLES,
)
_THIRD = ("alter table documents add column cut integer not null default 1",)
_JUDGED = 20  # passages that are judged once more, at least
_JUDGED_SO = "The best were judged once more by a model, in whose order they are."
_AT_ONCE = 500  # pieces between two looks at the clock


@dataclass(frozen=True, slots=True)
class Stats:
    """What a library holds."""

    documents: int = 0
    pieces: int = 0
    characters: int = 0
    forms: dict[str, int] = field(default_factory=dict)
    """How many documents of each form."""
    bytes: int = 0
    """Of the library on disk."""
    waiting: int = 0
    """Pieces that no vector was made of yet."""


class Store(Protocol):
    """What keeps documents in pieces and finds them."""

    def knows(self, document: Document) -> bool:
        """Whether just this version of a document is kept."""

    def put(self, document: Document, chunks: Sequence[Chunk]) -> bool:
        """Keep a document in the place of an older version of it; whether there was one."""

    def drop(self, kind: Kind, source: str) -> bool:
        """Forget one document; False if there was none."""

    def search(self, query: str, limit: int) -> Hits:
        """The passages that answer a question, the best first, and what they are ranked by."""

    def fill(self, progress: Progress, seconds: float) -> str:
        """Make missing vectors, for so long at most; which are still missing then, and why: a sentence, or ""."""

    def stats(self) -> Stats:
        """What it holds."""

    def clear(self) -> Stats:
        """Forget all; what it held."""


class Library:
    """A Store that ranks by words (BM25), and by meaning where that is set up.

    What is put is found by its words at once; `fill` makes the vectors, and so does each search for a moment.
    """

    def __init__(
        self, state: State, token: CancelToken, meaning: Meaning | None = None, rerank: Rerank | None = None
    ) -> None:
        """`rerank` judges the best passages once more; without it, what `meaning` has for that, if it has."""
        self._token = token
        self._rerank = rerank or (_reranking(meaning, token) if meaning is not None and meaning.reranks else None)
        self._base = Database(state, token, "library", _TABLES, _SECOND, _THIRD, entries.BLOCKS)
        self._behind = Behind(state, token, self._base, meaning)

    def knows(self, document: Document) -> bool:
        """Whether just this version of a document is kept."""
        if not self._base.exists:
            return False
        with self._base.opened() as base:
            row = base.execute(
                "select form, digest, cut from documents where kind = ? and source = ?",
                (document.kind, document.source),
            ).fetchone()
            return bool(row == (document.form, document.digest, CUT))

    def put(self, document: Document, chunks: Sequence[Chunk]) -> bool:
        """Keep a document in the place of an older version of it; whether there was one."""
        self._behind.check()  # that the document is kept whole, or not at all
        counts = []
        for at, one in enumerate(chunks):
            if at % _AT_ONCE == 0:
                self._token.check()
            counts.append(passages.terms(f"{document.source} {one.title} {one.text}"))
        with self._base.changing() as base:
            replaced = _forget(base, document.kind, document.source)
            characters = sum(len(one.text) for one in chunks)
            _check_room(base, len(chunks), characters)
            length = sum(sum(one.values()) for one in counts)
            values = (document.kind, document.source, document.form, document.digest, document.bytes, time.time())
            words = _squeezed(sorted({term for one in counts for term in one}))
            block = entries.block(base)
            number = base.execute(
                "insert into documents (kind, source, form, digest, bytes, added, pieces, characters, length, terms, "
                "cut, block) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, len(chunks), characters, length, words, CUT, block),
            ).lastrowid
            numbers = [_insert(base, number, one) for one in chunks]
            behind.added(base, numbers)
            entries.add(base, block, numbers, counts)
        return replaced

    def drop(self, kind: Kind, source: str) -> bool:
        """Forget one document; False if there was none."""
        if not self._base.exists:
            return False
        with self._base.changing() as base:
            return _forget(base, kind, source)

    def documents(self) -> list[tuple[Kind, str, str]]:
        """Kind, source and form of every document, in the order of their sources."""
        if not self._base.exists:
            return []
        with self._base.opened() as base:
            return base.execute("select kind, source, form from documents order by source, kind").fetchall()

    def text(self, kind: str, source: str) -> str | None:
        """The text of a document, put together from its pieces; None if there is no such one."""
        if not self._base.exists:
            return None
        with self._base.opened() as base:
            rows = base.execute(
                "select text from pieces join documents on documents.number = pieces.document "
                "where kind = ? and source = ? order by pieces.number",
                (kind, source),
            ).fetchall()
        return joined(text for (text,) in rows) if rows else None

    def search(self, query: str, limit: int, *, by: fusion.By = "both") -> Hits:
        """The passages that answer a question, the best first, and what they are ranked by."""
        near, ranking = self._behind.near(query) if by != "words" else ({}, Ranking())
        if not self._base.exists:
            return Hits([], 0, ranking)
        most = limit if self._rerank is None else max(limit, _JUDGED)
        looked = max(most, fusion.LOOKED) if by == "both" else most
        with self._base.opened() as base:
            base.execute("begin")  # one state for all that is read
            whole = len(near) < behind.NEAR
            best, total = self._best(base, query if by != "meaning" else "", near, whole, looked)
            base.execute("commit")
        if by == "both":
            best = _in_its_words(query, best, unit=1.0 if near or not best else best[0].score)
        best, said = self._judged(query, best[:most])
        ranking = replace(ranking, reason=f"{ranking.reason} {said}".strip())
        return Hits(best[:limit], total, ranking)

    def _best(
        self, base: sqlite3.Connection, query: str, near: Mapping[int, float], whole: bool, most: int
    ) -> tuple[list[Passage], int]:
        """So many of the passages that answer, the best first, and how many do."""
        words, total = entries.best(base, query, near, self._token)
        ordered = fusion.fused(words, near, whole=whole)
        best = [one for number, score in ordered[:most] if (one := _passage(base, number, score))]
        if len(best) < min(most, len(ordered)):  # of a piece that is gone a vector was left, which is rare
            return self._best(base, query, behind.present(base, near), whole, most)
        return best, max(total, len(ordered))

    def fill(self, progress: Progress, seconds: float) -> str:
        """Make missing vectors, for so long at most; which are still missing then, and why: a sentence, or ""."""
        return self._behind.fill(progress, seconds)

    def _judged(self, query: str, best: list[Passage]) -> tuple[list[Passage], str]:
        """The passages in the order of `rerank`, and what is to be said of that: a sentence, or ""."""
        if self._rerank is None or not best:
            return best, ""
        try:
            scores = self._rerank(query, best)
        except ToolError as error:  # there is an order without it
            self._token.check()  # unless it is the call itself that ends
            return best, error.message
        judged = sorted(zip(best, scores, strict=True), key=lambda one: -one[1])
        return [replace(one, score=round(score, 4)) for one, score in judged], _JUDGED_SO

    def stats(self) -> Stats:
        """What it holds."""
        if not self._base.exists:
            return Stats()
        with self._base.opened() as base:
            return replace(_stats(base), waiting=self._behind.waiting(base))

    def clear(self) -> Stats:
        """Forget all; what it held."""
        if not self._base.exists:
            return Stats()
        self._behind.check()
        with self._base.changing() as base:
            held = replace(_stats(base), waiting=self._behind.waiting(base))
            behind.cleared(base)
            for table in ("documents", "pieces", "entries"):
                base.execute(f"delete from {table}")
        with self._base.opened() as base:
            base.execute("vacuum")  # the room is given back, and what was deleted is in no page of the file
        self._behind.clear()
        return held


def _reranking(meaning: Meaning, token: CancelToken) -> Rerank:
    def rerank(query: str, best: Sequence[Passage]) -> list[float]:
        return meaning.reranker.scores(query, [f"{one.title}\n{one.text}".strip() for one in best], token)

    return rerank


def _in_its_words(query: str, best: Sequence[Passage], unit: float) -> list[Passage]:
    """The passages in the order that they have when it counts, too, which say it in the words of the question."""
    more = fusion.said(query, [f"{one.title}\n{one.text}" for one in best])
    made = [replace(one, score=round(one.score + unit * extra, 4)) for one, extra in zip(best, more, strict=True)]
    return sorted(made, key=lambda one: -one.score)


def _insert(base: sqlite3.Connection, document: int | None, chunk: Chunk) -> int:
    made = base.execute(
        "insert into pieces (document, first, last, title, text, page) values (?, ?, ?, ?, ?, ?)",
        (document, chunk.start, chunk.end, chunk.title, chunk.text, chunk.page),
    )
    return int(made.lastrowid or 0)


def _forget(base: sqlite3.Connection, kind: Kind, source: str) -> bool:
    row = base.execute(
        "select number, block, terms from documents where kind = ? and source = ?", (kind, source)
    ).fetchone()
    if row is None:
        return False
    number, block, terms = row
    first, last = base.execute("select min(number), max(number) from pieces where document = ?", (number,)).fetchone()
    if first is not None:
        entries.forget(base, block, range(first, last + 1), _unsqueezed(terms))
    behind.forgotten(base, number)
    base.execute("delete from pieces where document = ?", (number,))
    base.execute("delete from documents where number = ?", (number,))
    return True


def _passage(base: sqlite3.Connection, number: int, score: float) -> Passage | None:
    row = base.execute(
        "select source, title, text, first, last, kind, form, digest, page from pieces "
        "join documents on documents.number = pieces.document where pieces.number = ?",
        (number,),
    ).fetchone()
    if row is None:
        return None
    source, title, text, *others = row
    return Passage(source, title, text, round(score, 4), *others)


def _stats(base: sqlite3.Connection) -> Stats:
    documents, pieces, characters = base.execute("select documents, pieces, characters from totals").fetchone()
    forms = dict(base.execute("select form, count(*) from documents group by form order by form").fetchall())
    (pages,), (size,) = (base.execute(f"pragma {name}").fetchone() for name in ("page_count", "page_size"))
    return Stats(documents, pieces, characters, forms, pages * size)


def _check_room(base: sqlite3.Connection, more: int, longer: int) -> None:
    documents, pieces, characters = base.execute("select documents, pieces, characters from totals").fetchone()
    if documents + 1 > DOCUMENTS or pieces + more > PIECES or characters + longer > CHARACTERS:
        raise ToolError(
            ErrorCode.TOO_LARGE,
            f"The library is full: {documents} documents in {pieces} pieces. "
            "Take some out with action 'clear' and `path` or `title`.",
        )


def _squeezed(words: Sequence[str]) -> bytes:
    import zlib

    return zlib.compress("\n".join(words).encode())


def _unsqueezed(data: bytes) -> list[str]:
    import sqlite3
    import zlib

    try:
        return zlib.decompress(data).decode().split("\n")
    except (zlib.error, UnicodeDecodeError) as error:  # told of as a broken file is
        raise sqlite3.OperationalError("the terms of a document cannot be read") from error
