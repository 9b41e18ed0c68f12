"""Run git on a repository that is going to be merged: read and change the entries of an index in a folder apart."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from toolroll.host.runtime.launcher import AccessRules, Launcher
from toolroll.host.sandbox.git.git_process import ask_git
from toolroll.result import ErrorCode, ToolError

StagedFiles = Mapping[bytes, tuple[bytes, ...]]
"""By path: its entries, each as "mode object stage"; none for a path that goes."""

_TIMEOUT_S = 60.0


def read_staged(index: bytes, git: str, scratch: str, launcher: Launcher) -> StagedFiles:
    """The entries of an index; `git` is the folder of its repository, `scratch` one to work in."""
    _put(index, scratch)
    found: dict[bytes, tuple[bytes, ...]] = {}
    for row in run_git(["ls-files", "--stage", "-z"], b"", git, scratch, launcher).split(b"\0")[:-1]:
        entry, path = row.split(b"\t", 1)
        found[path] = (*found.get(path, ()), entry)
    return found


def write_staged(changes: StagedFiles, index: bytes, width: int, git: str, scratch: str, launcher: Launcher) -> bytes:
    """An index with other entries at some paths; what git knows of the files at other paths is kept.

    `width`: how many digits the names of objects have.
    """
    _put(index, scratch)
    gone = b"0 " + b"0" * width
    rows = [row + b"\t" + path for path, entries in changes.items() for row in (gone, *entries)]
    run_git(["update-index", "-z", "--index-info"], b"".join(row + b"\0" for row in rows), git, scratch, launcher)
    with open(os.path.join(scratch, "index"), "rb") as file:
        return file.read()


def check_connected(names: Iterable[bytes], git: str, scratch: str, launcher: Launcher) -> None:
    """ToolError if an object of these names, or one that they lead to, is missing in a repository."""
    words = ["rev-list", "--objects", "--stdin", "--not", "--all", "--quiet"]
    run_git(words, b"".join(name + b"\n" for name in names), git, scratch, launcher)


def _put(index: bytes, scratch: str) -> None:
    path = os.path.join(scratch, "index")
    if index:
        with open(path, "wb") as file:
            file.write(index)
    elif os.path.exists(path):
        os.unlink(path)


def run_git(words: Sequence[str], given: bytes, git: str, scratch: str, launcher: Launcher) -> bytes:
    """What git prints, with settings that run no other program; ToolError if it fails."""
    access = AccessRules((scratch,), (git, *_alternates(git)))
    how: dict[str, Any] = {"given": given, "variables": {"GIT_INDEX_FILE": os.path.join(scratch, "index")}}
    argv = [f"--git-dir={git}", "-c", "core.splitIndex=false", *words]
    printed, status = ask_git(launcher, argv, access, _TIMEOUT_S, **how)
    if status != 0:
        raise ToolError(
            ErrorCode.UNSUPPORTED,
            f"Nothing was merged: git {words[0]} fails on what the fork did to its repository. Merge by paths.",
        )
    return printed


def _alternates(git: str) -> list[str]:
    """The folders outside a repository in which it has objects."""
    with suppress(OSError), open(os.path.join(git, "objects/info/alternates"), encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if os.path.isdir(line) and line.startswith("/")]
    return []
