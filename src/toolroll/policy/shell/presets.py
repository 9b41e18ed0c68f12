"""The built-in command policies by name."""

from __future__ import annotations

from toolroll.policy.shell.destructive import banned
from toolroll.policy.shell.destructive.table import DESTRUCTIVE
from toolroll.policy.shell.read_only.table import READERS, TERMINAL_NAMES, select_programs
from toolroll.policy.shell.verdicts import CommandRules

STANDARD = CommandRules("standard", banned.STANDARD, DESTRUCTIVE, READERS, git_losses="final")
TERMINAL = CommandRules("terminal", banned.STANDARD, DESTRUCTIVE, select_programs(READERS, TERMINAL_NAMES), wraps=False)

PRESETS: dict[str, CommandRules] = {
    "standard": STANDARD,
    "cdd": CommandRules("cdd", banned.STANDARD, DESTRUCTIVE, READERS),
    "coding-agent": CommandRules("coding-agent", (), DESTRUCTIVE, READERS, git_losses="all"),
    "koopa": CommandRules("koopa", banned.KOOPA, DESTRUCTIVE, READERS),
    "plain": CommandRules("plain", (), DESTRUCTIVE, READERS),
    "terminal": TERMINAL,
}
