"""Ranking by meaning as it is set up here: what makes vectors and what keeps them, each made when first needed.

With TOOLROLL_RERANK_URL (and TOOLROLL_RERANK_MODEL, TOOLROLL_RERANK_KEY) the best passages are judged once more by the
server there, which answers `POST {url}/rerank` as Jina's, Cohere's and vLLM's do. If it fails, their order stays.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolroll.host.models.embedding.settings import (
    EMBEDDINGS_KEY,
    EMBEDDINGS_MODEL,
    EMBEDDINGS_URL,
    RERANK_KEY,
    RERANK_MODEL,
    RERANK_URL,
)
from toolroll.host.runtime.state import State

if TYPE_CHECKING:
    from toolroll.host.http.client import Client
    from toolroll.host.knowledge.vectors.store import Vectors
    from toolroll.host.models.embedding.embedder import Embedder
    from toolroll.host.models.embedding.reranker import Reranker

_USUAL = "text-embedding-3-small"
_MISSED = "what is said in other words may be missed. To rank by meaning too,"
_NEEDS = ("numpy", "qdrant_edge")


class Meaning:
    """One for each kit, so that a model is loaded once. Any thread may use it."""

    def __init__(self, state: State, http: Client, environment: Mapping[str, str]) -> None:
        self._state = state
        self._http = http
        self._environment = environment
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._vectors: Vectors | None = None
        self._reranker: Reranker | None = None

    @property
    def lacks(self) -> str:
        """What has to be done before anything can be ranked by meaning: a sentence; nothing when all is there."""
        from importlib.util import find_spec

        from toolroll.host.models.embedding.model_files import MINILM, ModelStore

        if self._embedder is not None:
            return ""
        if any(find_spec(name) is None for name in _NEEDS):
            return f"{_MISSED} install the extra: pip install 'toolroll[rag]'."
        if not self._value(EMBEDDINGS_URL) and not ModelStore(self._environment).has(MINILM):
            return f"{_MISSED} run `toolroll models fetch`."
        return ""

    @property
    def model(self) -> str:
        """The name of the model, which is not loaded for that."""
        from toolroll.host.models.embedding.model_files import MINILM

        return (self._value(EMBEDDINGS_MODEL) or _USUAL) if self._value(EMBEDDINGS_URL) else MINILM.name

    @property
    def embedder(self) -> Embedder:
        """What makes vectors; ToolError if it cannot be used. Ask `lacks` before."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._made()
            return self._embedder

    @property
    def vectors(self) -> Vectors:
        """What keeps vectors; ToolError if it cannot be used. Ask `lacks` before."""
        with self._lock:
            if self._vectors is None:
                self._vectors = self._opened()
            return self._vectors

    @property
    def reranks(self) -> bool:
        """Whether something is set up that judges passages once more."""
        return bool(self._value(RERANK_URL))

    @property
    def reranker(self) -> Reranker:
        """What judges passages once more; ToolError if it cannot be used. Ask `reranks` before."""
        from toolroll.host.models.embedding.reranker import Reranker

        with self._lock:
            if self._reranker is None:
                settings = map(self._value, (RERANK_URL, RERANK_MODEL, RERANK_KEY))
                self._reranker = Reranker(self._http, *settings)
            return self._reranker

    def close(self) -> None:
        """Give back what is held."""
        with self._lock:
            if self._vectors is not None:
                self._vectors.close()
            self._embedder = self._vectors = self._reranker = None

    def _made(self) -> Embedder:
        from toolroll.host.models.embedding.embedder import LocalEmbedder, RemoteEmbedder
        from toolroll.host.models.embedding.model_files import ModelStore

        url = self._value(EMBEDDINGS_URL)
        if not url:
            return LocalEmbedder.load(ModelStore(self._environment))
        return RemoteEmbedder(self._http, url, self.model, self._value(EMBEDDINGS_KEY))

    def _opened(self) -> Vectors:
        from toolroll.host.knowledge.vectors.qdrant_edge import Edge
        from toolroll.host.knowledge.vectors.qdrant_server import KEY as QDRANT_KEY
        from toolroll.host.knowledge.vectors.qdrant_server import URL as QDRANT_URL
        from toolroll.host.knowledge.vectors.qdrant_server import Server

        url = self._value(QDRANT_URL)
        if not url:
            return Edge(self._state)
        return Server(self._http, url, self._value(QDRANT_KEY), os.path.abspath(self._state.path))

    def _value(self, name: str) -> str:
        return self._environment.get(name, "").strip()
