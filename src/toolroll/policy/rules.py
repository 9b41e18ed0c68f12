"""Who may do what: modes, and an operator's policy over effects. The guard carries the decisions out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolroll.policy.effects import Effect

Decision = Literal["allow", "ask", "deny"]

EVERYTHING = ~Effect.NONE

MODES: dict[str, Effect] = {
    "code": EVERYTHING,
    "thinking": Effect.READ | Effect.NETWORK,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision and the reason that is told."""

    decision: Decision
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator lets tools do, by effect, and which files nothing may change or touch."""

    ask: Effect = Effect.NONE
    """Effects that the approver must agree to."""
    deny: Effect = Effect.NONE
    protected: tuple[str, ...] = (".git", ".hg", ".svn", ".jj")
    """Names that no tool writes to, wherever in the workspace they are."""
    extensions: frozenset[str] | None = None
    """When set, only files of these types (and files without one) are opened."""


PRESETS: dict[str, Policy] = {
    "standard": Policy(),
    "ask": Policy(ask=Effect.WRITE | Effect.DELETE | Effect.RUN | Effect.NETWORK),
    "read-only": Policy(deny=Effect.WRITE | Effect.DELETE | Effect.RUN),
}


def judge(effects: Effect, mode: str, policy: Policy) -> Verdict:
    """Whether a tool with these effects may run."""
    if effects not in MODES[mode]:
        return Verdict("deny", f"not allowed in {mode} mode")
    if effects & policy.deny:
        return Verdict("deny", "not allowed by the policy")
    return Verdict("ask", "needs approval") if effects & policy.ask else Verdict("allow")
