"""Search the workspace: `grep` for lines and `find` for names.

Front: `search.Search`. `grep.plan` decides which engine searches which files; `index/` knows which files can match.
May import `host/files`, `host/runtime`, `policy` and `text`.
"""
