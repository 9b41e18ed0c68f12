"""Documents share blocks of entries: what is found does not depend on who joined whom."""

import random
import sqlite3
from array import array

import pytest

from toolroll.host.knowledge import library
from toolroll.host.knowledge import postings as entries
from toolroll.host.knowledge.library import Library
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.database import Database
from toolroll.host.runtime.state import State
from toolroll.text.knowledge import passages
from toolroll.text.knowledge.chunks import Chunk
from toolroll.text.knowledge.passages import LibraryDocument

WORDS = [f"word{chr(97 + at)}" for at in range(20)]
QUESTION = "worda wordb wordc the"


@pytest.fixture
def made(tmp_path):
    """Libraries by name."""
    states = []

    def make(name):
        states.append(State(str(tmp_path / name)))
        return Library(states[-1], CancelToken())

    yield make
    for state in states:
        state.close()


def document(source, version="1"):
    return LibraryDocument("file", source, "text", version, 1)


def chunks(luck):
    texts = (" ".join(luck.choices(WORDS, k=luck.randint(2, 30))) for _ in range(luck.randint(1, 9)))
    return [Chunk(text, at, at) for at, text in enumerate(texts, 1)]


def changed(kept, turns=60):
    """A library in which documents came, changed and went; what it holds in the end."""
    luck, held = random.Random(5), {}
    for turn in range(turns):
        source = f"file{luck.randrange(25)}"
        if source in held and luck.random() < 0.4:
            assert kept.drop("file", source)
            del held[source]
        else:
            held[source] = chunks(luck)
            kept.put(document(source, str(turn)), held[source])
    return held


def opened(path):
    return sqlite3.connect(path / "library/library.sqlite")


def kept_entries(base):
    """Every entry, read off the blocks: term, number, times, length."""
    rows = base.execute("select term, data from entries order by term, block").fetchall()
    for _, data in rows:
        numbers = list(array("I", data)[::3])
        assert numbers == sorted(set(numbers)) != []
    found = [(term, *part) for term, data in rows for part in zip(*[iter(array("I", data))] * 3, strict=True)]
    return sorted(found)


def wanted_entries(base):
    """Every entry, from the texts."""
    found = []
    texts = "select pieces.number, source, title, text from pieces join documents on documents.number = document"
    for number, source, title, text in base.execute(texts):
        counts = passages.count_terms(f"{source} {title} {text}")
        found += [(term, number, times, sum(counts.values())) for term, times in counts.items()]
    return sorted(found)


@pytest.mark.parametrize("room", [1, 20, 10_000])
def test_blocks_hold_what_the_pieces_have(made, tmp_path, monkeypatch, room):
    monkeypatch.setattr(entries, "_BLOCK_PIECES", room)
    kept = made("one")
    held = changed(kept)
    base = opened(tmp_path / "one")
    assert kept_entries(base) == wanted_entries(base)
    sums = "count(*), sum(pieces), sum(characters), sum(length)"
    assert base.execute("select * from totals").fetchall() == base.execute(f"select {sums} from documents").fetchall()
    sizes = [pieces for (pieces,) in base.execute("select sum(pieces) from documents group by block")]
    base.close()
    assert (len(sizes) == len(held), len(sizes) == 1) == (room == 1, room == 10_000)
    assert max(sizes) < room + 9  # the last one to join may have nine pieces
    fresh = made("two")
    for source, pieces in held.items():
        fresh.put(document(source), pieces)
    assert shown(kept) == shown(fresh)


def shown(kept):
    found = kept.search(QUESTION, 50)
    return found.total, sorted((one.score, one.source, one.start) for one in found.passages[:20])


def test_nothing_is_left_of_what_has_gone(made, tmp_path):
    kept = made("one")
    for source in changed(kept):
        kept.drop("file", source)
    base = opened(tmp_path / "one")
    assert [base.execute(f"select * from {name}").fetchall() for name in ("entries", "totals")] == [[], [(0, 0, 0, 0)]]
    base.close()


def test_a_library_of_an_earlier_layout_is_kept(made, tmp_path):
    state = State(str(tmp_path / "old"))
    held = {f"file{at}": chunks(random.Random(at)) for at in range(8)}
    with Database(
        state, CancelToken(), "library", library._TABLES, library._SECOND, library._THIRD
    ).transaction() as base:
        for source, pieces in held.items():
            before(base, source, pieces)
    state.close()
    kept, fresh = made("old"), made("new")
    for source, pieces in held.items():
        fresh.put(document(source), pieces)
    assert shown(kept) == shown(fresh)
    for one in (kept, fresh):
        assert one.drop("file", "file3")
        one.put(document("file5", "2"), held["file3"])
        one.put(document("file9"), held["file5"])
    assert shown(kept) == shown(fresh)
    base = opened(tmp_path / "old")
    assert kept_entries(base) == wanted_entries(base)
    base.close()


def before(base, source, pieces):
    """As a document was kept when it had rows of its own."""
    counts = [passages.count_terms(f"{source} {one.title} {one.text}") for one in pieces]
    words = library._compress_terms(sorted({term for one in counts for term in one}))
    sums = (len(pieces), sum(len(one.text) for one in pieces), sum(sum(one.values()) for one in counts))
    names = "kind, source, form, digest, bytes, added, pieces, characters, length, terms"
    values = ("file", source, "text", "1", 1, 0.0, *sums, words)
    number = base.execute(f"insert into documents ({names}) values ({', '.join('?' * 10)})", values).lastrowid
    numbers = [library._insert(base, number, one) for one in pieces]
    packed = passages.pack_entries(zip(numbers, counts, strict=True))
    rows = [(term, number, part.tobytes()) for term, part in packed.items()]
    base.executemany("insert into entries values (?, ?, ?)", rows)


def test_the_best_and_those_that_are_asked_for_get_scores(made, tmp_path, monkeypatch):
    changed(made("one"))
    base = opened(tmp_path / "one")
    monkeypatch.setattr(entries, "_MAX_SCORED", 10**6)
    every, total = entries.best(base, QUESTION, (), CancelToken())
    order = sorted(every, key=lambda number: (-every[number], number))
    monkeypatch.setattr(entries, "_MAX_SCORED", 5)
    also = [order[-1], order[7], 10**7, 0]
    found, count = entries.best(base, QUESTION, also, CancelToken())
    base.close()
    assert len(order) > 50
    assert (count, found) == (total, {number: every[number] for number in (*order[:5], order[-1], order[7])})
