"""Semantic ranking: the embedder, the vector store and the reranker that are set up, each created when first needed.

With TOOLROLL_RERANK_URL (and TOOLROLL_RERANK_MODEL, TOOLROLL_RERANK_KEY) the server there reorders the
best passages; it answers `POST {url}/rerank` as Jina's, Cohere's and vLLM's do. If it fails, the order stays.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.knowledge.vectors.background import BackgroundFill
from toolroll.host.models.embedding import settings
from toolroll.host.runtime.state import State
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge.passages import RankingMethod

if TYPE_CHECKING:
    from toolroll.host.http.client import Client
    from toolroll.host.knowledge.vectors.store import Floats, VectorStore
    from toolroll.host.models.embedding.child_embedder import ChildEmbedder
    from toolroll.host.models.embedding.embedder import Embedder
    from toolroll.host.models.embedding.server import Reranker
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.runtime.launcher import Launcher

_USUAL = "text-embedding-3-small"
_MISSED = "what is said in other words may be missed. To rank by meaning too,"
_NEEDS = ("numpy", "qdrant_edge")


class SemanticRanking:
    """Semantic ranking of one kit, which loads a model once. Safe for threads."""

    def __init__(
        self, state: State, http: Client, environment: Mapping[str, str], launcher: Launcher | None = None
    ) -> None:
        """With a launcher, texts in large numbers are embedded in children of this process."""
        self.background = BackgroundFill(state)
        self._launcher = launcher
        self._state = state
        self._http = http
        self._environment = environment
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._children: ChildEmbedder | None = None
        self._vectors: VectorStore | None = None
        self._reranker: Reranker | None = None

    @property
    def unavailable_reason(self) -> str:
        """Why ranking by meaning is not available and what to do: a sentence; empty when it is."""
        from importlib.util import find_spec

        from toolroll.host.models.embedding.model_files import MINILM, ModelStore

        if self._embedder is not None:
            return ""
        if any(find_spec(name) is None for name in _NEEDS):
            from toolroll.host.requirement import add_extra

            return f"{_MISSED} install the extra: {add_extra('rag')}"
        if not self._value(settings.EMBEDDINGS_URL) and not ModelStore(self._environment).has(MINILM):
            return f"{_MISSED} run `toolroll models fetch`."
        return ""

    @property
    def model(self) -> str:
        from toolroll.host.models.embedding.model_files import MINILM

        return (
            (self._value(settings.EMBEDDINGS_MODEL) or _USUAL) if self._value(settings.EMBEDDINGS_URL) else MINILM.name
        )

    @property
    def embedder(self) -> Embedder:
        """The embedder; ToolError if it cannot be used. Check `unavailable_reason` first."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._load_embedder()
            return self._embedder

    def embed_question(self, query: str, token: CancelToken) -> Floats:
        """The vector of a question; ToolError if there is none."""
        vector: Floats = self.embedder.embed([query], token)[0]
        if vector[0] != vector[0]:  # NaN
            raise ToolError(ErrorCode.NETWORK, "The embedder gives no vector that can be used for the question.")
        return vector

    @property
    def bulk_embedder(self) -> Embedder:
        """The embedder for texts in large numbers, whose work no call has to wait for."""
        from toolroll.host.models.embedding.child_embedder import ChildEmbedder
        from toolroll.host.models.embedding.model_files import ModelStore

        if self._launcher is None or self._value(settings.EMBEDDINGS_URL):
            return self.embedder
        with self._lock:
            if self._children is None:
                self._children = ChildEmbedder(self._launcher, ModelStore(self._environment))
            return self._children

    @property
    def vectors(self) -> VectorStore:
        """The vector store; ToolError if it cannot be used. Check `unavailable_reason` first."""
        with self._lock:
            if self._vectors is None:
                self._vectors = self._open_store()
            return self._vectors

    @property
    def reranks(self) -> bool:
        return bool(self._value(settings.RERANK_URL))

    @property
    def reranker(self) -> Reranker:
        """The reranker; ToolError if it cannot be used. Check `reranks` first."""
        from toolroll.host.models.embedding.server import Reranker

        with self._lock:
            if self._reranker is None:
                names = (settings.RERANK_URL, settings.RERANK_MODEL, settings.RERANK_KEY)
                self._reranker = Reranker(self._http, *map(self._value, names))
            return self._reranker

    def similarities(
        self, query: str, texts: Sequence[str], seconds: float, token: CancelToken
    ) -> tuple[dict[int, float], RankingMethod]:
        """The cosines of texts to a query, by their places, and the ranking method.

        Vectors are cached. New ones are made for so long, of the first texts first.
        """
        if lacks := self.unavailable_reason:
            return {}, RankingMethod(reason=lacks)
        if not texts:
            return {}, RankingMethod("meaning and words")
        from toolroll.host.models.embedding.vector_cache import VectorCache

        try:
            asked = self.embed_question(query, token)
            made = VectorCache(self._state, token, self.embedder).vectors(texts, seconds, len(asked))
        except ToolError as error:
            token.check()  # unless it is the call itself that ends
            return {}, RankingMethod(reason=error.message)
        near = {at: float(one @ asked) for at, one in enumerate(made) if one is not None}
        left = f"{len(texts) - len(near)} of {len(texts)} by words alone, for now." if len(near) < len(texts) else ""
        return near, RankingMethod("meaning and words", left)

    def close(self) -> None:
        self.background.close()
        with self._lock:
            for one in (self._children, self._vectors):
                if one is not None:
                    one.close()
            self._embedder = self._children = self._vectors = self._reranker = None

    def _load_embedder(self) -> Embedder:
        from toolroll.host.models.embedding.embedder import LocalEmbedder, RemoteEmbedder
        from toolroll.host.models.embedding.model_files import ModelStore

        url = self._value(settings.EMBEDDINGS_URL)
        if not url:
            return LocalEmbedder(ModelStore(self._environment))
        return RemoteEmbedder(self._http, url, self.model, self._value(settings.EMBEDDINGS_KEY))

    def _open_store(self) -> VectorStore:
        from toolroll.host.knowledge.vectors import qdrant_edge, qdrant_server

        url, key = self._value(qdrant_server.URL), self._value(qdrant_server.KEY)
        if not url:
            return qdrant_edge.QdrantEdge(self._state)
        return qdrant_server.QdrantServer(self._http, url, key, os.path.abspath(self._state.path))

    def _value(self, name: str) -> str:
        return self._environment.get(name, "").strip()
