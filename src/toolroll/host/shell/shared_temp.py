"""Bubblewrap whose commands have one `/tmp` together."""

from __future__ import annotations

from toolroll.host.runtime.launcher import AccessRules
from toolroll.host.sandbox.bubblewrap import Bubblewrap

TEMPS = ("/tmp", "/var/tmp")  # the second one is a link to the first in the view of a command


class SharedTempBubblewrap(Bubblewrap):
    """The same sandbox, but a folder is at `/tmp` in place of an empty one for each command.

    Nothing else may be mounted beneath them: a command could move the folders above such a mount.
    """

    def __init__(self, made: Bubblewrap, folder: str) -> None:
        """`made` is used no more: its network is now this one's."""
        self.__dict__.update(made.__dict__)
        self._folder = folder

    def _view(self, access: AccessRules) -> tuple[str, ...]:
        words = super()._view(access)
        at = next(i for i, word in enumerate(words) if word == TEMPS[0] and words[i - 1] == "--tmpfs")
        sized = words[at - 3 : at - 2] == ("--size",)
        return *words[: at - (5 if sized else 1)], "--bind", self._folder, *words[at:]
