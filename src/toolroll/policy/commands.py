"""Judge shell commands: parse the text and decide about every command that it would run.

The verdict is advice that stops mistakes and gives good messages; the sandbox is the boundary. `deny` means that a
banned or destructive program is certain to run, `allow` that every command only reads, `ask` is all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from toolroll.policy.decision import Decision, Rule
from toolroll.policy.shell.destructive import banned
from toolroll.policy.shell.destructive.banned import RefusedProgram
from toolroll.policy.shell.destructive.table import DESTRUCTIVE
from toolroll.policy.shell.parse.analysis import Analysis, analyse, analyse_words
from toolroll.policy.shell.parse.words import (
    Assignment,
    ForkBomb,
    Item,
    Redirection,
    SimpleCommand,
    of_workspace,
    plain,
)
from toolroll.policy.shell.read_only.programs import FOLDERS, ReadOnlyProgram, is_read_only, is_version
from toolroll.policy.shell.read_only.table import READERS, TERMINAL_NAMES, UNBANNED, select_programs

__all__ = ["CommandRules", "JudgedPart", "Judgement", "RefusedProgram", "Rule", "judge", "judge_argv", "judge_input"]


@dataclass(frozen=True)
class CommandRules:
    """One policy for commands: what is refused by name, what is refused for what it destroys, what only reads."""

    name: str
    banned: tuple[RefusedProgram, ...] = ()
    destructive: tuple[RefusedProgram, ...] = ()
    read: tuple[ReadOnlyProgram, ...] = ()
    user: tuple[Rule, ...] = ()
    wraps: bool = True
    """Whether a program that runs others (env, timeout, `sh -c`) counts for what it runs, if it is in no table."""
    git_losses: Literal["none", "final", "all"] = "none"
    """Which git commands that lose work need the user's consent, in the git tool and in a shell; see `GitRule`."""

    @cached_property
    def _banned(self) -> dict[str, list[RefusedProgram]]:
        return _by_program(self.banned)

    @cached_property
    def _destructive(self) -> dict[str, list[RefusedProgram]]:
        return _by_program(self.destructive)

    @cached_property
    def _read(self) -> dict[str, ReadOnlyProgram]:
        return {name: row for row in self.read for name in row.programs}

    def ban(self, command: SimpleCommand) -> RefusedProgram | None:
        """The row of the ban list that the command falls under."""
        return _first(self._banned, command)

    def destruction(self, command: SimpleCommand) -> RefusedProgram | None:
        """The row of the destructive list that the command falls under."""
        return _first(self._destructive, command)

    def reader(self, program: str) -> ReadOnlyProgram | None:
        return self._read.get(program)


def _by_program(rows: Iterable[RefusedProgram]) -> dict[str, list[RefusedProgram]]:
    found: dict[str, list[RefusedProgram]] = {}
    for row in rows:
        for name in row.programs:
            found.setdefault(name, []).append(row)
    return found


def _first(rows: Mapping[str, Sequence[RefusedProgram]], command: SimpleCommand) -> RefusedProgram | None:
    name = command.program or ""
    found = rows.get(name) or rows.get(f"{name.partition('.')[0]}.*", ())
    return next((row for row in found if row.harms is None or row.harms(command)), None)


STANDARD = CommandRules("standard", banned.STANDARD, DESTRUCTIVE, READERS, git_losses="final")
TERMINAL = CommandRules("terminal", banned.STANDARD, DESTRUCTIVE, select_programs(READERS, TERMINAL_NAMES), wraps=False)

PRESETS: dict[str, CommandRules] = {
    "standard": STANDARD,
    "cdd": CommandRules("cdd", banned.STANDARD, DESTRUCTIVE, READERS),
    "coding-agent": CommandRules("coding-agent", (), DESTRUCTIVE, UNBANNED, git_losses="all"),
    "koopa": CommandRules("koopa", banned.KOOPA, DESTRUCTIVE, READERS),
    "plain": CommandRules("plain", (), DESTRUCTIVE, UNBANNED),
    "terminal": TERMINAL,
    "native": CommandRules("native", banned.NATIVE, DESTRUCTIVE, READERS, git_losses="final"),
}
"""The built-in rules by name."""


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """One simple command, redirection or assignment of a text, with its own decision."""

    words: tuple[str, ...] | None
    """None when one of them is computed, or when it is no command."""
    text: str
    decision: Decision
    reason: str = ""
    by_rule: bool = False
    """A rule of the user decided it."""
    firm: bool = False
    """It needs consent also where the policy asks about no commands."""
    where: str | None = "."
    """The folder it runs in, from where the text starts, or absolute; None when that is not known."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision about a whole text: the strictest of its parts."""

    decision: Decision
    reason: str
    parts: tuple[JudgedPart, ...] = ()


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


def judge_analysis(text: str, analysis: Analysis, rules: CommandRules) -> Judgement:
    """The judgement about what was found in `text`."""
    reached = analysis.reached()
    parts: list[JudgedPart] = []
    for index, one in enumerate(analysis.found):
        name = one.item.program if isinstance(one.item, SimpleCommand) else None
        if one.owner not in reached:
            reason = f"It stands in the function {one.owner!r}, which is not called here."
            parts.append(JudgedPart(None, one.item.text, "ask", reason))
        elif name is not None and analysis.functions.get(name, index + 1) <= index:
            parts.append(JudgedPart(None, one.item.text, "ask", f"{name!r} is a function of the text itself."))
        else:
            parts.append(_part(one.item, rules))
    by_user = any(part.by_rule and part.decision == "allow" for part in parts)
    if not by_user and not analysis.plain and all(part.decision == "allow" for part in parts):
        parts.append(
            JudgedPart(None, text, "ask", f"{quote(text)} does more than run plain commands, so it needs approval.")
        )
    worst = max(parts, key=lambda part: part.decision, default=JudgedPart(None, text, "allow"))
    return Judgement(worst.decision, worst.reason, tuple(parts))


def quote(text: str) -> str:
    """The text as a message shows it: short, with controls made visible."""
    line = text.strip()
    return repr(line if len(line) <= 80 else f"{line[:77]}...")


def _part(item: Item, rules: CommandRules) -> JudgedPart:
    if isinstance(item, SimpleCommand):
        return replace(_command(item, rules), where=item.where)
    if isinstance(item, Redirection):
        return replace(_redirect(item, rules), where=item.where)
    if isinstance(item, Assignment):
        return _assign(item)
    if isinstance(item, ForkBomb):
        row = rules.destruction(SimpleCommand((plain(":|:&"),), item.text))
        return _refused(item.text, row) if row else _ask(item.text, "it starts itself")
    return _ask(item.text, item.reason)


def _ask(text: str, why: str, words: tuple[str, ...] | None = None) -> JudgedPart:
    return JudgedPart(words, text, "ask", f"{quote(text)} needs approval: {why}.")


def _refused(text: str, row: RefusedProgram, words: tuple[str, ...] | None = None) -> JudgedPart:
    return JudgedPart(words, text, "deny", f"{quote(text)} is refused: {row.reason}.")


def _command(command: SimpleCommand, rules: CommandRules) -> JudgedPart:
    ours = of_workspace(command.where, command.words[0])
    if row := rules.destruction(command) if command.whole and not ours else None:
        return _refused(command.text, row, command.literal)
    rule, maybe = find_user_rule(command, rules.user)
    if rule:
        did = "Denied by a rule" if rule.decision == "deny" else "Asked about by a rule"
        why = rule.reason or f"{did} in toolroll.toml: {' '.join(rule.command)}."
        why = "" if rule.decision == "allow" else why
        return JudgedPart(command.literal, command.text, rule.decision, why, by_rule=True)
    if row := rules.ban(command) if command.sure and not ours else None:
        why = f"{command.program!r} is not allowed: {row.explain(command)}."
        return JudgedPart(command.literal, command.text, "deny", why)
    if command.program == "git" and (loss := _git_loss(command, rules)):
        return JudgedPart(command.literal, command.text, "ask", loss, firm=True)
    wraps = command.clear and (rules.wraps or rules.reader(command.program or "") is not None)
    if not maybe and (wraps or _only_reads(command, rules)):
        return JudgedPart(command.literal, command.text, "allow")
    return _ask(command.text, _why_ask(command.program, rules), command.literal)


def _git_loss(command: SimpleCommand, rules: CommandRules) -> str | None:
    if rules.git_losses == "none":
        return None
    from toolroll.policy.git import find_loss

    return find_loss([word.text for word in command.words], final=rules.git_losses == "final")


def _why_ask(name: str | None, rules: CommandRules) -> str:
    if name is None:
        return "the program is computed when it runs. Name the program plainly"
    row = rules.reader(name)
    if row and row.words is not is_version:
        return f"this {name} command may change something"
    return f"{name!r} is not one of the read-only programs"


def _only_reads(command: SimpleCommand, rules: CommandRules) -> bool:
    row = rules.reader(command.program or "")
    # The settings of a repository name programs: they are switched off where it is known which one it is.
    unknown = command.program == "git" and command.where is None
    return row is not None and command.sure and not unknown and is_read_only(row, command)


# Redirections and assignments.


def _redirect(item: Redirection, rules: CommandRules) -> JudgedPart:
    if item.writes:
        command = SimpleCommand((plain(">"), item.target), item.text, item.where)
        if row := rules.destruction(command) if item.whole else None:
            return _refused(item.text, row, command.literal)
        if not item.target.literal or item.target.text != "/dev/null":
            return _ask(item.text, "it writes to a file")
    elif not item.target.literal or re.match(r"/+dev/+(tcp|udp)", item.target.text):
        return _ask(item.text, "it reads from what cannot be known")
    return JudgedPart(None, item.text, "allow")


HARMLESS = re.compile(
    r"LC_[A-Z]+|LANG|LANGUAGE|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR|CI|DEBUG|NODE_ENV|RUST_BACKTRACE"
    r"|RUST_LOG|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|GIT_PAGER|PAGER|GIT_TERMINAL_PROMPT"
)


def _assign(item: Assignment) -> JudgedPart:
    value = item.value.text if item.value is not None and item.value.literal else None
    plain_value = item.value is None or (value is not None and re.fullmatch(r"[\w.,:+@%-]*", value))
    pages = "PAGER" in item.name and value not in ("cat", "")
    if HARMLESS.fullmatch(item.name) and plain_value and not item.lasting and not pages:
        return JudgedPart(None, item.text, "allow")
    return _ask(item.text, "a variable can change what programs do")


# Rules of the user.


def find_user_rule(command: SimpleCommand, rules: tuple[Rule, ...]) -> tuple[Rule | None, bool]:
    """The strictest rule that holds for the command, and whether a stricter one might, by computed words."""
    best, maybe = None, False
    for rule in rules:
        held = rule_matches(rule, command)
        if held is None:
            maybe = maybe or rule.decision != "allow"
        elif held and (best is None or rule.decision > best.decision):
            best = rule
    if maybe and best is not None and best.decision == "allow":
        return None, True
    return best, maybe


def rule_matches(rule: Rule, command: SimpleCommand) -> bool | None:
    """Whether the command begins with the rule's words; None when that cannot be known."""
    wanted = rule.command[:-1] if rule.command[-1:] == ("*",) else rule.command
    if not rule.command:
        return False
    for place, text in enumerate(wanted):
        if place >= len(command.words):
            return None if command.more else False
        word = command.words[place]
        if not word.literal:
            return None
        same = word.text == text
        if not place and rule.decision == "allow":
            same = any(word.text == f"{folder}{text}" for folder in FOLDERS)
        elif not place:
            same = same or word.text.rpartition("/")[2] == text
        if not same:
            return False
    if rule.exact and len(command.words) == len(wanted):
        return None if command.more else True
    return not rule.exact
