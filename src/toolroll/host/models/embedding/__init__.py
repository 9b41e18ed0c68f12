"""Embeddings: an `Embedder` (local MiniLM or a server), a `Reranker`, a cache of vectors, and the files of models.

MiniLM runs on numpy alone: no other runtime has to be installed. May import host/http and host/runtime.
"""
