"""The embedded store under several hands."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.waiting import until
from toolroll import ToolError
from toolroll.host.knowledge.vectors.qdrant_edge import QdrantEdge, _named
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State

TOKEN = CancelToken()
AXIS = np.eye(8, dtype=np.float32)


@pytest.fixture
def opened(tmp_path):
    made = []

    def make(**options):
        made.append(QdrantEdge(State(str(tmp_path / "state")), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


WRITER = """
import os, signal, sys
import numpy as np
from toolroll.host.runtime.state import State
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.knowledge.vectors.qdrant_edge import QdrantEdge, _named
_, path, first, turns, end = sys.argv
store = QdrantEdge(State(path))
for turn in range(int(turns)):
    number = int(first) + turn
    store.put("m", {number: np.eye(8, dtype=np.float32)[number % 8]}, CancelToken())
    assert store.search("m", np.eye(8, dtype=np.float32)[number % 8], 1, CancelToken())[0][1] == 1
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
store.close()
"""
NAIVE = """
import sys
import qdrant_edge
qdrant_edge.EdgeShard.load(sys.argv[1])
"""


def writer(tmp_path, first, turns, end="close"):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "state"), str(first), str(turns), end])


def test_two_processes_wait_for_each_other(opened, tmp_path):
    store = opened()
    store.put("m", {1: AXIS[1]}, TOKEN)  # held open here, too
    children = [writer(tmp_path, first, 15) for first in (100, 200)]
    for at in range(10):
        store.put("m", {300 + at: AXIS[at % 8]}, TOKEN)
    assert [child.wait(60) for child in children] == [0, 0]
    assert store.count("m", TOKEN) == 1 + 30 + 10


def test_without_waiting_the_second_one_fails(opened, tmp_path):
    opened().put("m", {1: AXIS[1]}, TOKEN)
    (name,) = (one for one in os.listdir(tmp_path / "state/vectors") if one.startswith("of-"))
    done = subprocess.run([sys.executable, "-c", NAIVE, str(tmp_path / "state/vectors" / name)], capture_output=True, check=False)  # fmt: skip
    assert (done.returncode, b"WouldBlock" in done.stderr) == (1, True)


def test_what_was_put_survives_a_kill(opened, tmp_path):
    assert writer(tmp_path, 1, 20, "kill").wait(60) == -signal.SIGKILL
    store = opened()
    assert store.count("m", TOKEN) == 20
    assert len(store.search("m", AXIS[3], 50, TOKEN)) == 20


def test_threads_share_it(opened):
    store, failed = opened(), []

    def work(number):
        try:
            for turn in range(5):
                store.put("m", {number * 10 + turn: AXIS[number]}, TOKEN)
                store.search("m", AXIS[number], 3, TOKEN)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (failed, store.count("m", TOKEN)) == ([], 30)


def test_it_is_given_up_when_it_is_not_used(opened):
    store = opened(idle=0.1)
    store.put("m", {1: AXIS[1]}, TOKEN)
    assert store._lock is not None
    assert until(lambda: store._lock is None)
    assert store.count("m", TOKEN) == 1


def test_who_waits_can_be_cancelled(opened):
    first, second = opened(), opened()
    with first._held(TOKEN), pytest.raises(ToolError, match="time limit"):
        second.count("m", CancelToken(0.1)) if second._names() else second.put("m", {1: AXIS[0]}, CancelToken(0.1))
    second.put("m", {1: AXIS[0]}, TOKEN)
    assert first.count("m", TOKEN) == 1


def test_a_broken_shard_is_made_anew(opened, tmp_path):
    store = opened()
    store.put("m", {1: AXIS[1]}, TOKEN)
    store.close()
    (shard,) = (tmp_path / "state/vectors").glob("of-*")
    (shard / "edge_config.json").write_text("broken")
    assert store.count("m", TOKEN) == 0
    store.put("m", {2: AXIS[2]}, TOKEN)
    assert store.count("m", TOKEN) == 1


def test_it_is_private_and_made_late(opened, tmp_path):
    store = opened()
    assert (store.count("m", TOKEN), (tmp_path / "state").exists()) == (0, False)
    store.put("m", {1: AXIS[1]}, TOKEN)
    assert oct((tmp_path / "state/vectors").stat().st_mode)[-3:] == "700"


def directions(count, size, alike):
    """So many vectors of the length 1; with `alike` they differ by that share only."""
    chance = np.random.default_rng(7)
    made = chance.standard_normal((count, size), np.float32) * alike + chance.standard_normal(size, np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.mark.parametrize("alike", [100, 1, 0.1, 0.01])
def test_a_rough_first_look_passes_over_none(opened, alike):
    matrix, store = directions(2000, 96, alike), opened()
    store.put("m", dict(enumerate(matrix[50:], 50)), TOKEN)
    for asked in matrix[:50]:
        cosines = dict(enumerate((matrix[50:] @ asked).tolist(), 50))
        found = dict(store.search("m", asked, 40, TOKEN))
        assert found == pytest.approx({number: cosines[number] for number in found}, abs=1e-6)
        assert list(found.values()) == pytest.approx(sorted(cosines.values(), reverse=True)[:40], abs=0.0001)


def test_the_first_look_is_rough(opened):
    """Or the test above could not fail."""
    import qdrant_edge as engine

    matrix, store = directions(3000, 96, 100), opened()
    store.put("m", dict(enumerate(matrix)), TOKEN)
    rough = engine.SearchParams(quantization=engine.QuantizationSearchParams(rescore=False))
    request = engine.SearchRequest(query=engine.Query.Nearest(matrix[0].tolist()), limit=50, params=rough)
    found = {one.id: one.score for one in store._done(_named("m"), lambda shard: shard.search(request), [])}
    assert found != pytest.approx({number: float(matrix[number] @ matrix[0]) for number in found}, abs=1e-6)
