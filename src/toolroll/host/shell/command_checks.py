"""What is checked about a text of shell before it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from toolroll.policy.effects import Effect
from toolroll.policy.variables import words
from toolroll.result import CouldNotLookError, ErrorCode, ToolError

if TYPE_CHECKING:
    from toolroll.host.approval.guard import Guard
    from toolroll.host.shell.command_launcher import Word
    from toolroll.policy.commands import CommandRules
    from toolroll.policy.decision import Rule

_GIT = re.compile(r"\bgit\b")
_NUMBER_TO_VARIABLE = re.compile(r"\{\w+\}[<>]")  # bash chooses a descriptor and sets the variable to its number
# What bash runs itself and may change its folder or variables by, or run other text.
_CHANGES_SHELL = words(
    ". alias bind builtin cd command compgen complete compopt coproc declare dirs enable eval exec export fc getopts"
    " history jobs let local mapfile popd pushd read readarray readonly set shift shopt source trap typeset unalias"
    " unset wait"
)


@lru_cache(maxsize=8)  # the rules index their tables
def command_rules(table: str, rules: tuple[Rule, ...], allow_destructive: bool, network: bool) -> CommandRules:
    """The rules of a table with those of the user before them.

    With a `network` the proxy judges where a client of the web may go, if the table does not ban it as such.
    """
    from toolroll.policy.commands import PRESETS

    found = PRESETS[table]
    if network and table == "native":
        found = replace(found, banned=tuple(row for row in found.banned if row.harms is None))
    losses = "none" if allow_destructive else found.git_losses
    return replace(found, user=tuple(rule for rule in rules if rule.command), git_losses=losses)


def authorise_program(guard: Guard, table: str, who: str, argv: Sequence[str]) -> None:
    """Return if `bash` may run these words, which start code of the workspace; CouldNotLookError if it may not."""
    import shlex

    from toolroll.policy.commands import judge_argv

    policy, command = guard.policy, shlex.join(argv)
    rules = command_rules(table, tuple(policy.rules), policy.allow_destructive, bool(policy.network))
    try:
        guard.authorise("bash", Effect.SHELL, {"command": command})
        guard.authorise_command("bash", {"command": command}, judge_argv(argv, rules), (command,), ".")
    except ToolError as error:
        why = f"{argv[0]!r} is a program of this workspace, judged like any shell command. {error.message}"
        raise CouldNotLookError(who, why, code=ErrorCode.UNSUPPORTED) from error


def only_reads(text: str) -> bool:
    """Whether the terminal's table knows that a text of shell changes no file."""
    from toolroll.policy.commands import TERMINAL, judge

    return judge(text, TERMINAL).decision == "allow"


def keeps_shell(text: str) -> bool:
    """Whether a text is certain to leave its bash in the same folder with the same exported variables."""
    from toolroll.policy.shell.parse.analysis import analyse
    from toolroll.policy.shell.parse.words import Redirection, SimpleCommand

    if _NUMBER_TO_VARIABLE.search(text):
        return False
    analysis = analyse(text)
    for item in (one.item for one in analysis.found):
        if isinstance(item, SimpleCommand):
            program, first = item.words[0], item.words[1:2]
            sets = program.text == "printf" and any(not one.literal or one.text.startswith("-v") for one in first)
            if sets or not program.literal or program.text in _CHANGES_SHELL:
                return False
        elif not isinstance(item, Redirection):
            return False
    return analysis.plain


def mentions_git(argv: Sequence[Word]) -> bool:
    """Whether a shell is to run a text with the word git."""
    return len(argv) > 1 and argv[-2] == "-c" and isinstance(argv[-1], str) and _GIT.search(argv[-1]) is not None


def check_text(text: str) -> None:
    """Raise ToolError for what no shell takes."""
    if not text.strip():
        raise ToolError(ErrorCode.VALIDATION, "The `command` is empty. Give one to run.")
    if "\0" in text:
        raise ToolError(ErrorCode.VALIDATION, "The `command` holds a NUL byte, which no shell takes. Remove it.")
    text.encode()  # a lone surrogate raises its own error
