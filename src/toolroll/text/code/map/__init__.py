"""Rank the files of a tree, and lay out the result as a map.

Front: `ranking.FileRanker`. Pure; may import `text/code/syntax` and `text/ranking`.
"""
