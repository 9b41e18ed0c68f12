"""The library of a workspace: documents in pieces, found by their words, in a database of the state folder."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from toolroll.host.database import Database
from toolroll.host.state import State
from toolroll.host.token import Token
from toolroll.result import ErrorCode, ToolError
from toolroll.text import passages
from toolroll.text.chunks import Chunk
from toolroll.text.passages import Document, Kind, Passage

if TYPE_CHECKING:
    import sqlite3

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


class Store(Protocol):
    """What keeps documents in pieces and finds them. One that also ranks by meaning has the same face."""

    def knows(self, document: Document) -> bool:
        """Whether just this version of a document is kept."""

    def put(self, document: Document, chunks: Sequence[Chunk]) -> bool:
        """Keep a document in the place of an older version of it; whether there was one."""

    def drop(self, kind: Kind, source: str) -> bool:
        """Forget one document; False if there was none."""

    def search(self, query: str, limit: int) -> tuple[list[Passage], int]:
        """The passages that answer a question, the best first, and how many there are."""

    def stats(self) -> Stats:
        """What it holds."""

    def clear(self) -> Stats:
        """Forget all; what it held."""


class Library:
    """A Store that ranks by words alone (BM25)."""

    def __init__(self, state: State, token: Token) -> None:
        self._token = token
        self._base = Database(state, token, "library", _TABLES)

    def knows(self, document: Document) -> bool:
        """Whether just this version of a document is kept."""
        if not self._base.exists:
            return False
        with self._base.opened() as base:
            row = base.execute(
                "select form, digest from documents where kind = ? and source = ?", (document.kind, document.source)
            ).fetchone()
            return bool(row == (document.form, document.digest))

    def put(self, document: Document, chunks: Sequence[Chunk]) -> bool:
        """Keep a document in the place of an older version of it; whether there was one."""
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
                "insert into documents (kind, source, form, digest, bytes, added, pieces, characters, length, terms) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, len(chunks), characters, length, _squeezed(words)),
            ).lastrowid
            numbers = [_insert(base, number, one) for one in chunks]
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

    def search(self, query: str, limit: int) -> tuple[list[Passage], int]:
        """The passages that answer a question, the best first, and how many there are."""
        if not self._base.exists:
            return [], 0
        question = passages.asked(query)
        with self._base.opened() as base:
            base.execute("begin")  # one state for all that is read
            texts, length = base.execute("select total(pieces), total(length) from documents").fetchone()
            entries = {term: _entries(base, term) for term in question}
            self._token.check()
            scores = passages.scores(question, entries, int(texts), length / texts if texts else 1.0)
            best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
            rows = {number: _passage(base, number, scores[number]) for number in best}
            base.execute("commit")
        return [rows[number] for number in best], len(scores)

    def stats(self) -> Stats:
        """What it holds."""
        if not self._base.exists:
            return Stats()
        with self._base.opened() as base:
            return _stats(base)

    def clear(self) -> Stats:
        """Forget all; what it held."""
        if not self._base.exists:
            return Stats()
        with self._base.changing() as base:
            held = _stats(base)
            for table in ("documents", "pieces", "entries"):
                base.execute(f"delete from {table}")
        with self._base.opened() as base:
            base.execute("vacuum")  # the room is given back, and what was deleted is in no page of the file
        return held


def _insert(base: sqlite3.Connection, document: int | None, chunk: Chunk) -> int:
    made = base.execute(
        "insert into pieces (document, first, last, title, text) values (?, ?, ?, ?, ?)",
        (document, chunk.start, chunk.end, chunk.title, chunk.text),
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
    base.execute("delete from pieces where document = ?", (number,))
    base.execute("delete from documents where number = ?", (number,))
    return True


def _entries(base: sqlite3.Connection, term: str) -> list[array[int]]:
    rows: Iterable[tuple[bytes]] = base.execute("select data from entries where term = ?", (term,))
    return [array("I", data) for (data,) in rows]


def _passage(base: sqlite3.Connection, number: int, score: float) -> Passage:
    source, title, text, first, last, kind, form, digest = base.execute(
        "select source, title, text, first, last, kind, form, digest from pieces "
        "join documents on documents.number = pieces.document where pieces.number = ?",
        (number,),
    ).fetchone()
    return Passage(source, title, text, round(score, 4), first, last, kind, form, digest)


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
