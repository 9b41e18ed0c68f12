"""Guard the repository of a workspace while commands that may write there run: restore settings, hooks, lost commits.

`guard.GitGuard` is the front. May import the sandbox's directory entries, files and runtime.
"""
