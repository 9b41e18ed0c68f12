"""A row of the tables of refused programs, with its examples beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolroll.policy.shell.parse.words import SimpleCommand


@dataclass(frozen=True, slots=True)
class RefusedProgram:
    """Programs that are refused: always, or when `harms` says so of their words."""

    programs: tuple[str, ...]
    """Names without their folder; "mkfs.*" stands for any ending."""
    reason: str
    """What it does, as the end of a sentence."""
    harms: Callable[[SimpleCommand], bool] | None = None
    denies: tuple[str, ...] = ()
    """Examples that must be refused by this row alone."""
    passes: tuple[str, ...] = ()
    """Examples that this row must let by."""
