"""`toolroll record FILE -- COMMAND ...`: keep every call that a command of toolroll makes, to run them again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolroll.cli.command import Command, Option, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_RECORDED = ("mcp", "agent", "call")


def run(args: Namespace) -> int:
    """Run the command with a recording; its exit status."""
    from toolroll import cli
    from toolroll.recording.recorded_kit import VARIABLE

    if not args.file or not args.command or args.command[0] not in _RECORDED:
        names = ", ".join(_RECORDED)
        raise UsageError(f"Which command is recorded? One of {names}. Example: toolroll record FILE -- mcp -C DIR")
    if os.path.exists(args.file):
        raise UsageError(f"{args.file!r} exists. Remove it, or name another file.")
    os.environ[VARIABLE] = os.path.abspath(args.file)
    return cli.main(args.command)


COMMAND = Command(
    "record",
    "Keep the calls of a session, with their results and the files that they began with.",
    run,
    (
        Option(("file",), "File to write, outside of the workspace; only its owner can read it.", "FILE", many=False),
        Option(("command",), "mcp, agent or call with its options, behind `--`.", "COMMAND", many=True),
    ),
    more="""\
examples:
  toolroll record fix.jsonl -- agent "fix the failing test"
  toolroll record session.jsonl -- mcp -C ~/project      in the configuration of an MCP client

The calls of several commands go to one file with TOOLROLL_RECORD=FILE in the environment. Secrets are removed.
See: toolroll replay""",
)
