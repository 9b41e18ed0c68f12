"""Modes and the operator's policy: what tools may do, by effect and path. The guard carries the decisions out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from toolroll.policy.commit_rules import CommitRule
from toolroll.policy.decision import Rule, Verdict
from toolroll.policy.effects import EVERYTHING, Effect
from toolroll.policy.network import check_credentials, parse_network
from toolroll.policy.paths import matches_pattern

Confinement = Literal["required", "bubblewrap", "landlock", "none"]

MODES: dict[str, Effect] = {
    "code": EVERYTHING,
    "thinking": Effect.READ | Effect.NETWORK,
}


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"pass_": "pass"}):
    """The operator's say over the variables that commands get. Names may have wildcards: `NPM_*`."""

    pass_: tuple[str, ...] = ()
    """Passed on although they look like secrets."""
    set: dict[str, str] = {}
    """Set for every command, over all others."""
    only: tuple[str, ...] = ()
    """When set, only these of the others are passed on."""


_EVERY_VARIABLE = Environment()


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator lets tools do, by effect, path and command, and how commands are confined."""

    ask: Effect = Effect.NONE
    """Effects that the approver must agree to. With SHELL: each command that does more than read."""
    deny: Effect = Effect.NONE
    protected: tuple[str, ...] = (".git", ".hg", ".svn", ".jj")
    """Names that no tool writes to, wherever in the workspace they are."""
    extensions: frozenset[str] | None = None
    """When set, only files of these types (and files without one) are opened."""
    rules: tuple[Rule, ...] = ()
    """The operator's own rules; they come before everything built in but what destroys a machine."""
    commands: str | None = None
    """The built-in table that commands are judged by; None leaves it to the dialect."""
    sandbox: Confinement = "required"
    """How commands are confined. "none" is the opt-out: they may then do whatever the user may."""
    network: bool | str | tuple[str, ...] = False
    """Which hosts commands may reach: none, all, or those that are named. A text, as `--network` has it, is parsed."""
    allow_destructive: bool = False
    """Whether git commands that lose work, such as `stash drop`, run without the user's consent."""
    allow_cd: bool = True
    """Whether `terminal` may change its folder."""
    credentials: Mapping[str, str] = field(default_factory=dict)
    """For hosts of `network`, where the secret comes from that their requests get, unseen by commands: `env:NAME`, a
    variable, or `file:PATH`. The secret is `user:password`, a token, or a whole value of Authorization."""
    hosts: tuple[str, ...] = ()
    """Private or local hosts that may be fetched from nevertheless, such as "127.0.0.1:8080"."""
    readable: tuple[str, ...] = ()
    """Folders outside the workspace that commands may read, besides the system and its toolchains."""
    wide: bool = False
    """Whether the workspace may be a home folder, or hold one, up to the whole machine; secrets in it stay hidden."""
    environment: Environment = _EVERY_VARIABLE
    """Which variables commands get."""
    taint: Literal["secrets", "foreign"] = "secrets"
    """After what was read a request that could carry it asks: files of secrets, or also text from other machines."""
    secrets: Literal["mark", "hide"] = "mark"
    """What is done about files of secrets in the workspace: a command that could have read one marks the session, and
    then what could carry a secret out asks; or no command can read one, which needs bubblewrap."""
    secret_files: tuple[str, ...] = ()
    """Patterns of more files that count as secret, such as "config/prod.yml"."""
    commit: Literal["auto", "ask", "rules"] = "auto"
    """Whether what commands change lands at once, after a question, or as the rules about effects say."""
    commit_rules: tuple[CommitRule, ...] = ()
    """The rules about effects; without any, those of `DEFAULT_RULES` hold."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "network", parse_network(self.network))
        check_credentials(self.credentials)


PRESETS: dict[str, Policy] = {
    "standard": Policy(),
    "ask": Policy(ask=Effect.WRITE | Effect.DELETE | Effect.RUN | Effect.SHELL | Effect.NETWORK),
    "read-only": Policy(deny=Effect.WRITE | Effect.DELETE | Effect.RUN | Effect.SHELL),
}


def judge(effects: Effect, mode: str, policy: Policy) -> Verdict:
    """Whether a tool with these effects may run."""
    if effects not in MODES[mode]:
        return Verdict("deny", f"not allowed in {mode} mode")
    if effects & policy.deny:
        return Verdict("deny", "not allowed by the policy")
    ruling = [one for one in policy.rules if not one.command and not one.path and _covers(one, effects)]
    ruled = _strictest(ruling)
    if ruled is not None and ruled.decision != "allow":
        return ruled
    asked = effects & policy.ask & ~Effect.SHELL  # commands are asked about one by one, where they are run
    for one in ruling:  # what allows one effect does not allow the others
        asked &= ~EVERYTHING if one.effect is None else ~Effect[one.effect.upper()]
    return Verdict("ask", "needs approval") if asked else ruled or Verdict("allow")


def judge_path(parts: Sequence[str], effects: Effect, policy: Policy) -> Verdict:
    """Whether something with these effects may be done at a path of the workspace, by the operator's rules."""
    path = "/".join(parts)
    found = (one for one in policy.rules if one.path and matches_pattern(one.path, path) and _covers(one, effects))
    return _strictest(found) or Verdict("allow")


def has_paths(policy: Policy) -> bool:
    """Whether any rule is about paths."""
    return any(one.path for one in policy.rules)


def _covers(rule: Rule, effects: Effect) -> bool:
    return rule.effect is None or bool(Effect[rule.effect.upper()] & effects)


def _strictest(rules: Iterable[Rule]) -> Verdict | None:
    found = max(rules, key=lambda rule: rule.decision, default=None)
    if found is None:
        return None
    words = {"allow": "", "ask": "needs approval", "deny": "not allowed by a rule"}[found.decision]
    return Verdict(found.decision, f"{words} ({found.reason})" if words and found.reason else words, rule=found)
