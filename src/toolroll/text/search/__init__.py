"""Globs, regular expressions and trigrams: what a search looks for."""
