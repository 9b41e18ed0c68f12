"""Rows of rules: data with examples beside them, and the tables that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

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


def index_by_program(rows: Iterable[RefusedProgram]) -> dict[str, tuple[RefusedProgram, ...]]:
    """The rows by the name of the program."""
    found: dict[str, tuple[RefusedProgram, ...]] = {}
    for row in rows:
        for name in row.programs:
            found[name] = (*found.get(name, ()), row)
    return found


@dataclass(frozen=True)
class CommandRules:
    """One policy for commands: what is refused by name, what is refused for what it destroys, what only reads."""

    name: str
    banned: Mapping[str, tuple[RefusedProgram, ...]] = field(default_factory=dict)
    """By category."""
    destructive: tuple[RefusedProgram, ...] = ()
    read: tuple[ReadOnlyProgram, ...] = ()
    user: tuple[Rule, ...] = ()
    wraps: bool = True
    """Whether a program that runs others (env, timeout, `sh -c`) counts for what it runs, if it is in no table."""
    _banned: dict[str, tuple[RefusedProgram, ...]] = field(init=False, repr=False, compare=False)
    _destructive: dict[str, tuple[RefusedProgram, ...]] = field(init=False, repr=False, compare=False)
    _read: dict[str, ReadOnlyProgram] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the tables by program."""
        object.__setattr__(self, "_banned", index_by_program(row for rows in self.banned.values() for row in rows))
        object.__setattr__(self, "_destructive", index_by_program(self.destructive))
        object.__setattr__(self, "_read", {name: row for row in self.read for name in row.programs})

    def ban(self, command: SimpleCommand) -> RefusedProgram | None:
        """The row of the ban list that the command falls under."""
        return _first(self._banned, command)

    def destruction(self, command: SimpleCommand) -> RefusedProgram | None:
        """The row of the destructive list that the command falls under."""
        return _first(self._destructive, command)

    def reader(self, program: str) -> ReadOnlyProgram | None:
        """The row of the read-only table for a program."""
        return self._read.get(program)


def _first(rows: Mapping[str, tuple[RefusedProgram, ...]], command: SimpleCommand) -> RefusedProgram | None:
    name = command.program or ""
    found = rows.get(name) or rows.get(f"{name.partition('.')[0]}.*", ())
    return next((row for row in found if row.harms is None or row.harms(command)), None)
