"""Judge what a command changed by rules about effects: what happened to which files, and can git restore them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from toolroll.policy.decision import Decision
from toolroll.policy.paths import matches_pattern

FileEffectKind = Literal["create", "modify", "delete", "mode"]
Bound = Annotated[str, msgspec.Meta(pattern=r"^[<>]=?\d+$")]
"""A comparison with a number, such as ">20"."""
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MAX_NAMED = 5


class CommitRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row. It is about the changed files that every key of it fits; without a key, about all."""

    decision: Decision
    effect: FileEffectKind | None = None
    path: str | None = None
    count: Bound | None = None
    """How many files the other keys fit."""
    size: Bound | None = None
    """Bytes of the file after the change; before it, if it was deleted."""
    untracked: bool | None = None
    """Whether something is lost that git could not restore."""
    executable: bool | None = None
    """Whether the file got the right to be executed."""
    auto_run: bool | None = None
    """Whether other programs run the file by themselves."""
    reason: str = ""


DEFAULT_RULES = (
    CommitRule(decision="allow"),
    CommitRule(decision="ask", untracked=True, reason="git could not restore it"),
    CommitRule(decision="ask", effect="delete", count=">20", reason="many files are deleted"),
    CommitRule(decision="ask", auto_run=True, reason="other programs run it by themselves"),
)
"""The rules where the user has none."""


@dataclass(frozen=True, slots=True)
class FileEffect:
    """What happened to one file."""

    path: str
    effect: FileEffectKind
    size: int = 0
    untracked: bool = False
    executable: bool = False
    auto_run: bool = False


@dataclass(frozen=True, slots=True)
class EffectVerdict:
    """The strictest decision about some effects, and why."""

    decision: Decision
    reason: str = ""
    paths: tuple[str, ...] = ()
    """The files that it is about."""


def judge_effects(effects: Sequence[FileEffect], rules: Sequence[CommitRule] = ()) -> EffectVerdict:
    """The decision about all effects. A file that no rule is about is asked about."""
    found: dict[FileEffect, CommitRule] = {}
    for rule in rules or DEFAULT_RULES:
        fits = [one for one in effects if _is_about(rule, one)]
        if rule.count is not None and not _holds(rule.count, len(fits)):
            continue
        for one in fits:
            known = found.get(one)
            if known is None or rule.decision > known.decision:
                found[one] = rule
    decisions: list[Decision] = [found[one].decision if one in found else "ask" for one in effects]
    strictest: Decision = max(decisions, default="allow")
    if strictest == "allow":
        return EffectVerdict("allow")
    about = [one for one, decision in zip(effects, decisions, strict=True) if decision == strictest]
    reasons = dict.fromkeys(found[one].reason if one in found else "no rule is about it" for one in about)
    named = ", ".join(f"{one.effect} {one.path!r}" for one in about[:_MAX_NAMED])
    more = f" and {len(about) - _MAX_NAMED} more" if len(about) > _MAX_NAMED else ""
    why = f" ({'; '.join(filter(None, reasons))})" if any(reasons) else ""
    return EffectVerdict(strictest, f"{named}{more}{why}", tuple(one.path for one in about))


def _is_about(rule: CommitRule, effect: FileEffect) -> bool:
    return (
        rule.effect in (None, effect.effect)
        and rule.untracked in (None, effect.untracked)
        and rule.executable in (None, effect.executable)
        and rule.auto_run in (None, effect.auto_run)
        and (rule.path is None or matches_pattern(rule.path, effect.path))
        and (rule.size is None or _holds(rule.size, effect.size))
    )


def _holds(bound: str, value: int) -> bool:
    sign = bound.rstrip("0123456789")
    return _COMPARE[sign](value, int(bound[len(sign) :]))
