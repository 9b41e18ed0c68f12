"""Children that embed: the same vectors as in this process, and a death that is told."""

import os
import signal

import numpy as np
import pytest

from tests.host.models.embedding.served import FOLDER, REAL
from toolroll import Kit, ToolError
from toolroll.host.models.embedding import child_embedder
from toolroll.host.models.embedding.child_embedder import ChildEmbedder
from toolroll.host.models.embedding.embedder import LocalEmbedder
from toolroll.host.models.embedding.model_files import ModelStore
from toolroll.host.runtime.cancellation import CancelToken

pytestmark = REAL
TOKEN = CancelToken()
TEXTS = ["A car", "Soup at noon, for everyone who is here", "Keys", "", "é"]


@pytest.fixture
def models():
    return ModelStore({"TOOLROLL_MODELS": FOLDER})


@pytest.fixture
def embedder(models, tmp_path, monkeypatch):
    monkeypatch.setattr(child_embedder.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(child_embedder.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    with Kit(tmp_path) as kit:
        made = ChildEmbedder(kit.context().launcher, models)
        yield made
        made.close()


def test_two_children_make_the_vectors_of_this_process_at_the_lowest_priority(embedder, models):
    rows = embedder.embed(TEXTS, TOKEN)
    assert np.allclose(rows, LocalEmbedder(models).embed(TEXTS, TOKEN), atol=1e-5)
    assert [os.getpriority(os.PRIO_PROCESS, one._process.pid) for one in embedder._children] == [19, 19]


def test_a_child_that_is_killed_is_told_and_replaced(embedder):
    embedder.embed(["A car"], TOKEN)
    os.kill(embedder._children[0]._process.pid, signal.SIGKILL)
    with pytest.raises(ToolError, match="The process that embeds ended"):
        embedder.embed(["A car"], TOKEN)
    assert embedder.embed(["A car"], TOKEN).shape == (1, 384)


def test_who_is_cancelled_waits_no_longer(embedder):
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolError, match="cancelled"):
        embedder.embed(["A car"] * 32, token)
    assert embedder._children == []


@pytest.mark.parametrize(
    ("load", "running", "wanted"), [(0.0, 0, 2), (1.0, 1, 2), (2.0, 1, 1), (2.0, 2, 2), (9.0, 1, 1)]
)
def test_children_take_the_cores_that_are_idle(embedder, monkeypatch, load, running, wanted):
    monkeypatch.setattr(child_embedder.os, "getloadavg", lambda: (load, 0.0, 0.0))
    embedder._running = running
    assert embedder._count() == wanted
