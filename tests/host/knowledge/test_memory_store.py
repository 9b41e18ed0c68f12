"""Memories on disk: found again, whole whoever writes or dies, and with vectors where an embedder is given."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from tests.host.http.web import reply
from tests.host.models.embedding.served import Embeddings
from toolroll import ToolError
from toolroll.host.http.client import Client
from toolroll.host.knowledge import memory_store as memories
from toolroll.host.knowledge.memory_store import MemoryStore
from toolroll.host.knowledge.semantic import SemanticRanking
from toolroll.host.models.embedding.embedder import RemoteEmbedder
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State
from toolroll.text.knowledge.memories import MAX_WORKING, Memory, missing_memory


@pytest.fixture
def kept(state):
    return MemoryStore(state, CancelToken())


@pytest.fixture
def raw(state):
    """The database as any other program sees it."""
    bases = []

    def opened():
        bases.append(sqlite3.connect(os.path.join(state.path, "memories/memories.sqlite"), isolation_level=None))
        return bases[-1]

    yield opened
    for base in bases:
        base.close()


def contents(kept, type=None):
    return [one.content for one in kept.all(type)]


def test_nothing_is_made_before_something_is_kept(state, kept):
    assert kept.all() == []
    assert kept.search("x", None, 5).memories == []
    assert kept.summary(None, 10).total == 0
    assert kept.forget("time", None, threshold=0.1, days=0, keep=1) == ([], 0)
    assert kept.consolidate(0.7, None).changed == []
    for work in (lambda: kept.remove("m1"), lambda: kept.update("m1", "x", None, None)):
        with pytest.raises(ToolError, match="There is no memory 'm1'"):
            work()
    assert not os.path.exists(state.path)


def test_a_memory_is_found_again_and_private(state, kept, tmp_path):
    before = time.time()
    made, new, _ = kept.add(" tabs ", "semantic", 0.9)
    assert (made.number, new, before <= made.created == made.updated <= time.time()) == (1, True, True)
    state.close()
    again = MemoryStore(State(state.path), CancelToken())
    assert again.all() == [Memory(1, "tabs", "semantic", 0.9, made.created, made.updated)]
    assert sorted(os.listdir(tmp_path / "state/memories")) == ["lock", "memories.sqlite"]
    assert oct((tmp_path / "state/memories/memories.sqlite").stat().st_mode)[-3:] == "600"


def test_what_is_known_is_only_refreshed(kept):
    first = kept.add("Use tabs.", "semantic", 0.5)[0]
    again, new, _ = kept.add("use tabs", "semantic", 0.8)
    assert (again.number, again.content, again.importance, again.created, new) == (1, "Use tabs.", 0.8, first.created, False)  # fmt: skip
    assert kept.add("use tabs", "semantic", 0.1)[0].importance == 0.8
    assert kept.add("use tabs", "working", 0.5)[0].number == 2


def test_an_id_never_comes_back(kept):
    for content in "abc":
        kept.add(content, "semantic", 0.5)
    assert kept.remove("m3").content == "c"
    assert kept.forget("time", None, threshold=0, days=0, keep=1)[1] == 0
    assert kept.add("d", "semantic", 0.5)[0].id == "m4"


def test_update_changes_what_is_given(kept):
    old = kept.add("a", "working", 0.5)[0]
    made, _ = kept.update("m1", None, None, 0.0)
    assert (made.content, made.type, made.importance, made.created) == ("a", "working", 0.0, old.created)
    made, _ = kept.update("m1", "b", "episodic", None)
    assert kept.all() == [made]
    assert (made.content, made.type, made.importance) == ("b", "episodic", 0.0)


def test_working_memory_is_bounded(kept):
    kept.add("important", "working", 0.9)
    kept.add("dull", "working", 0.1)
    for number in range(MAX_WORKING - 2):
        assert not kept.add(f"{number}", "working", 0.5)[2].dropped
    room = kept.add("one more", "working", 0.0)[2]
    assert ([one.content for one in room.dropped], room.promoted) == (["dull"], [])
    assert len(kept.all("working")) == MAX_WORKING
    assert "one more" in contents(kept, "working")


def test_the_store_is_bounded(kept, raw):
    kept.add("first", "semantic", 0.5)
    raw().execute(
        "with recursive n(i) as (select 2 union all select i + 1 from n where i < 10000) "
        "insert into memories select i, 'text ' || i, 'episodic', i / 10000.0, 0, 0, 0 from n"
    )
    with pytest.raises(ToolError, match="Make room with action 'forget'") as caught:
        kept.add("one more", "semantic", 0.5)
    assert caught.value.code == "TooLarge"
    assert kept.add("first", "semantic", 0.5)[1] is False
    gone, left = kept.forget("capacity", "episodic", threshold=0, days=0, keep=100)
    assert (len(gone), left) == (9899, 101)
    assert kept.add("one more", "semantic", 0.5)[0].number == 10001


def test_forget_is_of_a_type(kept):
    kept.add("a", "working", 0.0)
    kept.add("a", "episodic", 0.0)
    gone, left = kept.forget("importance", "episodic", threshold=0.1, days=0, keep=1)
    assert ([one.number for one in gone], left, len(kept.all())) == ([2], 1, 1)


def test_consolidate_is_kept(kept):
    kept.add("tabs", "working", 0.9)
    kept.add("Tabs.", "episodic", 0.1)
    assert kept.consolidate(0.7, None).merged == {2: 1}
    assert [(one.id, one.type, one.importance) for one in kept.all()] == [("m1", "semantic", 0.9)]


def test_what_fails_changes_nothing(kept):
    kept.add("a", "working", 0.5)
    before = kept.all()
    with pytest.raises(UnicodeEncodeError):
        kept.add("\ud800", "semantic", 0.5)
    with pytest.raises(UnicodeEncodeError):
        kept.update("m1", "\ud800", "semantic", 0.9)
    with pytest.raises(ToolError, match="There is no memory 'm2'"):
        kept.update("m2", "b", None, None)
    with pytest.raises(ToolError, match="There is no memory 'm7'"):
        emptied(kept)
    assert kept.all() == before


def emptied(kept):
    """A change that fails after its first step."""
    with kept._base.transaction() as base:
        base.execute("delete from memories")
        raise missing_memory(7)


@pytest.mark.parametrize("data", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_broken_database_is_told_of_and_left_alone(state, kept, tmp_path, data):
    kept.add("a", "working", 0.5)
    path = tmp_path / "state/memories/memories.sqlite"
    path.write_bytes(data)
    for work in (kept.all, lambda: kept.add("b", "working", 0.5)):
        with pytest.raises(ToolError, match="The file of the memories is broken") as caught:
            work()
        assert caught.value.code == "IOError"
    assert path.read_bytes() == data


def test_a_newer_database_is_left_alone(kept, raw):
    kept.add("a", "working", 0.5)
    base = raw()
    base.execute("pragma user_version = 99")
    with pytest.raises(ToolError, match="newer toolroll") as caught:
        kept.add("b", "working", 0.5)
    assert (caught.value.code, base.execute("select content from memories").fetchall()) == ("Unsupported", [("a",)])


def test_who_waits_can_be_cancelled(state, kept):
    kept.add("a", "working", 0.5)
    token = CancelToken(0.1)
    with kept._base.connect(), pytest.raises(ToolError, match="time limit"):
        MemoryStore(state, token).all()


WRITER = """
import sys, sqlite3
from toolroll.host.knowledge.memory_store import MemoryStore
from toolroll.host.runtime.state import State
from toolroll.host.runtime.cancellation import CancelToken
_, path, name, count, way = sys.argv
kept = MemoryStore(State(path), CancelToken())
number = max(one.number for one in kept.all())
print("ready", flush=True)
sys.stdin.readline()
for at in range(int(count)):
    if way == "safe":
        kept.add(f"{name} {at}", "episodic", 0.5)
    else:
        base = sqlite3.connect(f"{path}/memories/memories.sqlite")
        with base:
            base.execute("insert or replace into memories values (?, ?, 'episodic', 0.5, 0, 0, 0)", (number + 1, f"{name} {at}"))
        base.close()
"""


@pytest.mark.parametrize(("way", "count"), [("safe", 40), ("naive", 1)])
def test_two_processes_lose_nothing(state, kept, at_once, way, count):
    kept.add("first", "semantic", 0.5)
    at_once(WRITER, *((state.path, name, str(count), way) for name in "ab"))
    every = {f"{name} {number}" for name in "ab" for number in range(count)}
    assert (set(contents(kept, "episodic")) == every) is (way == "safe")


def test_threads_that_start_at_once_make_one_database(state):
    start, failed = threading.Barrier(8), []

    def work(number):
        start.wait()
        try:
            for at in range(5):
                MemoryStore(state, CancelToken()).add(f"{number} {at}", "episodic", 0.5)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = MemoryStore(state, CancelToken()).all()
    assert (failed, len({one.content for one in found}), {one.number for one in found}) == ([], 40, set(range(1, 41)))


DYING = """
import os, signal, sys
from contextlib import contextmanager
from toolroll.host.knowledge import memory_store as memories
from toolroll.host.runtime.state import State
from toolroll.host.runtime.cancellation import CancelToken
kept = memories.MemoryStore(State(sys.argv[1]), CancelToken())
if sys.argv[2] == "naive":
    kept._base.transaction = kept._base.connect  # without a transaction
drop = memories._drop
def dying(base, numbers):
    drop(base, numbers[:5])
    os.kill(os.getpid(), signal.SIGKILL)
memories._drop = dying
kept.forget("time", None, threshold=0, days=0, keep=1)
"""


@pytest.mark.parametrize(("way", "left"), [("safe", 10), ("naive", 5)])
def test_a_death_in_the_middle_leaves_all_or_nothing(state, kept, raw, way, left):
    for number in range(10):
        kept.add(str(number), "semantic", 0.5)
    died = subprocess.run([sys.executable, "-c", DYING, state.path, way], check=False, timeout=60)
    assert died.returncode == -signal.SIGKILL
    assert len(kept.all()) == left
    assert kept.add("after", "semantic", 0.5)[0].number == 11
    assert raw().execute("pragma integrity_check").fetchall() == [("ok",)]


KILLED = """
import sys
from toolroll.host.knowledge.memory_store import MemoryStore
from toolroll.host.runtime.state import State
from toolroll.host.runtime.cancellation import CancelToken
kept = MemoryStore(State(sys.argv[1]), CancelToken())
for number in range(100_000):
    print(kept.add(f"number {number}", "episodic", 0.5)[0].number, flush=True)
"""


def test_what_was_kept_survives_a_kill(state, kept, raw):
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", KILLED, state.path], stdout=subprocess.PIPE) as child:
            told = [int(child.stdout.readline()) for _ in range(20)]
            child.kill()
            told += [int(line) for line in child.stdout.read().split(b"\n")[:-1]]
        assert set(told) <= {one.number for one in kept.all()}
        kept.forget("time", None, threshold=0, days=0, keep=1)
    assert raw().execute("pragma integrity_check").fetchall() == [("ok",)]


@pytest.fixture
def server():
    with Embeddings() as made:
        yield made


@pytest.fixture
def with_vectors(state, server):
    return MemoryStore(state, CancelToken(), SemanticRanking(state, Client(), server.environment))


def found(kept, query):
    made = kept.search(query, None, 5)
    return [row.content for row in made.memories], made.ranking, made.reason


BOTH = ("meaning and words", "Ranked by meaning and words.")


def test_vectors_join_the_ranking_and_are_made_once(state, server, kept, with_vectors):
    for content in ("The automobile is red", "Soup at noon", "Unknown"):
        kept.add(content, "semantic", 0.5)
    assert found(kept, "car") == ([], "words", "Ranked by words alone.")
    assert found(with_vectors, "car") == (["The automobile is red"], *BOTH)
    assert server.texts == ["car", "Unknown", "Soup at noon", "The automobile is red"]  # the latest first
    server.texts.clear()
    with_vectors.update("m2", "Lunch vehicle", None, None)
    with_vectors.update("m1", None, None, 0.9)
    assert found(with_vectors, "car")[0] == ["The automobile is red", "Lunch vehicle"]
    assert server.texts == ["car", "Lunch vehicle"]


def test_what_is_forgotten_leaves_no_vector(state, server, with_vectors):
    for content in ("car", "soup", "lunch", "key"):
        with_vectors.add(content, "semantic", 0.5)
    found(with_vectors, "food")
    with_vectors.remove("m1")
    base = sqlite3.connect(os.path.join(state.path, "embeddings/embeddings.sqlite"), isolation_level=None)
    counted = "select count(*) from vectors"
    assert base.execute(counted).fetchone() == (3,)
    with_vectors.forget("time", None, threshold=0, days=0, keep=1)
    assert base.execute(counted).fetchone() == (0,)
    base.close()


def test_when_time_is_short_the_latest_are_ranked_by_meaning(state, server, with_vectors, monkeypatch):
    monkeypatch.setattr(memories, "_EMBED_SECONDS", 0)
    monkeypatch.setattr(RemoteEmbedder, "batch", 8)
    for number in range(20):
        with_vectors.add(f"number {number}", "semantic", 0.5)
    assert found(with_vectors, "car")[1:] == ("meaning and words", "Ranked by meaning and words: 12 of 20 by words alone, for now.")  # fmt: skip
    assert server.texts == ["car", *(f"number {number}" for number in range(19, 11, -1))]


def test_an_embedder_that_fails_leaves_the_words(server, kept, with_vectors):
    kept.add("car", "semantic", 0.5)
    kept.add("car park", "semantic", 0.5)
    server.failing = reply("{}", "404 Not Found")
    contents, ranking, told = found(with_vectors, "car")
    assert (sorted(contents), ranking) == (["car", "car park"], "words")
    assert told.startswith("Ranked by words alone: The server of TOOLROLL_EMBEDDINGS_URL made no vectors: ")


def test_an_embedder_is_not_needed_to_be_cancelled(state, server, kept):
    kept.add("car", "semantic", 0.5)
    token = CancelToken()
    server.answer = lambda _asked: token.cancel() or reply("{}")
    with pytest.raises(ToolError, match="cancelled"):
        MemoryStore(state, token, SemanticRanking(state, Client(), server.environment)).search("car", None, 5)


def test_memories_of_the_first_version_are_kept(state, kept, raw):
    kept.add("car", "semantic", 0.5)
    base = raw()
    base.execute("drop table memories")
    for text in memories._FIRST:
        base.execute(text)
    base.execute("insert into memories values (5, 'old', 'semantic', 0.5, 0, 0)")
    base.execute("pragma user_version = 1")
    assert [one.content for one in kept.all()] == ["old"]
    assert base.execute("select name from sqlite_master where name = 'vectors'").fetchall() == []


def test_of_two_facts_that_contradict_each_other_the_newer_one_counts(state):
    store = MemoryStore(state, CancelToken())
    old, _, _ = store.add("The port of the server is 8080", "semantic", 0.9)
    new, _, _ = store.add("The port of the server is 9090", "semantic", 0.1)
    store.add("The port of the server was 7070", "episodic", 0.5)
    assert [one.id for one in store.replaced_by(new)] == [old.id]
    rows = store.search("port of the server", "semantic", 5).memories
    assert [(one.id, one.replaced_by) for one in rows] == [(new.id, None), (old.id, new.id)]
    assert f"replaced by {new.id}] The port of the server is 8080" in str(rows[1])
    store.remove(new.id)
    assert store.search("port", "semantic", 5).memories[0].replaced_by is None
