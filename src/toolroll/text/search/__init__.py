"""Patterns of searches: globs, regular expressions for two engines, trigram queries. Pure, imports only `result`."""
