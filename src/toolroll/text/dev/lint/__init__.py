"""Linters and formatters as text: their command lines (`engines`), their output (`readers`), what is shown (`results`).

A linter is one row of `engines.ENGINES`. Imports `toolroll.result` and the names of `text`.
"""
