"""Rank texts by their words: terms, weights, BM25."""
