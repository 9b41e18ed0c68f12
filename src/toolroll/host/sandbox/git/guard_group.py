"""Guard the repositories of all roots of a workspace together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from toolroll.host.sandbox.git.guard import GitGuard, GuardedCommand

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.host.runtime.state import State


def make_guard(root: Root, state: State, states: Mapping[str, State]) -> GitGuard:
    """The guard of a workspace; `states` are the state folders of its further roots."""
    if not states:
        return GitGuard(root, state)
    return GitGuardGroup(root, state, [GitGuard(root.others[name], one) for name, one in states.items()])


class GitGuardGroup(GitGuard):
    """The guard of a workspace, which has the guards of its further roots do the same."""

    def __init__(self, root: Root, state: State, others: Sequence[GitGuard]) -> None:
        super().__init__(root, state)
        self._others = others
        self._inner: dict[GuardedCommand, list[GuardedCommand]] = {}

    def recover(self) -> list[str]:
        return [*super().recover(), *(said for one in self._others for said in one.recover())]

    def begin(self) -> GuardedCommand:
        guarded = super().begin()
        inner = self._inner[guarded] = []
        try:
            for guard in self._others:
                one = guard.begin()
                one.stop = partial(_stop, guarded)
                inner.append(one)
        except BaseException:
            self.end(guarded)
            raise
        return guarded

    def mounts(
        self, protected: Iterable[str], guarded: GuardedCommand | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = tuple(protected)
        hold, keep = super().mounts(names, guarded)
        inner = self._inner[guarded] if guarded is not None else [None] * len(self._others)
        for guard, one in zip(self._others, inner, strict=True):
            more = guard.mounts(names, one)
            hold, keep = (*hold, *more[0]), (*keep, *more[1])
        return hold, keep

    def end(self, guarded: GuardedCommand) -> list[str]:
        said = super().end(guarded)
        for guard, one in zip(self._others, self._inner.pop(guarded, ()), strict=False):
            said += guard.end(one)
        return said

    def close(self) -> None:
        for one in self._others:
            one.close()
        super().close()


def _stop(guarded: GuardedCommand) -> None:
    guarded.stop()  # looked up late: it is set once the command has been started
