"""State of the index of a workspace, for `toolroll doctor`. Creates nothing."""

from __future__ import annotations

import os
from contextlib import closing

from toolroll.host.files.root import Root
from toolroll.host.runtime.state import State
from toolroll.host.search.index.live import MIN_FILES, SWITCH, index_path, is_off


def describe_index(workspace: str) -> tuple[bool, str]:
    """Whether a workspace has an index in its usual state folder, and a description."""
    import sqlite3

    if is_off():
        return False, f"off, by {SWITCH}: every search reads the files"
    try:
        with Root(workspace) as root:
            path = index_path(State.of(root.path), root.path)
    except OSError:
        return False, "there is no workspace"
    if not os.path.exists(path):
        return False, f"none yet: the first search of a tree of {MIN_FILES} files or more creates it"
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1.0)) as base:
            (files,) = base.execute("select count(*) from files").fetchone()
    except sqlite3.Error as error:
        return False, f"{path} cannot be read ({error}); the next search replaces it"
    return True, f"{files} files, {os.path.getsize(path) / 1e6:.1f} MB at {path}"
