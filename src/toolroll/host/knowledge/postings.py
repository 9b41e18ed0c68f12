"""The entries of a library: which of its pieces have a term, how often, and how long they are.

Documents are put together in blocks, and a block has one row for each term: a search reads few rows, however many
documents there are, and a document is added and taken out without a look at those of other blocks.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from toolroll.host.runtime.cancellation import CancelToken
from toolroll.text.knowledge import passages
from toolroll.text.knowledge.passages import ENTRY_BYTES, Bm25

if TYPE_CHECKING:
    import sqlite3

BLOCKS = (
    # Once every document had its own rows; now that is a block, and others may join it there.
    "alter table documents add column block integer not null default 0",
    "update documents set block = number",
    "alter table entries rename column document to block",
    "drop index if exists sizes",
    "create index blocks on documents (block, pieces)",
    # What every search asks for, kept by the database itself.
    "create table totals (documents integer, pieces integer, characters integer, length integer)",
    "insert into totals select count(*), total(pieces), total(characters), total(length) from documents",
    "create trigger more after insert on documents begin update totals set documents = documents + 1, "
    "pieces = pieces + new.pieces, characters = characters + new.characters, length = length + new.length; end",
    "create trigger less after delete on documents begin update totals set documents = documents - 1, "
    "pieces = pieces - old.pieces, characters = characters - old.characters, length = length - old.length; end",
)

_BLOCK_PIECES = 1_000  # pieces that a block has when no other document joins it
_MAX_SCORED = 400  # pieces that are looked at, of those that share a word: more than any search shows and is near to it
_PLAIN_WORDS_MAX_PIECES = 20_000  # pieces from which on plain words are not looked for


def block(base: sqlite3.Connection) -> int:
    """The block that the next document joins: the first one with room, or a new one."""
    row = base.execute(
        "select block from documents group by block having total(pieces) < ? order by block limit 1", (_BLOCK_PIECES,)
    ).fetchone()
    if row is None:
        row = base.execute("select coalesce(max(block), 0) + 1 from documents").fetchone()
    return int(row[0])


def add(base: sqlite3.Connection, block: int, pieces: Sequence[tuple[int, Counter[str]]]) -> None:
    """Keep the terms of pieces, whose numbers are higher than any before."""
    packed = passages.pack_entries(pieces)
    base.executemany(
        "insert into entries values (?, ?, ?) on conflict do update set data = cast(data || excluded.data as blob)",
        [(term, block, data.tobytes()) for term, data in sorted(packed.items())],
    )


def forget(base: sqlite3.Connection, block: int, numbers: range, words: Sequence[str]) -> None:
    """Take the terms of a document's pieces out, whose numbers are one behind the other."""
    for term in words:
        row = base.execute("select data from entries where term = ? and block = ?", (term, block)).fetchone()
        if row is None:
            continue
        known = array("I", row[0])[::3]  # in order, since what is added has the highest numbers
        first, last = bisect_left(known, numbers.start), bisect_left(known, numbers.stop)
        left = row[0][: first * ENTRY_BYTES] + row[0][last * ENTRY_BYTES :]
        text = "update entries set data = ? where" if left else "delete from entries where ? = x'' and"
        base.execute(f"{text} term = ? and block = ?", (left, term, block))


def best(
    base: sqlite3.Connection, query: str, also: Collection[int], token: CancelToken
) -> tuple[dict[int, float], int]:
    """The scores of the passages that share most with a question, and of `also`; how many share anything."""
    question = passages.weigh_query(query)
    texts, length = base.execute("select pieces, length from totals").fetchone()
    if texts > _PLAIN_WORDS_MAX_PIECES:  # plain words are in nearly every piece, so that they cost most and tell least
        question = {term: question[term] for term in passages.required_terms(question)}
    entries = {}
    for term in question:
        token.check()
        rows: list[tuple[bytes]] = base.execute("select data from entries where term = ?", (term,)).fetchall()
        entries[term] = b"".join(map(itemgetter(0), rows))
    ranking = Bm25(int(texts), length / texts if texts else 1.0)
    scores = ranking.scores(question, entries)
    first = heapq.nsmallest(_MAX_SCORED, scores, key=lambda number: (-scores[number], number))
    return {number: scores[number] for number in (*first, *also) if number in scores}, len(scores)


def find_known(base: sqlite3.Connection, terms: Sequence[str]) -> set[str]:
    """Those of the terms that any piece has."""
    text = f"select distinct term from entries where term in ({', '.join('?' * len(terms))})"
    return {term for (term,) in base.execute(text, list(terms))}
