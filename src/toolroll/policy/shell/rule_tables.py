"""Rows of rules: data with examples beside them, and the tables that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from toolroll.policy.rules import Decision
from toolroll.policy.shell.parse.commands import Simple
from toolroll.policy.shell.read_only.programs import Reader


@dataclass(frozen=True, slots=True)
class Row:
    """Programs that are refused: always, or when `harms` says so of their words."""

    programs: tuple[str, ...]
    """Names without their folder; "mkfs.*" stands for any ending."""
    reason: str
    """What it does, as the end of a sentence."""
    harms: Callable[[Simple], bool] | None = None
    denies: tuple[str, ...] = ()
    """Examples that must be refused by this row alone."""
    passes: tuple[str, ...] = ()
    """Examples that this row must let by."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A user's own rule. `command` is compared with the first words of a simple command; a last "*" is any words."""

    decision: Decision
    command: tuple[str, ...] = ()
    path: str | None = None
    effect: str | None = None
    reason: str = ""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    exact: bool = False
    """No further words may follow."""


def table(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """The rows by the name of the program."""
    found: dict[str, tuple[Row, ...]] = {}
    for row in rows:
        for name in row.programs:
            found[name] = (*found.get(name, ()), row)
    return found


@dataclass(frozen=True)
class Rules:
    """One policy for commands: what is refused by name, what is refused for what it destroys, what only reads."""

    name: str
    banned: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """By category."""
    destructive: tuple[Row, ...] = ()
    read: tuple[Reader, ...] = ()
    user: tuple[Rule, ...] = ()
    wraps: bool = True
    """Whether a program that runs others (env, timeout, `sh -c`) counts for what it runs, if it is in no table."""
    _banned: dict[str, tuple[Row, ...]] = field(init=False, repr=False, compare=False)
    _destructive: dict[str, tuple[Row, ...]] = field(init=False, repr=False, compare=False)
    _read: dict[str, Reader] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the tables by program."""
        object.__setattr__(self, "_banned", table(row for rows in self.banned.values() for row in rows))
        object.__setattr__(self, "_destructive", table(self.destructive))
        object.__setattr__(self, "_read", {name: row for row in self.read for name in row.programs})

    def ban(self, command: Simple) -> Row | None:
        """The row of the ban list that the command falls under."""
        return _first(self._banned, command)

    def destruction(self, command: Simple) -> Row | None:
        """The row of the destructive list that the command falls under."""
        return _first(self._destructive, command)

    def reader(self, program: str) -> Reader | None:
        """The row of the read-only table for a program."""
        return self._read.get(program)


def _first(rows: Mapping[str, tuple[Row, ...]], command: Simple) -> Row | None:
    name = command.program or ""
    found = rows.get(name) or rows.get(f"{name.partition('.')[0]}.*", ())
    return next((row for row in found if row.harms is None or row.harms(command)), None)
