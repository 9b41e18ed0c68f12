"""The document library of a workspace: passages ranked by words and by meaning, in a database of the state folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolroll.host.knowledge import postings
from toolroll.host.knowledge.vectors import backfill
from toolroll.host.knowledge.vectors.backfill import VectorBackfill
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge import evidence, fusion, passages
from toolroll.text.knowledge.chunks import SPLIT_VERSION, Chunk, join_pieces
from toolroll.text.knowledge.passages import Hits, Kind, LibraryDocument, Passage, RankingMethod

if TYPE_CHECKING:
    import sqlite3

    from toolroll.host.knowledge.semantic import SemanticRanking
    from toolroll.host.runtime.call import Progress
    from toolroll.text.knowledge.evidence import AskedWords

Rerank = Callable[[str, Sequence[Passage]], Sequence[float]]
"""From a question and its best passages to the score of each."""

MAX_DOCUMENTS, MAX_PIECES, MAX_CHARACTERS = 20_000, 200_000, 500_000_000  # what a library holds at most

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
    *backfill.TABLES,
)
_THIRD = ("alter table documents add column cut integer not null default 1",)
_MIN_RERANKED = 20  # passages
_RERANKED_NOTE = "The best were reordered by a reranking model."
_CHECK_EVERY_PIECES = 500  # pieces between two looks at the clock


@dataclass(frozen=True, slots=True)
class LibrarySize:
    """What a library holds."""

    documents: int = 0
    pieces: int = 0
    characters: int = 0
    forms: dict[str, int] = field(default_factory=dict)
    """How many documents of each form."""
    bytes: int = 0
    waiting: int = 0
    """Pieces that no vector was made of yet."""


@dataclass(slots=True)
class LibrarySource:
    """A folder that documents are from."""

    name: str
    documents: int = 0
    pieces: int = 0
    added: float = 0.0
    """When a document of it was last added."""


class Library:
    """Stores documents in pieces and finds them by words (BM25), and by meaning where that is set up.

    What is put is found by its words at once. Vectors are made in the background, once `embed` or a search was called.
    """

    def __init__(
        self, state: State, token: CancelToken, meaning: SemanticRanking | None = None, rerank: Rerank | None = None
    ) -> None:
        """`rerank` reorders the best passages; by default the reranker of `meaning`, if it has one."""
        self._token = token
        self._rerank = rerank or (_reranking(meaning, token) if meaning is not None and meaning.reranks else None)
        self._base = Database(state, token, "library", _TABLES, _SECOND, _THIRD, postings.BLOCKS)
        self._behind = VectorBackfill(state, token, self._base, meaning)

    def knows(self, document: LibraryDocument) -> bool:
        """Whether exactly this version of a document is stored."""
        text = "select form, digest, cut from documents where kind = ? and source = ?"
        return self._rows(text, document.kind, document.source) == [(document.form, document.digest, SPLIT_VERSION)]

    def put(self, document: LibraryDocument, chunks: Sequence[Chunk]) -> bool:
        """Store a document in place of its older version; returns whether there was one."""
        return self.put_all([(document, chunks)])[0]

    def put_all(self, documents: Sequence[tuple[LibraryDocument, Sequence[Chunk]]]) -> list[bool]:
        """Store documents, all or none of them; returns for each whether it replaces an older version."""
        self._behind.check()  # that a document is kept whole, or not at all
        counted = [self._count_terms(document, chunks) for document, chunks in documents]
        replaced: list[bool] = []
        entries: dict[int, list[tuple[int, Counter[str]]]] = {}  # by block
        with self._base.transaction() as base:
            for (document, chunks), counts in zip(documents, counted, strict=True):
                replaced.append(_forget(base, document.kind, document.source))
                _check_room(base, len(chunks), sum(len(one.text) for one in chunks))
                block, numbers = _insert_document(base, document, chunks, counts)
                backfill.add_missing(base, numbers)
                entries.setdefault(block, []).extend(zip(numbers, counts, strict=True))
            for block, pieces in entries.items():
                postings.add(base, block, pieces)
        return replaced

    def _count_terms(self, document: LibraryDocument, chunks: Sequence[Chunk]) -> list[Counter[str]]:
        counts = []
        for at, one in enumerate(chunks):
            if at % _CHECK_EVERY_PIECES == 0:
                self._token.check()
            counts.append(passages.count_terms(f"{document.source} {one.title} {one.text}"))
        return counts

    def drop(self, kind: Kind, source: str) -> bool:
        if not self._base.exists:
            return False
        with self._base.transaction() as base:
            return _forget(base, kind, source)

    def documents(self) -> list[tuple[Kind, str, str]]:
        """Kind, source and form of every document, in the order of their sources."""
        return self._rows("select kind, source, form from documents order by source, kind")

    def beneath(self, source: str) -> list[str]:
        """The files of the library that are this one, or in this folder; all for ""."""
        rows = self._rows("select source from documents where kind = 'file' order by source")
        return [one for (one,) in rows if not source or one == source or one.startswith(f"{source}/")]

    def sources(self) -> list[LibrarySource]:
        """The folders that documents are from, by their first name, and what was given as text."""
        made: dict[str, LibrarySource] = {}
        for kind, source, pieces, added in self._rows("select kind, source, pieces, added from documents"):
            top, below, _ = source.partition("/") if kind == "file" else ("", "", "")
            name = f"{top}/" if below else "texts" if kind == "text" else "."
            one = made.setdefault(name, LibrarySource(name))
            one.documents += 1
            one.pieces += pieces
            one.added = max(one.added, added)
        return sorted(made.values(), key=lambda one: one.name)

    def text(self, kind: str, source: str) -> str | None:
        """The text of a document, put together from its pieces; None if there is no such one."""
        joined = "pieces join documents on documents.number = pieces.document"
        where = "kind = ? and source = ? order by pieces.number"
        rows = self._rows(f"select text from {joined} where {where}", kind, source)
        return join_pieces(text for (text,) in rows) if rows else None

    def _rows(self, text: str, *values: str) -> list[Any]:
        if not self._base.exists:
            return []
        with self._base.connect() as base:
            return base.execute(text, values).fetchall()

    def search(self, query: str, limit: int, *, by: fusion.By = "both") -> Hits:
        """The passages that answer a question, the best first, and what they are ranked by."""
        near, ranking = self._behind.near(query) if by != "words" else ({}, RankingMethod())
        if not self._base.exists:
            return Hits([], 0, ranking)
        most = limit if self._rerank is None else max(limit, _MIN_RERANKED)
        looked = max(most, fusion.RESCORED) if by == "both" else most
        with self._base.connect() as base:
            base.execute("begin")  # one state for all that is read
            asked = _look_up(base, query) if by == "both" else None
            best, total = self._best(base, query if by != "meaning" else "", near, looked, asked)
            base.execute("commit")
        if asked is not None and not best:
            return Hits([], 0, ranking, asked.unknown)
        if by == "both":
            best = _in_its_words(query, best, unit=1.0 if near or not best else best[0].score)
        best, said = self._rerank_best(query, best[:most])
        ranking = replace(ranking, reason=f"{ranking.reason} {said}".strip())
        return Hits(best[:limit], total, ranking)

    def _best(
        self, base: sqlite3.Connection, query: str, near: Mapping[int, float], most: int, asked: AskedWords | None
    ) -> tuple[list[Passage], int]:
        """So many of the passages that answer, the best first, and how many do.

        If the library lacks much of what was `asked` for, only those count that have the rest or are very near.
        """
        words, total = postings.best(base, query, near, self._token)
        unknown = self._behind.unknown(base, words)
        if unknown:  # what is asked for is embedded first
            self._behind.start(unknown[: fusion.RESCORED])
        ordered = fusion.fuse(words, near, unknown if len(near) == backfill.MAX_NEAREST else None)
        best = [one for number, score in ordered[:most] if (one := _passage(base, number, score))]
        if len(best) < min(most, len(ordered)):  # of a piece that is gone a vector was left, which is rare
            return self._best(base, query, backfill.keep_present(base, near), most, asked)
        if asked is not None:
            sure = {number for number, cosine in near.items() if cosine >= fusion.SURE_SIMILARITY}
            answering = zip(best, (number for number, _ in ordered), strict=False)
            best = [one for one, number in answering if number in sure or asked.covered_by(f"{one.title}\n{one.text}")]
            return best, len(best)
        return best, max(total, len(ordered))

    def embed(self, progress: Progress, seconds: float) -> str:
        """Make missing vectors, for at most this long before the background goes on alone.

        Returns how many are missing then, and why: a sentence, or "".
        """
        self._behind.retry_broken()
        self._behind.start()
        return self._behind.wait(seconds, progress)

    def say_missing(self) -> str:
        """How many passages have no vector yet, and why: a sentence, or ""."""
        return self._behind.say_missing()

    def _rerank_best(self, query: str, best: list[Passage]) -> tuple[list[Passage], str]:
        """The passages in the order of `rerank`, and a note on it: a sentence, or ""."""
        if self._rerank is None or not best:
            return best, ""
        try:
            scores = self._rerank(query, best)
        except ToolError as error:  # there is an order without it
            self._token.check()  # unless it is the call itself that ends
            return best, error.message
        judged = sorted(zip(best, scores, strict=True), key=lambda one: -one[1])
        return [replace(one, score=round(score, 4)) for one, score in judged], _RERANKED_NOTE

    def stats(self) -> LibrarySize:
        if not self._base.exists:
            return LibrarySize()
        with self._base.connect() as base:
            return replace(_stats(base), waiting=self._behind.waiting(base))

    def clear(self) -> LibrarySize:
        if not self._base.exists:
            return LibrarySize()
        self._behind.check()
        with self._base.transaction() as base:
            held = replace(_stats(base), waiting=self._behind.waiting(base))
            backfill.clear_vectors(base)
            for table in ("documents", "pieces", "entries"):
                base.execute(f"delete from {table}")
        with self._base.connect() as base:
            base.execute("vacuum")  # the room is given back, and what was deleted is in no page of the file
        self._behind.clear()
        return held


def _look_up(base: sqlite3.Connection, query: str) -> AskedWords | None:
    """The words of a question, if the library lacks so many that it hardly answers; None if it may, or is small."""
    (pieces,) = base.execute("select pieces from totals").fetchone()
    if pieces < evidence.MIN_PIECES:
        return None
    asked = evidence.find_unknown(query, postings.find_known(base, evidence.list_terms(query)))
    return asked if asked.doubtful else None


def _reranking(meaning: SemanticRanking, token: CancelToken) -> Rerank:
    def rerank(query: str, best: Sequence[Passage]) -> list[float]:
        return meaning.reranker.scores(query, [f"{one.title}\n{one.text}".strip() for one in best], token)

    return rerank


def _in_its_words(query: str, best: Sequence[Passage], unit: float) -> list[Passage]:
    """Reorder the first passages by how much of the question's wording they have, those of files without prose last.

    However many are asked for, the same ones are looked at, so that the order of the first stays the same.
    """
    best, rest = best[: fusion.RESCORED], best[fusion.RESCORED :]
    more = fusion.score_wording(query, [f"{one.title}\n{one.text}" for one in best])
    made = []
    for one, extra in zip(best, more, strict=True):
        share = fusion.weigh_source(one.source, query) if one.kind == "file" else 1.0
        made.append(replace(one, score=round(share * (one.score + unit * extra), 4)))
    return [*sorted(made, key=lambda one: -one.score), *rest]


def _insert_document(
    base: sqlite3.Connection, document: LibraryDocument, chunks: Sequence[Chunk], counts: Sequence[Counter[str]]
) -> tuple[int, list[int]]:
    """Insert a document and its pieces; the block that it joins, and the numbers of the pieces."""
    characters, length = sum(len(one.text) for one in chunks), sum(one.total() for one in counts)
    values = (document.kind, document.source, document.form, document.digest, document.bytes, time.time())
    words = _compress_terms(sorted({term for one in counts for term in one}))
    block = postings.block(base)
    number = base.execute(
        "insert into documents (kind, source, form, digest, bytes, added, pieces, characters, length, terms, "
        "cut, block) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, len(chunks), characters, length, words, SPLIT_VERSION, block),
    ).lastrowid
    return block, [_insert(base, number, one) for one in chunks]


def _insert(base: sqlite3.Connection, document: int | None, chunk: Chunk) -> int:
    made = base.execute(
        "insert into pieces (document, first, last, title, text, page) values (?, ?, ?, ?, ?, ?)",
        (document, chunk.start, chunk.end, chunk.title, chunk.text, chunk.page),
    )
    return int(made.lastrowid or 0)


def _forget(base: sqlite3.Connection, kind: Kind, source: str) -> bool:
    text = "select number, block, terms from documents where kind = ? and source = ?"
    row = base.execute(text, (kind, source)).fetchone()
    if row is None:
        return False
    number, block, terms = row
    first, last = base.execute("select min(number), max(number) from pieces where document = ?", (number,)).fetchone()
    if first is not None:
        postings.forget(base, block, range(first, last + 1), _decompress_terms(terms))
    backfill.forget_document(base, number)
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


def _stats(base: sqlite3.Connection) -> LibrarySize:
    documents, pieces, characters = base.execute("select documents, pieces, characters from totals").fetchone()
    forms = dict(base.execute("select form, count(*) from documents group by form order by form").fetchall())
    (pages,), (size,) = (base.execute(f"pragma {name}").fetchone() for name in ("page_count", "page_size"))
    return LibrarySize(documents, pieces, characters, forms, pages * size)


def _check_room(base: sqlite3.Connection, more: int, longer: int) -> None:
    documents, pieces, characters = base.execute("select documents, pieces, characters from totals").fetchone()
    if documents + 1 > MAX_DOCUMENTS or pieces + more > MAX_PIECES or characters + longer > MAX_CHARACTERS:
        raise ToolError(
            ErrorCode.TOO_LARGE,
            f"The library is full: {documents} documents in {pieces} pieces. "
            "Take some out with action 'clear' and `path` or `title`.",
        )


def _compress_terms(words: Sequence[str]) -> bytes:
    import zlib

    return zlib.compress("\n".join(words).encode())


def _decompress_terms(data: bytes) -> list[str]:
    import sqlite3
    import zlib

    try:
        return zlib.decompress(data).decode().split("\n")
    except (zlib.error, UnicodeDecodeError) as error:  # reported as a broken file
        raise sqlite3.OperationalError("the terms of a document cannot be read") from error
