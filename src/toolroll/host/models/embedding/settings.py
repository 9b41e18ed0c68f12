"""Environment variables that name an embedding server and a reranking server."""

from __future__ import annotations

URL, MODEL, KEY = "TOOLROLL_EMBEDDINGS_URL", "TOOLROLL_EMBEDDINGS_MODEL", "TOOLROLL_EMBEDDINGS_KEY"
RERANK_URL, RERANK_MODEL, RERANK_KEY = "TOOLROLL_RERANK_URL", "TOOLROLL_RERANK_MODEL", "TOOLROLL_RERANK_KEY"
