"""File table and trigram index of a workspace, kept because a search by it is 7 to 50 times less work on large trees.

Front: `live.LiveIndex`, which gives `Candidates`. May import `host/files`, `host/runtime`, and types of `host/search`.
"""
