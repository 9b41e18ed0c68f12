"""A launcher for engines that a test makes by itself, confined as that of a kit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from toolroll.host.runtime.launcher import PIPE, AccessRules, Launcher, folder_path, start_process
from toolroll.host.sandbox.choose import choose_for_helpers
from toolroll.host.sandbox.tiers import Unconfined

if TYPE_CHECKING:
    from toolroll.host.runtime.launcher import ChildProcess

LAUNCHER = Launcher(choose_for_helpers, os.environ.get("PATH", os.defpath), "/no/workspace")
"""Takes programs from anywhere."""

UNCONFINED = Launcher(Unconfined, os.environ.get("PATH", os.defpath), "/no/workspace")
"""For a test that becomes another user: what it starts is that user too."""

choose_for_helpers()  # its trial comes before a test counts descriptors


def beneath(folder: int) -> AccessRules:
    """The reach of a program that reads in a folder, a descriptor."""
    return AccessRules((), (folder_path(folder),))


def spawn(argv: Sequence[str], cwd: int, env: Mapping[str, str]) -> ChildProcess:
    """Start a language server as a plain process."""
    return start_process(argv, folder_path(cwd), env, (PIPE, PIPE, PIPE))
