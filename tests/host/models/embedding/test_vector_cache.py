"""Vectors by content: made once, within a time, and forgotten."""

import os
import sqlite3
from pathlib import Path

import pytest

from toolroll import ToolError
from toolroll.host.models.embedding import vector_cache as kept
from toolroll.host.models.embedding.vector_cache import VectorCache, forget
from toolroll.host.runtime.cancellation import CancelToken


class Counting:
    """A vector that tells the length of a text, and every text that was asked for."""

    batch = 8

    def __init__(self, name="one"):
        self.name = name
        self.asked = []

    def embed(self, texts, _token):
        import numpy as np

        self.asked.append(list(texts))
        return np.array([[len(text), 1] for text in texts], np.float32)


def lengths(state, embedder, texts, seconds=60.0):
    found = VectorCache(state, CancelToken(), embedder).vectors(texts, seconds)
    return [None if one is None else one.tolist()[0] for one in found]


def test_a_text_costs_once(state):
    embedder = Counting()
    assert lengths(state, embedder, ["a", "bb", "a", "\ud800"]) == [1, 2, 1, 1]
    assert lengths(state, embedder, ["bb", "ccc"]) == [2, 3]
    assert [sorted(texts) for texts in embedder.asked] == [["a", "bb", "\ud800"], ["ccc"]]
    other = Counting("two")
    assert (lengths(state, other, ["a"]), other.asked) == ([1], [["a"]])


def test_when_time_is_short_the_first_are_made(state):
    embedder = Counting()
    texts = [f"text {number}" for number in range(20)]
    assert lengths(state, embedder, texts, 0) == [6] * 8 + [None] * 12
    assert lengths(state, embedder, texts, 0) == [6] * 10 + [7] * 6 + [None] * 4
    assert lengths(state, embedder, texts, 0) == [6] * 10 + [7] * 10


def test_texts_are_forgotten(state):
    embedder = Counting()
    forget(state, CancelToken())
    assert not os.path.exists(state.path)
    lengths(state, embedder, ["a", "bb"])
    forget(state, CancelToken(), ["a", "never"])
    forget(state, CancelToken(), [])
    assert lengths(state, embedder, ["a", "bb"]) == [1, 2]
    assert embedder.asked == [["a", "bb"], ["a"]]
    forget(state, CancelToken())
    lengths(state, embedder, ["bb"])
    assert embedder.asked[2:] == [["bb"]]


def test_a_broken_file_is_made_anew(state):
    embedder = Counting()
    lengths(state, embedder, ["a"])
    path = Path(state.path, "embeddings/embeddings.sqlite")
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(ToolError, match="was broken and is gone"):
        lengths(state, embedder, ["a"])
    assert lengths(state, embedder, ["a"]) == [1]
    path.write_bytes(b"no database" * 1000)
    forget(state, CancelToken(), ["a"])
    assert not path.exists()


def test_the_oldest_go_first(state, monkeypatch):
    monkeypatch.setattr(kept, "_MAX_VECTORS", 3)
    lengths(state, Counting(), ["a", "bb", "ccc", "dddd"])
    base = sqlite3.connect(os.path.join(state.path, "embeddings/embeddings.sqlite"))
    assert base.execute("select number from vectors order by number").fetchall() == [(2,), (3,), (4,)]
    base.close()
