"""Vectors behind a library: missing ones are made, those that are too many go, whoever dies in between."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from tests.host.http.web import reply
from tests.host.knowledge.vectors.qdrant import Qdrant
from tests.host.models.embedding import served
from tests.host.models.embedding.served import Embeddings, vector
from toolroll import Kit, ToolError
from toolroll.host.http.client import Client
from toolroll.host.knowledge.library import Library
from toolroll.host.knowledge.semantic import SemanticRanking
from toolroll.host.knowledge.vectors import qdrant_edge
from toolroll.host.models.embedding import embedder
from toolroll.host.models.embedding.embedder import RemoteEmbedder
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.file_lock import try_lock
from toolroll.host.runtime.state import State
from toolroll.text.knowledge.chunks import Chunk
from toolroll.text.knowledge.passages import LibraryDocument, RankingMethod

TOKEN = CancelToken()
CAR, SOUP, OTHER = Chunk("The automobile is red.", 1, 1), Chunk("Soup at noon.", 2, 2, "Lunch"), Chunk("Nothing else.", 3, 3)  # fmt: skip
BOTH = RankingMethod("meaning and words")


def document(source, version="1"):
    return LibraryDocument("file", source, "markdown", version, 100)


@pytest.fixture
def server():
    with Embeddings() as made:
        yield made


@pytest.fixture
def opened(tmp_path, server):
    """A library, and what ranks it by meaning."""
    made = []

    def make(token=TOKEN, **environment):
        state = State(str(tmp_path / "state"))
        meaning = SemanticRanking(state, Client(), server.environment | environment)
        made.append(meaning)
        return SimpleNamespace(library=Library(state, token, meaning), meaning=meaning, state=state)

    yield make
    for one in made:
        one.close()


def fill(one):
    return one.library.embed(lambda *_: None, 60.0)


def found(one, query):
    one.library.search(query, 9)  # which begins to make what is missing
    one.meaning.background.wait(60.0, TOKEN, lambda *_: None)
    hits = one.library.search(query, 9)
    return [(each.source, each.start) for each in hits.passages], hits.total, hits.ranking


def kept(one):
    return one.meaning.vectors.count(one.meaning.embedder.name, TOKEN)


def test_what_shares_no_word_is_found(opened, server):
    one = opened()
    one.library.put(document("a.md"), [CAR, SOUP, OTHER])
    assert fill(one) == ""
    assert server.texts == [CAR.text, f"Lunch\n{SOUP.text}", OTHER.text]
    assert found(one, "a vehicle") == ([("a.md", 1)], 1, BOTH)
    assert found(one, "food that is red") == ([("a.md", 2), ("a.md", 1)], 2, BOTH)
    by = [one.library.search("food that is red", 9, by=by) for by in ("words", "meaning")]
    assert [[each.start for each in hits.passages] for hits in by] == [[1], [2]]
    assert (kept(one), one.library.stats().waiting) == (3, 0)


def test_words_find_at_once_and_a_search_makes_what_is_missing(opened):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    assert one.library.search("automobile", 5, by="words").total == 1
    assert found(one, "vehicle") == ([("a.md", 1)], 1, BOTH)
    one.library.put(document("b.md"), [Chunk("My vehicle", 1, 1)])
    assert one.library.stats().waiting == 1
    assert found(opened(), "car") == ([("a.md", 1), ("b.md", 1)], 2, BOTH)


def test_text_that_moves_costs_nothing(opened, server):
    one = opened()
    one.library.put(document("a.md"), [CAR, SOUP])
    fill(one)
    server.texts.clear()
    one.library.put(document("a.md", "2"), [Chunk("New.", 1, 1), Chunk(CAR.text, 7, 7)])
    one.library.put(document("b.md"), [SOUP])
    assert fill(one) == ""
    assert server.texts == ["New."]
    assert found(one, "vehicle")[0] == [("a.md", 7)]
    assert kept(one) == 3  # and those of the old version are gone
    assert fill(one) == ""


def test_what_is_dropped_is_not_shown_and_goes(opened):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    one.library.put(document("b.md"), [Chunk("A vehicle", 1, 1)])
    fill(one)
    one.library.drop("file", "a.md")
    assert kept(one) == 2
    assert one.library.search("car", 5, by="meaning").total == 1
    assert (fill(one), kept(one)) == ("", 1)


def test_clear_leaves_nothing(opened, server, tmp_path):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    fill(one)
    one.library.clear()
    assert (kept(one), found(one, "vehicle")) == (0, ([], 0, BOTH))
    server.texts.clear()
    one.library.put(document("a.md"), [CAR])
    fill(one)
    assert server.texts == [CAR.text]


def test_a_search_waits_for_no_vector_and_what_it_finds_is_made_first(opened, server, monkeypatch):
    monkeypatch.setattr(RemoteEmbedder, "batch", 8)
    one, go_on = opened(), threading.Event()
    one.library.put(document("a.md"), [Chunk(f"Number {at}", at, at) for at in range(1, 100)])
    one.library.put(document("b.md"), [CAR])
    embedded = server.answer

    def slow(asked):
        if b"Number 1" in asked.body:
            go_on.wait(20)
        return embedded(asked)

    server.answer = slow
    left = "100 of 100 passages have no embedding yet: they are being made."
    assert one.library.embed(lambda *_: None, 0) == left
    hits = one.library.search("automobile", 9)
    assert [each.source for each in hits.passages] == ["b.md"]
    assert (hits.ranking, one.library.say_missing()) == (RankingMethod("words", left), left)
    go_on.set()
    assert fill(one) == ""
    texts = [text for text in server.texts if text != "automobile"]
    assert texts.index(CAR.text) <= 64  # behind what was under way
    assert sorted(texts) == sorted([CAR.text, *(f"Number {at}" for at in range(1, 100))])


def test_one_process_at_a_time_makes_them(opened, server):
    one, other = opened(), opened()
    one.library.put(document("a.md"), [CAR])
    with try_lock(one.state.folder("library"), "vectors.lock") as alone:
        assert alone
        assert fill(other) == "1 of 1 passages have no embedding yet: another process makes them."
    assert server.texts == []
    assert fill(other) == ""


def test_an_embedder_that_fails_leaves_the_document(opened, server):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    server.failing = reply("{}", "404 Not Found")
    assert fill(one).startswith("1 of 1 passages have no embedding yet: The server of TOOLROLL_")
    assert found(one, "vehicle")[:2] == ([], 0)
    sources, total, ranking = found(one, "automobile")
    assert (sources, total, ranking.by) == ([("a.md", 1)], 1, "words")
    assert ranking.reason.startswith("The server of TOOLROLL_EMBEDDINGS_URL made no vectors: it answers with")
    server.failing = None
    assert found(one, "vehicle")[0] == [("a.md", 1)]


def test_a_broken_vector_is_named_and_the_rest_is_made(opened, server, monkeypatch):
    monkeypatch.setattr(served, "vector", lambda text: vector(text) if "Soup" not in text else [None])
    one = opened()
    one.library.put(document("a.md"), [CAR, SOUP, OTHER])
    one.library.put(document("b.md"), [Chunk("Soup too.", 9, 9)])
    said = "The embedder gives no vector that can be used for a.md:2 and 1 more."
    assert (fill(one), kept(one), one.library.stats().waiting) == (said, 2, 2)
    server.texts.clear()
    assert found(one, "vehicle") == ([("a.md", 1)], 1, RankingMethod("meaning and words", said))
    assert [source for source, _ in found(one, "soup")[0]] == ["b.md", "a.md"]  # by their words
    assert set(server.texts) == {"vehicle", "soup"}  # they are not asked for by every search
    one.library.drop("file", "b.md")
    assert one.library.say_missing() == said.replace(" and 1 more", "")
    monkeypatch.undo()
    assert (fill(one), kept(one), one.library.stats().waiting) == ("", 3, 0)


def test_a_broken_vector_of_a_question_leaves_its_words(opened, monkeypatch):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    fill(one)
    monkeypatch.setattr(served, "vector", lambda _: [float("nan")])
    said = "The embedder gives no vector that can be used for the question."
    assert found(one, "automobile") == ([("a.md", 1)], 1, RankingMethod("words", said))


def test_a_server_is_asked_for_several_batches_side_by_side(opened, server, monkeypatch):
    monkeypatch.setattr(embedder, "_TEXTS_AT_ONCE", 64)
    together = threading.Barrier(4)
    embedded = server.answer

    def meet(asked):
        together.wait(20)  # which breaks unless four requests are here at once
        return embedded(asked)

    one = opened()
    one.library.put(document("a.md"), [Chunk(f"Number {at}", at, at) for at in range(1, 257)])
    server.answer = meet
    assert (fill(one), kept(one), len(server.asked)) == ("", 256, 4)


def test_on_a_full_disk_words_are_left_and_nothing_is_lost(opened, monkeypatch):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    fill(one)
    one.meaning.close()
    one = opened()
    one.library.put(document("b.md"), [SOUP])
    monkeypatch.setattr(qdrant_edge, "_MIN_FREE_BYTES", 1 << 60)
    assert "1 of 2 passages have no embedding yet: The disk is nearly full: vectors need " in fill(one)
    sources, _, ranking = found(one, "soup")
    assert (sources, ranking.by) == ([("b.md", 2)], "words")
    assert ranking.reason.startswith("The disk is nearly full")
    monkeypatch.undo()
    assert (found(one, "vehicle"), kept(one)) == (([("a.md", 1)], 1, BOTH), 2)


FULL = """
import os, sqlite3, sys
from pathlib import Path
from tests.host.knowledge.vectors.test_backfill import *
room = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=250m", "tmpfs", room], check=True)
with Embeddings() as server:
    def make():
        state = State(str(room / "state"))
        meaning = SemanticRanking(state, Client(), server.environment)
        return SimpleNamespace(library=Library(state, TOKEN, meaning), meaning=meaning, state=state)
    def leave(free):
        disk = os.statvfs(room)
        (room / "hog").write_bytes(bytes(disk.f_bavail * disk.f_frsize - free))
    one = make()
    one.library.put(document("a.md"), [CAR, *(Chunk(f"Number {at} " * 50, at, at) for at in range(9, 40))])
    assert (fill(one), kept(one)) == ("", 32)
    for free in (0, 700_000, 45_000_000):
        leave(free)
        one.library.embed(lambda *_: None, 0)
        try:
            for number in range(20):
                one.library.put(document(f"b{number}.md"), [Chunk(f"Lunch {at} " * 300, at, at) for at in range(40)])
                fill(one)
        except sqlite3.OperationalError as error:
            assert "disk is full" in str(error)
        one.meaning.close()
        one = make()
        held = one.library.stats()
        assert [each.start for each in one.library.search("automobile", 1).passages] == [1]
        (room / "hog").unlink()
        assert (fill(one), kept(one), one.library.stats().waiting) == ("", held.pieces, 0)
        assert found(one, "vehicle")[0][0] == ("a.md", 1)
    one.meaning.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root can mount file systems")
def test_a_disk_that_fills_up_ends_no_process_and_loses_nothing(tmp_path):
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", FULL, tmp_path]
    subprocess.run(command, check=True, timeout=120)


def test_a_lost_store_is_filled_again_without_the_embedder(opened, server, tmp_path):
    one = opened()
    one.library.put(document("a.md"), [CAR, SOUP])
    fill(one)
    one.meaning.close()
    shutil.rmtree(tmp_path / "state/vectors")
    server.texts.clear()
    again = opened()
    assert found(again, "vehicle") == ([("a.md", 1)], 1, BOTH)
    assert (set(server.texts), kept(again)) == ({"vehicle"}, 2)


@pytest.mark.parametrize("first", ["search", "add"])
@pytest.mark.parametrize("where", ["edge", "qdrant"])
def test_a_model_that_has_become_another_one(opened, server, monkeypatch, where, first):
    with Qdrant() as qdrant:
        one = opened(**(qdrant.environment if where == "qdrant" else {}))
        one.library.put(document("a.md"), [CAR, SOUP])
        fill(one)
        monkeypatch.setattr(served, "vector", lambda text: [*reversed(vector(text)), 0.1])
        if first == "add":
            one.library.put(document("b.md"), [OTHER, SOUP])
            assert fill(one) == ""
        assert found(one, "vehicle") == ([("a.md", 1)], 1, BOTH)
        assert kept(one) == (4 if first == "add" else 2)


@pytest.mark.parametrize("first", ["search", "add"])
@pytest.mark.parametrize("broken", ["vector_storage/vectors/status.dat", "segment.json"])
def test_a_broken_store_is_made_anew(opened, tmp_path, broken, first):
    one = opened()
    one.library.put(document("a.md"), [CAR, SOUP])
    fill(one)
    one.meaning.close()
    (path,) = (tmp_path / "state/vectors").glob(f"of-*/segments/*/{broken}")
    path.write_bytes(b"")  # of which the engine panics, or says that it cannot be read
    one = opened()
    if first == "add":
        one.library.put(document("b.md"), [OTHER])
        assert fill(one) == ""
    assert found(one, "vehicle") == ([("a.md", 1)], 1, BOTH)
    assert kept(one) == (3 if first == "add" else 2)


def test_another_store_or_model_has_its_own_vectors(opened, server):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    fill(one)
    one.meaning.close()
    server.texts.clear()
    with Qdrant() as qdrant:
        other = opened(**qdrant.environment)
        assert found(other, "vehicle")[0] == [("a.md", 1)]
        other.library.put(document("b.md"), [SOUP])
        fill(other)
        assert (server.texts[:1], kept(other), sum(map(len, qdrant.points.values()))) == (["vehicle"], 2, 2)
    one = opened()
    assert (kept(one), found(one, "food")[0], kept(one)) == (1, [("b.md", 2)], 2)


def test_a_server_that_is_not_there_leaves_the_library_as_it_was(opened):
    with Qdrant() as qdrant:
        environment = qdrant.environment
        first = opened(**environment)
        first.library.put(document("a.md"), [CAR])
        fill(first)
    one = opened(**environment)
    before = one.library.stats()
    for work in (
        lambda: one.library.put(document("b.md"), [SOUP]),
        lambda: one.library.put(document("a.md", "2"), [SOUP]),
        lambda: one.library.search("car", 5),
        one.library.clear,
    ):
        with pytest.raises(ToolError, match="The Qdrant server of QDRANT_URL was not reached") as caught:
            work()
        assert caught.value.code == "NetworkError"
    assert one.library.stats() == before


def test_only_what_is_set_up_is_waited_for(opened):
    one = opened()
    one.library.put(document("a.md"), [CAR, SOUP])
    fill(one)
    other = opened(QDRANT_URL="http://127.0.0.1:9")
    with pytest.raises(ToolError, match="was not reached"):
        other.library.search("car", 5)
    assert (one.library.stats().waiting, other.library.stats().waiting) == (0, 2)
    one.library.put(document("b.md"), [OTHER])
    assert one.library.stats().waiting == 1
    fill(one)
    assert one.library.stats().waiting == 0
    assert opened(TOOLROLL_EMBEDDINGS_MODEL="another").library.stats().waiting == 3


DYING = """
import os, signal, sys
from toolroll.host.knowledge.semantic import SemanticRanking
from toolroll.host.http.client import Client
from toolroll.host.knowledge.library import Library
from toolroll.host.runtime.state import State
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.knowledge.vectors import backfill as behind
from toolroll.text.knowledge.chunks import Chunk
from toolroll.text.knowledge.passages import LibraryDocument
_, path, when = sys.argv
state = State(path)
meaning = SemanticRanking(state, Client(), os.environ)
library = Library(state, CancelToken(), meaning)
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if when == "before":
    library._behind._make = die
if when == "between":
    library._behind._settle = die
library.put(LibraryDocument("file", "a.md", "markdown", "2", 1), [Chunk("The automobile is red.", 1, 1), Chunk("Soup", 2, 2)])
library.embed(lambda *_: None, 60)
die()
"""


@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_a_death_is_healed(opened, server, when):
    one = opened()
    one.library.put(document("a.md"), [Chunk("An old car", 9, 9)])
    fill(one)
    one.meaning.close()
    command = [sys.executable, "-c", DYING, one.state.path, when]
    died = subprocess.run(command, env=os.environ | server.environment, check=False, timeout=60)
    assert died.returncode == -signal.SIGKILL
    assert found(one, "vehicle") == ([("a.md", 1)], 1, BOTH)
    assert kept(one) == 2


IMPORT = """
import sys
from toolroll import Kit
with Kit(sys.argv[1], state_dir=sys.argv[2]) as kit:
    print("ready", flush=True)
    kit.call("rag", {"action": "sync", "path": "docs"})
    sys.stdin.readline()
"""


@pytest.mark.slow
def test_imports_by_two_kits_that_are_killed_again_and_again_end_whole(opened, server, tmp_path):
    docs = tmp_path / "workspace" / "docs"
    docs.mkdir(parents=True)
    for number in range(300):
        (docs / f"{number}.md").write_text(
            "\n\n".join(f"# Part {part}\n\nThing {number} {'word ' * 40}" for part in range(9))
        )
    command = [sys.executable, "-c", IMPORT, str(docs.parent), str(tmp_path / "state")]
    for wait in (0.1, 0.4, 0.8, 1.5, 2.5):
        pair = [
            subprocess.Popen(
                command, env=os.environ | server.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for _ in range(2)
        ]
        for child in pair:
            child.stdout.readline()
        time.sleep(wait)
        for child in pair:
            child.kill()
            child.communicate()
        (docs / f"{int(wait * 10)}.md").write_text("# Replaced\n\nAn automobile\n")
    with Kit(docs.parent, state_dir=tmp_path / "state") as kit:
        assert kit.call("rag", {"action": "sync", "path": "docs"}).ok
    one = opened()
    assert (fill(one), one.library.stats().documents) == ("", 300)
    held = one.library.stats()
    assert (held.pieces, held.waiting) == (kept(one), 0)
    assert {source for source, _ in found(one, "vehicle")[0]} == {f"docs/{at}.md" for at in (1, 4, 8, 15, 25)}


def test_a_piece_that_goes_while_its_vector_is_made(opened, server):
    one = opened()
    one.library.put(document("a.md"), [CAR])
    embedded = server.answer

    def meanwhile(asked):
        one.library.drop("file", "a.md")
        return embedded(asked)

    server.answer = meanwhile
    fill(one)
    assert kept(one) == 0


def test_who_is_cancelled_stops(opened, server):
    token = CancelToken()
    one = opened(token)
    one.library.put(document("a.md"), [CAR])
    token.cancel()
    with pytest.raises(ToolError, match="cancelled"):
        fill(one)
