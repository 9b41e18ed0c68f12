"""May this command run? A shell text is taken apart, and every command that it would run is judged.

The verdict is advice that stops mistakes and gives good messages; the sandbox is the boundary. `deny` means that a
banned or destructive program is certain to run, `allow` that every command only reads, `ask` is all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolroll.policy.shell.analysis import analyse, analyse_words
from toolroll.policy.shell.examples import check_examples, parse_rules
from toolroll.policy.shell.judging import Judgement, Part, judged
from toolroll.policy.shell.presets import PRESETS, STANDARD, TERMINAL
from toolroll.policy.shell.rows import Row, Rule, Rules
from toolroll.policy.shell.words import plain

__all__ = [
    "PRESETS",
    "STANDARD",
    "TERMINAL",
    "Judgement",
    "Part",
    "Row",
    "Rule",
    "Rules",
    "check_examples",
    "judge",
    "judge_argv",
    "parse_rules",
]


def judge(text: str, rules: Rules = STANDARD) -> Judgement:
    """The judgement about a text for `bash -c`."""
    return judged(text, analyse(text), rules)


def judge_argv(argv: Sequence[str], rules: Rules = STANDARD) -> Judgement:
    """The judgement about a program that is run with these words, without a shell."""
    if not argv or not argv[0]:
        return Judgement("ask", "No program is named. Give its name as the first word.")
    return judged(" ".join(argv), analyse_words([plain(word) for word in argv]), rules)
