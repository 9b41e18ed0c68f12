"""Texts as vectors that are near each other when the texts mean the same."""
