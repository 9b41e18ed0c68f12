"""Rank texts by their words: terms, weights, BM25. Front: `bm25.Bm25Index`. Imports no other subject."""
