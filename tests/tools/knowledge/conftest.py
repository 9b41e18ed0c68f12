"""What these tests find does not depend on whether the weights are on this machine: by words, unless they ask."""

from importlib import import_module

import pytest

from tests.host.models.embedding.served import FOLDER


@pytest.fixture(autouse=True)
def words_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("TOOLROLL_MODELS", str(tmp_path / "no-models"))
    for name in ("TOOLROLL_EMBEDDINGS_URL", "TOOLROLL_RERANK_URL", "QDRANT_URL", "TOOLROLL_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def real_weights(monkeypatch, words_alone):
    """With a kit that is opened after it."""
    monkeypatch.setenv("TOOLROLL_MODELS", FOLDER)
    monkeypatch.setattr(import_module("toolroll.tools.knowledge.rag"), "_EMBED_SECONDS", 50.0)  # on a busy machine
