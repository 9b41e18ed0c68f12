"""Actions of the git tool, pathspecs, and safe display of text from a repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from toolroll.text.escape import escape_text

Action = Literal[
    "status", "diff", "log", "show", "branch", "add", "commit", "stash", "blame", "conflicts", "resolve", "merge",
    "rebase", "cherry-pick", "revert", "restore", "reset", "tag", "worktree", "fetch", "pull", "push",
]  # fmt: skip
Sub = Literal[
    "list", "create", "switch", "delete", "save", "pop", "drop", "continue", "abort", "skip", "ours", "theirs", "soft",
    "hard", "staged", "rebase",
]  # fmt: skip
LISTING: frozenset[str] = frozenset({"branch", "stash", "tag", "worktree"})
"""Actions that only look when `sub` is "list"."""
LOOKING: frozenset[str] = frozenset({"status", "diff", "log", "show", "blame", "conflicts"})


def default_sub(action: str) -> Sub:
    """What an action without a `sub` does, as git does it: list, or the only thing that it can."""
    return "save" if action == "stash" else "list"


_GLOB = re.compile(r"[*?\[]")


def split_names(files: str | Sequence[str]) -> list[str]:
    """Names from one text, separated by spaces, with quotes around those that hold one; a list stays."""
    if not isinstance(files, str):
        return list(files)
    import shlex

    try:
        return shlex.split(files)
    except ValueError:  # a quote that is part of a name
        return files.split()


def pathspec(name: str, *, exists: bool) -> str:
    """A path or a glob as git is to take it: never as an option, never with magic of its own."""
    kind = "glob" if not exists and _GLOB.search(name) else "literal"
    return f":({kind}){name}"


def show_text(text: str) -> str:
    """Text of others with control and invisible characters made visible, on one line."""
    return escape_text(text.replace("\n", " "), keep="\t").strip()


def show_path(path: str) -> str:
    """A path of others on one line; what would not be seen of it is."""
    text = escape_text(path, keep="\t")
    return repr(text) if text != text.strip() else text


def decode_output(data: bytes) -> str:
    """What git printed, as text."""
    return data.decode("utf-8", "replace")
