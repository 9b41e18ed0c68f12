"""The library of a workspace: documents in pieces, found by words and by meaning, in a database of the state folder."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

from toolroll.host import numeric
from toolroll.host.database import Database
from toolroll.host.state import State
from toolroll.host.token import Token
from toolroll.host.vectors import behind
from toolroll.host.vectors.behind import Behind
from toolroll.result import ErrorCode, ToolError
from toolroll.text import fusion, passages
from toolroll.text.chunks import CUT, Chunk, joined
from toolroll.text.passages import Bm25, Document, Hits, Kind, Passage, Ranking

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.context import Progress
    from toolroll.host.embedding.meaning import Meaning

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
_BEST = 1_000  # pieces that are looked at, of those that share a word
_MANY = 20_000  # pieces from which on plain words are not looked for
_LARGE = 200_000  # bytes of entries from which on numpy pays
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
        self, state: State, token: Token, meaning: Meaning | None = None, rerank: Rerank | None = None
    ) -> None:
        """`rerank` judges the best passages once more; without it, what `meaning` has for that, if it has."""
        self._token = token
        self._rerank = rerank or (_reranking(meaning, token) if meaning is not None and meaning.reranks else None)
        self._base = Database(state, token, "library", _TABLES, _SECOND, _THIRD)
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
            _check_room(_stats(base), len(chunks), characters)
            words = sorted({term for one in counts for term in one})
            length = sum(sum(one.values()) for one in counts)
            values = (document.kind, document.source, document.form, document.digest, document.bytes, time.time())
            number = base.execute(
                "insert into documents (kind, source, form, digest, bytes, added, pieces, characters, length, terms, "
                "cut) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, len(chunks), characters, length, _squeezed(words), CUT),
            ).lastrowid
            numbers = [_insert(base, number, one) for one in chunks]
            behind.added(base, numbers)
            packed = passages.packed(zip(numbers, counts, strict=True))
            rows = [(term, number, packed[term].tobytes()) for term in words]
            base.executemany("insert into entries values (?, ?, ?)", rows)
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
        with self._base.opened() as base:
            base.execute("begin")  # one state for all that is read
            words, total = _by_words(base, query, self._token) if by != "meaning" else ({}, 0)
            whole = len(near) < behind.NEAR
            ordered = fusion.fused(words, behind.present(base, near), whole=whole)
            most = limit if self._rerank is None else max(limit, _JUDGED)
            best = [_passage(base, number, score) for number, score in ordered[:most]]
            base.execute("commit")
        best, said = self._judged(query, best)
        ranking = replace(ranking, reason=f"{ranking.reason} {said}".strip())
        return Hits(best[:limit], max(total, len(ordered)), ranking)

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


def _reranking(meaning: Meaning, token: Token) -> Rerank:
    def rerank(query: str, best: Sequence[Passage]) -> list[float]:
        return meaning.reranker.scores(query, [f"{one.title}\n{one.text}".strip() for one in best], token)

    return rerank


def _insert(base: sqlite3.Connection, document: int | None, chunk: Chunk) -> int:
    made = base.execute(
        "insert into pieces (document, first, last, title, text, page) values (?, ?, ?, ?, ?, ?)",
        (document, chunk.start, chunk.end, chunk.title, chunk.text, chunk.page),
    )
    return int(made.lastrowid or 0)


def _forget(base: sqlite3.Connection, kind: Kind, source: str) -> bool:
    row = base.execute("select number, terms from documents where kind = ? and source = ?", (kind, source)).fetchone()
    if row is None:
        return False
    number, terms = row
    base.executemany(
        "delete from entries where term = ? and document = ?", [(term, number) for term in _unsqueezed(terms)]
    )
    behind.forgotten(base, number)
    base.execute("delete from pieces where document = ?", (number,))
    base.execute("delete from documents where number = ?", (number,))
    return True


def _by_words(base: sqlite3.Connection, query: str, token: Token) -> tuple[dict[int, float], int]:
    """The scores of the passages that share most with a question, and how many share anything."""
    question = passages.asked(query)
    texts, length = base.execute("select total(pieces), total(length) from documents").fetchone()
    if texts > _MANY:  # plain words are in nearly every piece, so that they cost most and tell least
        question = {term: question[term] for term in passages.telling(question)}
    entries = {}
    for term in question:
        token.check()
        rows: list[tuple[bytes]] = base.execute("select data from entries where term = ?", (term,)).fetchall()
        entries[term] = b"".join(map(itemgetter(0), rows))
    ranking = Bm25(int(texts), length / texts if texts else 1.0)
    if sum(map(len, entries.values())) > _LARGE and (fast := numeric.numpy()) is not None:
        return ranking.best(question, entries, _BEST, fast)
    scores = ranking.scores(question, entries)
    best = heapq.nsmallest(_BEST, scores, key=lambda number: (-scores[number], number))
    return {number: scores[number] for number in best}, len(scores)


def _passage(base: sqlite3.Connection, number: int, score: float) -> Passage:
    source, title, text, first, last, kind, form, digest, page = base.execute(
        "select source, title, text, first, last, kind, form, digest, page from pieces "
        "join documents on documents.number = pieces.document where pieces.number = ?",
        (number,),
    ).fetchone()
    return Passage(source, title, text, round(score, 4), first, last, kind, form, digest, page)


def _stats(base: sqlite3.Connection) -> Stats:
    documents, pieces, characters = base.execute(
        "select count(*), total(pieces), total(characters) from documents"
    ).fetchone()
    forms = dict(base.execute("select form, count(*) from documents group by form order by form").fetchall())
    (pages,), (size,) = (base.execute(f"pragma {name}").fetchone() for name in ("page_count", "page_size"))
    return Stats(documents, int(pieces), int(characters), forms, pages * size)


def _check_room(now: Stats, pieces: int, characters: int) -> None:
    full = now.documents + 1 > DOCUMENTS or now.pieces + pieces > PIECES or now.characters + characters > CHARACTERS
    if full:
        raise ToolError(
            ErrorCode.TOO_LARGE,
            f"The library is full: {now.documents} documents in {now.pieces} pieces. "
            "Take some out with action 'clear' and `path` or `title`.",
        )


def _squeezed(words: Sequence[str]) -> bytes:
    import zlib

    return zlib.compress("\n".join(words).encode())


def _unsqueezed(data: bytes) -> list[str]:
    import zlib

    return zlib.decompress(data).decode().split("\n")
