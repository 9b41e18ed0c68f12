"""A folder for a replay: empty, or with the files of a commit. It is removed at the end."""

from __future__ import annotations

import os
import re
import stat

from toolroll.host.fleet.frozen import FrozenCopy
from toolroll.host.forks.place import STATE, ForkHome
from toolroll.result import ErrorCode, ToolError

_ANY_SIZE = 1 << 60
_COMMIT = re.compile("[0-9a-f]{40,64}")
_BRANCH = re.compile(r"refs/heads/\w[\w./-]*")


class ReplayPlace:
    """The folder, and one beside it for the state of a kit."""

    def __init__(self, source: str, commit: str, branch: str) -> None:
        """`source` has the repository of the commit. ToolError if it does not have it."""
        if not commit:
            home = ForkHome(os.path.abspath(source))
            place = home.make_place()
            self.path, self.state, self.close = place.workspace, os.path.join(place.path, STATE), home.close
        elif _COMMIT.fullmatch(commit):
            frozen = FrozenCopy(source, commit, _ANY_SIZE)
            self.path, self.state, self.close = frozen.path, frozen.state, frozen.close
            if _BRANCH.fullmatch(branch) and ".." not in branch:
                self._set_branch(commit, branch)
        else:
            raise ToolError(ErrorCode.VALIDATION, f"{commit!r} is no commit.")
        os.chmod(self.path, stat.S_IMODE(os.stat(source).st_mode))

    def _set_branch(self, commit: str, branch: str) -> None:
        """Put HEAD on the branch that it was on."""
        repository = os.path.join(self.path, ".git")
        os.makedirs(os.path.join(repository, os.path.dirname(branch)), exist_ok=True)
        for name, line in ((branch, commit), ("HEAD", f"ref: {branch}")):
            with open(os.path.join(repository, name), "w", encoding="utf-8") as file:
                file.write(f"{line}\n")
