"""A frozen copy of a workspace: a folder as it is now, or a repository at a commit. Leases are forks of it."""

from __future__ import annotations

import os
import shutil
from typing import Any

from toolroll.host.files.trust import examine
from toolroll.host.forks.place import STATE, ForkHome, sweep
from toolroll.host.forks.tree_copy import FOLDER, TreeCopy, can_reflink
from toolroll.host.runtime.dir_entries import closing_fd
from toolroll.host.runtime.launcher import PIPE, STDOUT, AccessRules, Launcher, read_output
from toolroll.host.sandbox.choose import choose_for_helpers
from toolroll.result import ErrorCode, ToolError

_GIT_TIMEOUT_S = 600.0
_ALONE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1"}


class FrozenCopy:
    """A copy that does not change after its preparation. `close` removes it; so does the next one after a kill."""

    def __init__(self, source: str, commit: str | None, max_bytes: int) -> None:
        """ToolError for a folder or commit that does not exist, or is too large to be copied."""
        if not os.path.isdir(source):
            raise ToolError(ErrorCode.NOT_FOUND, f"There is no folder {source!r} to make a base of.")
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
        self._git(launcher, access, "clone", "-q", "--no-checkout", source, self.path)
        if self._git(launcher, access, "-C", self.path, "checkout", "-q", "--detach", f"{commit}^{{commit}}", "--"):
            raise ToolError(ErrorCode.NOT_FOUND, f"{source!r} has no commit {commit!r}.")
        self._git(launcher, access, "-C", self.path, "remote", "remove", "origin")

    def _git(self, launcher: Launcher, access: AccessRules, *words: str) -> int:
        own = ["-c", f"core.hooksPath={os.devnull}", "-c", "safe.directory=*", "-c", "advice.detachedHead=false"]
        with closing_fd(os.open(self.path, FOLDER)) as cwd:
            how: dict[str, Any] = {"cwd": cwd, "stdout": PIPE, "stderr": STDOUT, "env": _ALONE}
            process = launcher.start([launcher.program("git"), *own, *words], access, **how)
        said, ended = read_output(process, _GIT_TIMEOUT_S)
        if words[0] == "clone" and (not ended or process.returncode):
            raise ToolError(ErrorCode.EXECUTION, f"The repository cannot be cloned: {said.decode(errors='replace')}")
        return process.returncode

    def close(self) -> None:
        """Remove the copy, all that kits kept beside it, and the leases of processes that were killed."""
        sweep(os.path.dirname(self._home.path))
        self._home.close()
