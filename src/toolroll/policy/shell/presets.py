"""The policies by name, as the dialects ask for them."""

from __future__ import annotations

from toolroll.policy.shell.destructive import banned
from toolroll.policy.shell.destructive.table import DESTRUCTIVE
from toolroll.policy.shell.read_only.table import READERS, TERMINAL_NAMES, cut
from toolroll.policy.shell.rule_tables import Rules

STANDARD = Rules("standard", banned.STANDARD, DESTRUCTIVE, READERS)
TERMINAL = Rules("terminal", banned.STANDARD, DESTRUCTIVE, cut(READERS, TERMINAL_NAMES), wraps=False)

PRESETS: dict[str, Rules] = {
    "standard": STANDARD,
    "cdd": Rules("cdd", banned.STANDARD, DESTRUCTIVE, READERS),
    "coding-agent": Rules("coding-agent", {}, DESTRUCTIVE, READERS),
    "koopa": Rules("koopa", banned.KOOPA, DESTRUCTIVE, READERS),
    "plain": Rules("plain", {}, DESTRUCTIVE, READERS),
    "terminal": TERMINAL,
}
