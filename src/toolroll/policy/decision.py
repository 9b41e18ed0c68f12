"""The vocabulary of every policy: a decision, a verdict with its reason, and the operator's own rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

Decision = Literal["allow", "ask", "deny"]
"""Ordered by strictness as text, so the strictest of several decisions is their `max`."""
DECISIONS: tuple[Decision, ...] = get_args(Decision)


@dataclass(frozen=True, slots=True)
class Rule:
    """A user's own rule. `command` is compared with the first words of a simple command; a last "*" is any words."""

    decision: Decision
    command: tuple[str, ...] = ()
    path: str | None = None
    effect: str | None = None
    reason: str = ""
    match: tuple[str, ...] = ()
    """Example commands that the rule must match."""
    not_match: tuple[str, ...] = ()
    exact: bool = False
    """No further words may follow."""

    def __post_init__(self) -> None:
        """Take a command as one text too: its letters would never match."""
        given: str | tuple[str, ...] = self.command
        object.__setattr__(self, "command", tuple(given.split()) if isinstance(given, str) else given)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision and its reason."""

    decision: Decision
    reason: str = ""
    rule: Rule | None = field(default=None, kw_only=True)
    """The operator's rule that decided."""
