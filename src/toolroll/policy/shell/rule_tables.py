"""Rows of rules: data with examples beside them, and the tables that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolroll.policy.decision import Rule
from toolroll.policy.shell.parse.commands import SimpleCommand
from toolroll.policy.shell.read_only.programs import ReadOnlyProgram


@dataclass(frozen=True, slots=True)
class RefusedProgram:
    """Programs that are refused: always, or when `harms` says so of their words."""

    programs: tuple[str, ...]
    """Names without their folder; "mkfs.*" stands for any ending."""
    reason: str
    """What it does, as the end of a sentence."""
    harms: Callable[[SimpleCommand], bool] | None = None
    denies: tuple[str, ...] = ()
    """Examples that must be refused by this row alone."""
    passes: tuple[str, ...] = ()
    """Examples that this row must let by."""


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
