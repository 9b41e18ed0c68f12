"""The rules of a user's configuration, each checked by the examples that it carries."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from toolroll.policy.commands import rule_matches
from toolroll.policy.decision import DECISIONS, Decision, Rule
from toolroll.policy.shell.parse.analysis import analyse
from toolroll.policy.shell.parse.words import SimpleCommand

_Text = Annotated[str, Meta(min_length=1)]


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A `[[rule]]` table, as `Rule` has it."""

    decision: Decision
    command: str | tuple[_Text, ...] = ()
    path: _Text | None = None
    effect: _Text | None = None
    reason: str = ""
    match: tuple[_Text, ...] = ()
    not_match: tuple[_Text, ...] = ()
    exact: bool = False


def parse_rules(rows: Any) -> tuple[Rule, ...]:
    """The rules of `[[rule]]` tables, as TOML gives them. ValueError names the one that is wrong."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("Rules are given as [[rule]] tables.")
    rules = []
    for place, row in enumerate(rows, 1):
        try:
            if row.get("decision") not in DECISIONS:
                raise ValueError(f"decision is {row.get('decision')!r}, it must be 'allow', 'ask' or 'deny'")
            rules.append(_parse(msgspec.convert(row, _Row)))
            _check_rule(rules[-1])
        except ValueError as error:
            raise ValueError(f"rule {place}: {str(error).rstrip('.')}.") from None
    return tuple(rules)


def _parse(row: _Row) -> Rule:
    words = row.command
    if isinstance(words, str):
        try:
            words = tuple(shlex.split(words))
        except ValueError as error:
            raise ValueError(f"the command {row.command!r} cannot be split into words: {error}") from None
        if not words:
            raise ValueError("the command is empty")
    if not words and row.path is None and row.effect is None:
        raise ValueError("it needs a command, a path or an effect")
    return Rule(row.decision, words, row.path, row.effect, row.reason, row.match, row.not_match, row.exact)


def _check_rule(rule: Rule) -> None:
    """ValueError if an example of a rule does not match as the rule says."""
    if (rule.match or rule.not_match) and not rule.command:
        raise ValueError("examples need a command")
    for text in (*rule.match, *rule.not_match):
        commands = [one.item for one in analyse(text).found if isinstance(one.item, SimpleCommand)]
        if any(rule_matches(rule, command) for command in commands) is not (text in rule.match):
            verb = "must" if text in rule.match else "must not"
            raise ValueError(f"the example {text!r} {verb} match the command {' '.join(rule.command)!r}")
