"""Structure and map of the code in a workspace.

Fronts: `structure.Structure` (definitions and uses by syntax) and `repo_map.RepoMaps` (files by relevance).
Parsers run in child processes. May import `host/git`, `host/search`, `host/files`, `host/runtime` and `text`.
"""
