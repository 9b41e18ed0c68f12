"""Search the workspace: `grep` for lines and `find` for names.

Front: `search.Search`. `grep.plan` decides which files are searched in which order; `live_files` knows the files.
May import `host/files`, `host/runtime`, `policy` and `text`.
"""
