"""Copy-on-write copies of a workspace: made, compared with it, merged into it, removed.

`forks.Forks` is the front. Own code because no library joins overlays, reflinks and copies. May import files, sandbox,
shell and what is below them.
"""
