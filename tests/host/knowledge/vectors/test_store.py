"""What both stores do alike."""

import random

import numpy as np
import pytest

from tests.host.knowledge.vectors.qdrant import KEY, Qdrant
from toolroll.host.http.client import Client
from toolroll.host.knowledge.vectors.qdrant_edge import Edge
from toolroll.host.knowledge.vectors.qdrant_server import Server
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State

TOKEN = CancelToken()


@pytest.fixture(params=["edge", "server"])
def store(request, tmp_path):
    if request.param == "edge":
        state = State(str(tmp_path / "state"))
        made = Edge(state)
        yield made
        made.close()
        state.close()
    else:
        with Qdrant() as server:
            yield Server(Client(), server.url("/"), KEY, "here")


def units(count, size=8, seed=1):
    rows = np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def axis(number):
    return np.eye(8, dtype=np.float32)[number]


def test_an_empty_store(store):
    store.check(TOKEN)
    assert (store.search("m", axis(0), 5, TOKEN), store.count("m", TOKEN)) == ([], 0)
    store.drop([1], TOKEN)
    store.clear(TOKEN)
    store.put("m", {}, TOKEN)
    assert store.count("m", TOKEN) == 0


def test_from_putting_to_clearing(store):
    store.put("m", {7: axis(0), 8: axis(1), 9: (axis(0) + axis(1)) / np.sqrt(2, dtype=np.float32)}, TOKEN)
    found = store.search("m", axis(0), 2, TOKEN)
    assert [number for number, _ in found] == [7, 9]
    assert [score for _, score in found] == pytest.approx([1, 0.7071], abs=1e-4)
    store.put("m", {7: axis(2)}, TOKEN)
    assert (store.count("m", TOKEN), store.search("m", axis(2), 1, TOKEN)[0][0]) == (3, 7)
    store.drop([9, 1000], TOKEN)
    assert sorted(number for number, _ in store.search("m", axis(0), 5, TOKEN)) == [7, 8]
    store.clear(TOKEN)
    assert (store.count("m", TOKEN), store.search("m", axis(0), 5, TOKEN)) == (0, [])
    store.put("m", {1: axis(0)}, TOKEN)
    assert store.count("m", TOKEN) == 1


def test_models_are_kept_apart_and_dropped_together(store):
    store.put("one", {1: axis(0), 2: axis(1)}, TOKEN)
    store.put("two", {1: units(1, 4)[0]}, TOKEN)
    assert (store.count("one", TOKEN), store.count("two", TOKEN)) == (2, 1)
    store.drop([1], TOKEN)
    assert (store.count("one", TOKEN), store.count("two", TOKEN)) == (1, 0)


def test_vectors_of_another_length_replace_all(store):
    store.put("m", {1: axis(0), 2: axis(1)}, TOKEN)
    (short,) = units(1, 4)
    assert store.search("m", short, 5, TOKEN) == []
    store.put("m", {3: short}, TOKEN)
    assert ([number for number, _ in store.search("m", short, 5, TOKEN)], store.count("m", TOKEN)) == ([3], 1)


def test_nothing_near_is_passed_over(store):
    rows = units(600)
    store.put("m", dict(enumerate(rows, 1)), TOKEN)
    for at in random.Random(3).sample(range(600), 5):
        exact = np.argsort(-(rows @ rows[at]))[:20] + 1
        assert [number for number, _ in store.search("m", rows[at], 20, TOKEN)] == exact.tolist()
