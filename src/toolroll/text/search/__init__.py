"""Patterns of searches: globs, and regular expressions for two engines. Pure, imports only `result`."""
