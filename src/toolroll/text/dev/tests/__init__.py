"""Test frameworks as text: their command lines (`frameworks`), their reports (one reader each), what is shown.

A framework is one row of `frameworks.FRAMEWORKS`. Imports `toolroll.result` and the names of `text`.
"""
