"""The journal of changes, kept outside the workspace, so that each call can be undone to the byte.

`journal.Journal` is the front. Own code because no library undoes across kills. May import files below it, and runtime.
"""
