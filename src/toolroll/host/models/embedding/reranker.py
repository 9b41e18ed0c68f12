"""Reranking of passages by a server that the operator names, in the protocol of Jina, Cohere and vLLM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.host.models.embedding.server import UNREADABLE, ModelServer, ServerSettings
from toolroll.host.models.embedding.settings import RERANK_KEY, RERANK_MODEL, RERANK_URL

if TYPE_CHECKING:
    from toolroll.host.http.client import Client
    from toolroll.host.runtime.cancellation import CancelToken

_MAX_TEXT_CHARS = 8_000
_MAX_BYTES = 5_000_000  # some servers send the texts back
_SECONDS = 20.0  # less than for vectors, because there is an order without it
_DELAYS = (0.5,)
_MAX_SCORE = 1e300  # an integer in JSON may be too large for a float


class Reranker:
    """A reranking server, its model and its key. Any thread may use it."""

    def __init__(self, http: Client, url: str, model: str = "", key: str = "") -> None:
        """ToolError if the URL is not allowed. Without a model the server uses its own."""
        names = (RERANK_URL, RERANK_MODEL, RERANK_KEY, "judged no passages", f"unset {RERANK_URL}")
        self._server = ModelServer(http, url, "rerank", key, ServerSettings(*names, _MAX_BYTES, _SECONDS, _DELAYS))
        self._model = {"model": model} if model else {}

    def scores(self, query: str, texts: Sequence[str], token: CancelToken) -> list[float]:
        """How well each text answers a question; ToolError with what to do if the server fails."""
        if not texts:
            return []
        documents = [text[:_MAX_TEXT_CHARS] for text in texts]
        body = {**self._model, "query": query[:_MAX_TEXT_CHARS], "documents": documents, "top_n": len(documents)}
        answer = self._server.post(body, token)
        try:
            rows = [(one["index"], one["relevance_score"]) for one in answer["results"]]
        except (KeyError, TypeError):
            raise self._server.error(UNREADABLE) from None
        if any(type(at) is not int for at, _ in rows) or sorted(at for at, _ in rows) != list(range(len(documents))):
            raise self._server.error("its answer does not have every passage once")
        if not all(type(score) in (int, float) and -_MAX_SCORE < score < _MAX_SCORE for _, score in rows):
            raise self._server.error("its scores are not numbers")
        return [float(score) for _, score in sorted(rows)]
