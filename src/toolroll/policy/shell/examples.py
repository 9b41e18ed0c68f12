"""Rules that carry their own examples, checked when they are loaded."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from toolroll.policy.commands import CommandRules, judge_analysis, rule_matches
from toolroll.policy.decision import DECISIONS, Decision, Rule
from toolroll.policy.shell.parse.analysis import analyse
from toolroll.policy.shell.parse.words import SimpleCommand

KEYS = frozenset({"decision", "command", "path", "effect", "reason", "match", "not_match", "exact"})


def check_examples(rules: CommandRules) -> None:
    """ValueError with the row's name when an example of a row is not judged as the row says."""
    for alone, examples, wanted in _rows(rules):
        for text, expected in examples:
            found = judge_analysis(text, analyse(text), alone).decision == wanted
            if found is not expected:
                verb = "must" if expected else "must not"
                raise ValueError(f"{alone.name}: the example {text!r} {verb} be judged {wanted!r}.")
    for place, rule in enumerate(rules.user, 1):
        _check_rule(rule, f"user rule {place}")


def _rows(rules: CommandRules) -> Iterator[tuple[CommandRules, list[tuple[str, bool]], Decision]]:
    """Every row as a policy of its own, with its examples."""
    for row in rules.banned:
        name = f"{rules.name}, banned ({row.programs[0]})"
        yield CommandRules(name, (row,)), _pairs(row.denies, row.passes), "deny"
    for row in rules.destructive:
        name = f"{rules.name}, destructive ({row.programs[0]})"
        yield CommandRules(name, destructive=(row,)), _pairs(row.denies, row.passes), "deny"
    for reader in rules.read:
        name = f"{rules.name}, read ({reader.programs[0]})"
        yield CommandRules(name, read=(reader,)), _pairs(reader.allows, reader.asks), "allow"


def _pairs(yes: tuple[str, ...], no: tuple[str, ...]) -> list[tuple[str, bool]]:
    return [(text, True) for text in yes] + [(text, False) for text in no]


def parse_rules(data: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of a user's file, `[[rule]]` tables as TOML gives them. ValueError names the one that is wrong."""
    if unknown := sorted(set(data) - {"rule"}):
        raise ValueError(f"There is no {unknown[0]!r} here. Rules are given as [[rule]] tables.")
    rows = data.get("rule", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ValueError("Rules are given as [[rule]] tables.")
    rules = []
    for place, row in enumerate(rows, 1):
        rule = _parse(row, f"rule {place}")
        _check_rule(rule, f"rule {place}")
        rules.append(rule)
    return tuple(rules)


def _parse(row: Mapping[str, Any], name: str) -> Rule:
    unknown = sorted(set(row) - KEYS)
    if unknown:
        raise ValueError(f"{name}: there is no key {unknown[0]!r}. There are: {', '.join(sorted(KEYS))}.")
    decision: Any = row.get("decision")
    if decision not in DECISIONS:
        raise ValueError(f"{name}: decision is {decision!r}, it must be 'allow', 'ask' or 'deny'.")
    texts = {key: row.get(key) for key in ("path", "effect", "reason")}
    for key, value in texts.items():
        if value is not None and (not isinstance(value, str) or (not value and key != "reason")):
            raise ValueError(f"{name}: {key} is {value!r}, it must be text.")
    if not isinstance(row.get("exact", False), bool):
        raise ValueError(f"{name}: exact is {row['exact']!r}, it must be true or false.")
    rule = Rule(
        decision,
        _words(row.get("command", ()), name),
        texts["path"],
        texts["effect"],
        texts["reason"] or "",
        _texts(row.get("match", ()), "match", name),
        _texts(row.get("not_match", ()), "not_match", name),
        row.get("exact", False),
    )
    if not rule.command and rule.path is None and rule.effect is None:
        raise ValueError(f"{name}: it needs a command, a path or an effect.")
    return rule


def _words(value: Any, name: str) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            words = tuple(shlex.split(value))
        except ValueError as error:
            raise ValueError(f"{name}: the command {value!r} cannot be split into words: {error}.") from None
        if not words:
            raise ValueError(f"{name}: the command is empty.")
        return words
    return _texts(value, "command", name)


def _texts(value: Any, key: str, name: str) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ValueError(f"{name}: {key} must be a list of texts, not {value!r}.")
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one for one in value):
        raise ValueError(f"{name}: {key} must be a list of texts.")
    return tuple(value)


def _check_rule(rule: Rule, name: str) -> None:
    if (rule.match or rule.not_match) and not rule.command:
        raise ValueError(f"{name}: examples need a command.")
    for text, expected in _pairs(rule.match, rule.not_match):
        commands = [one.item for one in analyse(text).found if isinstance(one.item, SimpleCommand)]
        if any(rule_matches(rule, command) for command in commands) is not expected:
            verb = "must" if expected else "must not"
            raise ValueError(f"{name}: the example {text!r} {verb} match the command {' '.join(rule.command)!r}.")
