"""The command line: one file per command, which defines a COMMAND; `main` finds it and runs it.

Front: `main`. May import everything but is imported by `__main__` alone.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from toolroll.cli.command import Command, UsageError, make_parser, parse
from toolroll.host.runtime.exit_signals import exit_on

if TYPE_CHECKING:
    from toolroll.cli.options import Caller

__all__ = ["COMMANDS", "main"]

_WHERE = {
    "tools": "tools.COMMAND",
    "call": "call.COMMAND",
    "mcp": "mcp.COMMAND",
    "agent": "agents.agent.COMMAND",
    "swarm": "agents.swarm.COMMAND",
    "fleet": "fleet.run.COMMAND",
    "try": "try_command.COMMAND",
    "journal": "journal.JOURNAL",
    "blame": "journal.BLAME",
    "undo": "journal.UNDO",
    "checkpoint": "journal.CHECKPOINT",
    "rewind": "journal.REWIND",
    "record": "recording.record.COMMAND",
    "replay": "recording.replay.COMMAND",
    "approve": "approve.COMMAND",
    "console": "live.console.COMMAND",
    "watch": "live.watch.COMMAND",
    "sessions": "sessions.COMMAND",
    "memory": "knowledge.MEMORY_COMMAND",
    "models": "knowledge.MODELS_COMMAND",
    "config": "config.COMMAND",
    "map": "code_map.COMMAND",
    "up": "live.up.COMMAND",
    "doctor": "doctor.COMMAND",
    "completion": "completion.COMMAND",
}


class _Commands(Mapping[str, Command]):
    """The commands by name, imported on access: imports take most of a short run."""

    def __getitem__(self, name: str) -> Command:
        module, _, variable = _WHERE[name].rpartition(".")
        found: Command = getattr(importlib.import_module(f"toolroll.cli.{module}"), variable)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_WHERE)

    def __len__(self) -> int:
        return len(_WHERE)


COMMANDS = _Commands()
_GC_THRESHOLD = 100_000  # allocations; imports make many objects and no garbage, so the usual 700 only take time
_USAGE_STATUS, _SIGINT_STATUS, _SIGPIPE_STATUS = 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status; errors that the user can fix have no traceback."""
    gc.set_threshold(_GC_THRESHOLD)
    _fill_streams()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with exit_on(signal.SIGTERM):
            return _reporting(lambda: _run(list(sys.argv[1:] if argv is None else argv)), sys.stdout, sys.stderr)
    except BrokenPipeError:
        # The reader has closed the pipe. Python would flush once more at exit and print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _SIGPIPE_STATUS


def carry_out(argv: Sequence[str], caller: Caller) -> int:
    """The same for the client of a daemon that has sent the command line: a `toolroll call`."""
    return _reporting(lambda: _run_command(argv[0], argv[1:], caller), caller.out, caller.err)


def _reporting(work: Callable[[], int], out: TextIO, err: TextIO) -> int:
    """The exit status of this work, or of the error that it has raised, which is written."""
    try:
        status = work()
        out.flush()
    except UsageError as error:
        _complain(str(error), err)
        return _USAGE_STATUS
    except KeyboardInterrupt:
        return _SIGINT_STATUS
    except BrokenPipeError:
        raise
    except OSError as error:
        _complain(f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", err)
        return 1
    return status


def _fill_streams() -> None:
    """Replace a stream that was closed before the start by /dev/null, so that no opened file takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _run(argv: list[str]) -> int:
    match argv:
        case [] | ["-h" | "--help" | "help"]:
            print(_overview())
            return 0
        case ["-V" | "--version" | "version"]:
            from toolroll import __version__

            print(f"toolroll {__version__}")
            return 0
        case ["help", name, *more]:
            return _run([name, *more, "--help"])
        case ["__complete", *words]:
            from toolroll.cli.completion import print_candidates

            return print_candidates(COMMANDS, words)
    return _run_command(argv[0], argv[1:])


def _run_command(name: str, words: Sequence[str], caller: Caller | None = None) -> int:
    command = COMMANDS.get(name)
    if command is None:
        from toolroll.text.names import suggest_name

        hint = " Options come behind the command." if name.startswith("-") else suggest_name(name, COMMANDS)
        raise UsageError(f"There is no command {name!r}.{hint} There are: {', '.join(COMMANDS)}.")
    args = parse(command, words)
    args.caller = caller
    if args.help and not (command.helps_with and getattr(args, command.helps_with)):
        print(make_parser(command).format_help(), end="")
        return 0
    return command.run(args)


def _complain(text: str, stream: TextIO) -> None:
    from toolroll.cli.screen import complain

    complain(text, to=stream)


def _overview() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {command.about}" for name, command in COMMANDS.items())
    return f"""\
usage: toolroll COMMAND ...

Tools for AI agents: read, search, edit, run and remember, safely, in the tool language that a model knows.

commands:
{commands}

  toolroll COMMAND --help    options of a command
  toolroll call TOOL --help  parameters of a tool
  toolroll --version"""
