"""A frozen copy of a workspace: a folder as it is now, or a repository at a commit. Leases are forks of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from toolroll.host.files.trust import examine
from toolroll.host.forks.place import STATE, ForkHome, sweep
from toolroll.host.forks.tree_copy import FOLDER, TreeCopy, can_reflink
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import AccessRules, Launcher
from toolroll.host.sandbox.choose import choose_for_helpers
from toolroll.host.sandbox.git.git_process import ask_git
from toolroll.result import ErrorCode, ToolError
from toolroll.text.git.settings import SERVICE

_GIT_TIMEOUT_S = 600.0


class FrozenCopy:
    """A copy that does not change after its preparation. `close` removes it; so does the next one after a kill."""

    def __init__(self, source: str, commit: str | None, max_bytes: int) -> None:
        """ToolError for a folder or commit that does not exist, or is too large to be copied."""
        if not os.path.isdir(source):
            raise ToolError(ErrorCode.NOT_FOUND, _no_folder(source))
        examine(source)
        self._home = ForkHome(os.path.abspath(source))
        try:
            place = self._home.make_place()
            self.path, self.state = place.workspace, os.path.join(place.path, STATE)
            if commit is None:
                self._copy(source, max_bytes)
            else:
                self._check_out(os.path.abspath(source), commit)
        except BaseException:
            self._home.close()
            raise

    def _copy(self, source: str, max_bytes: int) -> None:
        with closing_fd(os.open(source, FOLDER)) as old, closing_fd(os.open(self.path, FOLDER)) as new:
            TreeCopy(max_bytes, can_reflink(old, new)).copy(old, new)
        shutil.copystat(source, self.path)

    def _check_out(self, source: str, commit: str) -> None:
        launcher = Launcher(choose_for_helpers, os.environ.get("PATH", os.defpath), source)
        access = AccessRules((self.path,), (source,))
        found = resolve_commits(source, [commit]).get(commit, commit)
        self._git(
            launcher, access, "clone", "-q", f"--upload-pack={SERVICE} upload-pack", "--no-checkout", source, self.path
        )
        if self._git(launcher, access, "-C", self.path, "checkout", "-q", "--detach", f"{found}^{{commit}}", "--"):
            raise ToolError(ErrorCode.NOT_FOUND, _no_commit(source, commit))
        self._git(launcher, access, "-C", self.path, "remote", "remove", "origin")

    def _git(self, launcher: Launcher, access: AccessRules, *words: str) -> int:
        clones = words[0] == "clone"
        how: dict[str, Any] = {"cwd": self.path, "errors": True, "protocols": "file" if clones else "none"}
        said, status = ask_git(launcher, words, access, _GIT_TIMEOUT_S, **how)
        if clones and status != 0:
            raise ToolError(ErrorCode.EXECUTION, f"The repository cannot be cloned: {said.decode(errors='replace')}")
        return 1 if status is None else status

    def close(self) -> None:
        """Remove the copy, all that kits kept beside it, and the leases of processes that were killed."""
        sweep(os.path.dirname(self._home.path))
        self._home.close()


def find_problems(source: str, commits: Iterable[str | None]) -> dict[str | None, str]:
    """Which commits of a folder (None: the folder as it is) no base can be made of, and why. It makes none.

    What cannot be found out so, as of a folder that is no repository, is left to `FrozenCopy`.
    """
    asked = list(commits)
    if not os.path.isdir(source):
        return dict.fromkeys(asked, _no_folder(source))
    named = [one for one in asked if one is not None]
    try:
        found = resolve_commits(os.path.abspath(source), named) if named else {}
    except (ToolError, OSError):
        return {}
    return {one: _no_commit(source, one) for one in named if found.get(one) == ""}


def resolve_commits(source: str, commits: Sequence[str]) -> dict[str, str]:
    """The ids of commits as they are named in a repository, empty for those that it does not have.

    A branch may also be named as a clone names it, `origin/main`. Names that git does not answer are left out.
    """
    launcher = Launcher(choose_for_helpers, os.environ.get("PATH", os.defpath), source)
    none = {one: "" for one in commits if one.startswith("-") or "\n" in one or "\0" in one}
    known = [one for one in commits if one not in none and "@{" not in one]  # git gives up at some of the latter
    asked = [form for one in known for form in (one, f"refs/heads/{one.removeprefix('origin/')}")]
    lines = "".join(f"{one}^{{commit}}\n" for one in asked).encode(errors="replace")
    words, access = ("cat-file", "--batch-check=%(objectname)"), AccessRules((), (source,))
    said, status = ask_git(launcher, words, access, _GIT_TIMEOUT_S, given=lines, cwd=source)
    answers = [one.decode(errors="replace") for one in said.split(b"\n")[:-1]]
    if status != 0 or len(answers) != len(asked):
        return none
    ids = ["" if " " in one else one for one in answers]
    return none | {one: ids[2 * at] or ids[2 * at + 1] for at, one in enumerate(known)}


def _no_folder(source: str) -> str:
    return f"There is no folder {source!r} to make a base of."


def _no_commit(source: str, commit: str) -> str:
    return f"{source!r} has no commit {commit!r}."
