"""What is set up, and what is said when it is not."""

import sys

import pytest

from tests.host.models.embedding.served import FOLDER, REAL, Embeddings
from toolroll import ToolError
from toolroll.host.http.client import Client
from toolroll.host.knowledge import semantic as meaning
from toolroll.host.knowledge.semantic import SemanticRanking
from toolroll.host.requirement import add_extra
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State


@pytest.fixture
def opened(tmp_path):
    made = []

    def make(**environment):
        made.append(SemanticRanking(State(str(tmp_path / "state")), Client(), environment))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_without_weights(opened, tmp_path):
    made = opened(TOOLROLL_MODELS=str(tmp_path / "none"))
    assert made.unavailable_reason == (
        "what is said in other words may be missed. To rank by meaning too, run `toolroll models fetch`."
    )
    assert not (tmp_path / "state").exists()


def test_without_the_extra(opened, monkeypatch):
    monkeypatch.setattr(meaning, "_NEEDS", ("numpy", "no_such_engine"))
    assert opened(TOOLROLL_EMBEDDINGS_URL="http://127.0.0.1:1").unavailable_reason.endswith(add_extra("rag"))


def test_broken_weights_are_told(opened, tmp_path):
    (tmp_path / "models/all-MiniLM-L6-v2").mkdir(parents=True)
    (tmp_path / "models/all-MiniLM-L6-v2/model.safetensors").write_bytes(b"no weights")
    made = opened(TOOLROLL_MODELS=str(tmp_path / "models"))
    assert made.unavailable_reason == ""
    with pytest.raises(ToolError, match="Run `toolroll models fetch`") as caught:
        _ = made.embedder
    assert caught.value.code == "IOError"


def test_an_endpoint_needs_no_weights(opened, tmp_path):
    with Embeddings() as server:
        made = opened(TOOLROLL_MODELS=str(tmp_path / "none"), **server.environment)
        assert (made.unavailable_reason, made.embedder.name, made.vectors.name) == ("", "by-subject", "edge")
        assert made.embedder is made.embedder
        assert made.embedder.embed(["car"], CancelToken()).shape == (1, 4)


def test_a_server_for_vectors(opened):
    assert opened(QDRANT_URL="http://127.0.0.1:6333/").vectors.name == "127.0.0.1:6333"
    with pytest.raises(ToolError, match="QDRANT_URL is not a URL"):
        _ = opened(QDRANT_URL="nowhere").vectors


@REAL
def test_weights_are_loaded_once(opened):
    made = opened(TOOLROLL_MODELS=FOLDER)
    assert (made.unavailable_reason, made.embedder.name) == ("", "all-MiniLM-L6-v2")
    assert made.embedder is made.embedder


def test_nothing_heavy_is_loaded_with_it():
    import subprocess

    code = "import sys; from toolroll import Kit; print([n for n in ('numpy', 'qdrant_edge', 'zipfile', 'tempfile') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
