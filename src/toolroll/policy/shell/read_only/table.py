"""The table of programs that only read. Small on purpose: it saves a question, and it never lifts the sandbox."""

from __future__ import annotations

from dataclasses import replace

from toolroll.policy.shell.parse.words import names
from toolroll.policy.shell.read_only.files import FILES, SEARCH
from toolroll.policy.shell.read_only.programs import ReadOnlyProgram
from toolroll.policy.shell.read_only.text import SAYING, TEXT

READERS: tuple[ReadOnlyProgram, ...] = FILES + SEARCH + TEXT + SAYING

TERMINAL_NAMES = names("ls dir tree cat head tail find grep wc sort uniq cut awk sed pwd cd file stat du df echo which")


def select_programs(rows: tuple[ReadOnlyProgram, ...], names: frozenset[str]) -> tuple[ReadOnlyProgram, ...]:
    """The rows for these programs alone."""
    kept = (replace(row, programs=tuple(name for name in row.programs if name in names)) for row in rows)
    return tuple(row for row in kept if row.programs)
