"""A kit on a fork of another kit's workspace."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from toolroll.dialect import View
from toolroll.kit import Kit
from toolroll.result import ErrorCode, Result, ToolError
from toolroll.steps import Hooks

if TYPE_CHECKING:
    from toolroll.host.forks.fork import Fork
    from toolroll.host.forks.views import ForkKind
    from toolroll.text.files.changes import Change


class ForkedKit(Kit):
    """A kit on a fork of another kit's workspace. At the end of its block the fork is dropped."""

    reads_ahead = False

    def __init__(self, base: Kit, fork: Fork, number: int) -> None:
        """Nothing is opened before the first use: a fork is cheap until then."""
        self._base, self._fork, self._spill = base, fork, base._services.spill
        self._environ = base._environ
        self.number = number
        """What `commit` and `discard` of the base know it by."""
        self._opening = threading.RLock()
        self._stage: Literal["new", "opening", "open", "closed"] = "new"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        with self._opening:
            if self._stage == "closed":
                raise ToolError(ErrorCode.NOT_FOUND, f"Fork {self.number} was dropped. Make another one.")
            if self._stage == "new":
                self._stage = "opening"
                self._open_on_fork(self._base, self._fork)
                self._stage = "open"
        return object.__getattribute__(self, name)

    def _open_on_fork(self, base: Kit, fork: Fork) -> None:
        fork.settle()
        super().__init__(fork.path, base.dialect, base.mode, state_dir=fork.state, **self._options_of(base))
        self._services.root.stand_for(base.workspace)
        self._services.secrets.share(base._services.secrets)
        self._services.state.share("tests", base._services.state)  # which files tests reach
        self._add([one for one in base._added.values() if isinstance(one, View) and one.tool.category != "mcp"])

    def _options_of(self, base: Kit) -> dict[str, Any]:
        """The options of a kit on a fork of `base`."""
        approve, policy = base._services.guard.approver, replace(base.policy, commit="auto")
        observe = next(iter(base._observers[2:]), None)
        return {"policy": policy, "approve": approve, "settings": base.settings, "observe": observe}

    def _find_hooks(self) -> Hooks:
        """Configured ones, which run in the fork's workspace; those of the base's program, also later ones; its own."""
        return Hooks(*self._services.command_hooks(self.settings.hook), base=self._base._hooks)

    @property
    def is_open(self) -> bool:
        """Whether it was used, and is not closed."""
        return self._stage == "open"

    @property
    def workspace(self) -> str:
        self._fork.settle()
        return self._fork.path

    @property
    def kind(self) -> ForkKind:
        """How the workspace was copied."""
        return self._fork.kind

    def changes(self) -> list[Change]:
        """What differs from the base, by path."""
        return self._base._services.forks.get(self.number).changes()

    def describe(self) -> str:
        """What differs, in one line, with commits, branches and staged files; empty if nothing does."""
        return self._base._services.forks.describe(self.number)

    def diff(self) -> str:
        """The changes of files as a patch."""
        return self._base._services.forks.get(self.number).diff()

    def merge(self, *paths: str) -> Result:
        """Carry the changes over to the base, all of them or those at these paths, as one entry of its journal.

        ToolError, and nothing is changed, where the base changed too.
        """
        from toolroll.tools.shell.commit import commit

        result = self._base._call_own(commit, fork=self.number, paths=list(paths))
        if result.error is not None:
            raise ToolError(result.error.code, result.error.message, details=result.error.details)
        return result

    def drop(self) -> None:
        """Remove the fork; what was not merged is lost."""
        self._base._services.forks.drop(self.number)

    def close(self) -> None:
        self.drop()
        with self._opening:
            was_open, self._stage = self.is_open, "closed"
        if was_open:
            super().close()
