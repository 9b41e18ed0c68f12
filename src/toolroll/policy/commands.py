"""Judge shell commands: parse the text and decide about every command that it would run.

The verdict is advice that stops mistakes and gives good messages; the sandbox is the boundary. `deny` means that a
banned or destructive program is certain to run, `allow` that every command only reads, `ask` is all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolroll.policy.decision import Rule
from toolroll.policy.shell.examples import check_examples, parse_rules
from toolroll.policy.shell.parse.analysis import analyse, analyse_words
from toolroll.policy.shell.parse.words import plain
from toolroll.policy.shell.presets import PRESETS, STANDARD, TERMINAL
from toolroll.policy.shell.rule_tables import RefusedProgram
from toolroll.policy.shell.verdicts import CommandRules, JudgedPart, Judgement, judge_analysis

__all__ = [
    "PRESETS",
    "STANDARD",
    "TERMINAL",
    "CommandRules",
    "JudgedPart",
    "Judgement",
    "RefusedProgram",
    "Rule",
    "check_examples",
    "judge",
    "judge_argv",
    "judge_input",
    "parse_rules",
]


def judge(text: str, rules: CommandRules = STANDARD) -> Judgement:
    """The judgement about a text for `bash -c`."""
    return judge_analysis(text, analyse(text), rules)


def judge_argv(argv: Sequence[str], rules: CommandRules = STANDARD) -> Judgement:
    """The judgement about a program that is run with these words, without a shell."""
    if not argv or not argv[0]:
        return Judgement("ask", "No program is named. Give its name as the first word.")
    return judge_analysis(" ".join(argv), analyse_words([plain(word) for word in argv]), rules)


def judge_input(text: str, reader: str, rules: CommandRules = STANDARD) -> Judgement:
    """The judgement about a text that a running program reads. That may be a shell, so the user's rules hold."""
    ruled = tuple(part for part in judge(text, rules).parts if part.by_rule and part.decision != "allow")
    for part in ruled:
        if part.decision == "deny":
            return Judgement("deny", part.reason, ruled)
    return Judgement("ask", f"Input for {reader} needs approval: what reads it may run it.", ruled)
