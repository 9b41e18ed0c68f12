"""Completions for the last word of a command line, called by the completion scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from toolroll.cli.command import HELP, Candidate, Command, Option, UsageError, parse


def run(commands: Mapping[str, Command], words: Sequence[str]) -> int:
    """Print the completions of the last word after `toolroll`."""
    typed = words[-1] if words else ""
    for word, about in find_candidates(commands, words[:-1], typed):
        if word.startswith(typed):
            print(f"{word}\t{about}")
    return 0


def find_candidates(commands: Mapping[str, Command], before: Sequence[str], typed: str) -> Iterable[Candidate]:
    """All completions after these words."""
    if not before:
        return [
            *((command.name, command.about) for command in commands.values()),
            ("--version", ""),
            ("--help", ""),
        ]
    command = commands.get(before[0])
    if command is None:
        return []
    pending = _pending(command, before)
    if pending is not None:
        return [(name, "") for name in pending.choices()] if pending.choices else []
    if typed.startswith("-"):
        return [(flag, one.about) for one in (*command.options, HELP) for flag in one.flags if not one.is_positional]
    return _positional(command, before[1:], typed)


def _pending(command: Command, before: Sequence[str]) -> Option | None:
    """The option whose value is being typed."""
    return next(
        (one for one in command.options if before[-1] in one.flags and one.value and not one.is_positional), None
    )


def _positional(command: Command, before: Sequence[str], typed: str) -> Iterable[Candidate]:
    """The completions of the command, or the choices of its first argument."""
    if command.propose is not None:
        try:
            return list(command.propose(parse(command, before), typed))
        except UsageError:
            return []
    first = next((one for one in command.options if one.is_positional and one.choices), None)
    return [(name, "") for name in first.choices()] if first and first.choices and not before else []
