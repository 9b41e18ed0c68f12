"""`toolroll try -- COMMAND`: run a command in a fork, show what it changed, and ask whether to keep it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from toolroll.cli import options, screen
from toolroll.cli.command import Command, Option, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_SECONDS = 3600.0
_INTERRUPTED = 130  # what a shell reports after ^C
_DROPPED = "Dropped. The workspace is as it was."


def run(args: Namespace) -> int:
    """Run it; the exit status of the command, or 1 if what it changed could not be merged."""
    from toolroll import ToolError, allow_overlays

    if not args.command:
        raise UsageError("Which command? Example: toolroll try -- npm install left-pad")
    if args.keep and args.drop:
        raise UsageError("--keep and --drop exclude each other.")
    if not (args.keep or args.drop or sys.stdin.isatty()):
        raise UsageError("There is no terminal to ask on. Say --keep or --drop.")
    text = args.command[0] if len(args.command) == 1 else shlex.join(args.command)
    allow_overlays()  # else it is copied
    try:
        with options.open_kit(args) as kit, kit.fork() as trial:
            done = trial.exec(text, timeout=_SECONDS)
            for stream, data in ((sys.stdout, done.stdout), (sys.stderr, done.stderr)):
                screen.write(data.decode(errors="replace"), to=stream, end="", flush=True)
            said = trial.describe()
            if not said:
                screen.write("It changed no file.")
            else:
                if diff := trial.diff():
                    screen.show(diff, diff=True)
                screen.write(said)
                if args.keep or (not args.drop and _ask()):
                    trial.merge()
                    screen.write("Kept. `toolroll undo` takes it back.")
                else:
                    screen.write(_DROPPED)
    except KeyboardInterrupt:
        screen.write(f"\n{_DROPPED}")
        return _INTERRUPTED
    except ToolError as error:
        screen.complain(error.message, str(error.code))
        return 1
    return 1 if done.code is None else done.code


def _ask() -> bool:
    """The answer; no at the end of the input."""
    while typed := screen.ask_line("Keep these changes? [y/n] ", sys.stdin, sys.stdout):
        if typed.strip().lower() in ("y", "yes", "n", "no"):
            return typed.strip().lower() in ("y", "yes")
    screen.write()
    return False


COMMAND = Command(
    "try",
    "Run a command in a copy of the workspace, show what it changed, and keep or drop it.",
    run,
    (
        Option(("command",), "The command, behind `--`.", "COMMAND", many=True),
        Option(("--keep",), "Keep what it changed, without a question."),
        Option(("--drop",), "Only show what it would change."),
        options.WORKSPACE,
        options.WIDE,
        options.SANDBOX,
        options.NETWORK,
    ),
    more="""\
The command is confined like those of an agent: it may write in the workspace alone and has no network unless the
configuration says so. See: docs/forks.md""",
)
