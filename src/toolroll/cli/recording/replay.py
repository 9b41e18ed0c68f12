"""`toolroll replay FILE`: run the calls of a recording again, and show where the results differ."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import DIALECT, JSON, MODE, NETWORK, SANDBOX, WORKSPACE, read_settings
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.recording.replay import ReplayedCall

_COLOURS = {"same": "dim", "differs": "red", "absent": "yellow"}


def run(args: Namespace) -> int:
    """Replay a recording; 0 if no result differs."""
    from toolroll import dialects
    from toolroll.recording.recording import read_recording
    from toolroll.recording.replay import replay
    from toolroll.result import ToolError

    if not args.file:
        raise UsageError("Which recording? Example: toolroll replay session.jsonl")
    other = args.dialect
    args.dialect = None  # the recording has its own
    settings = read_settings(args, args.workspace).settings
    done: list[ReplayedCall] = []
    try:
        with open(args.file, "rb") as file:
            recording = read_recording(file)
        if not recording.signed:
            screen.complain(f"{args.file!r} is not signed by you. Its questions stay without an answer.", "note")
        chosen = dialects.load(other) if other and other != recording.start.dialect else None
        for one in replay(recording, args.workspace, settings, chosen):
            done.append(one)
            if not args.json:
                _show(one)
    except ToolError as error:
        raise UsageError(f"{args.file!r}: {error.message}") from None
    if args.json:
        screen.show_json([dataclasses.asdict(one) for one in done])
    else:
        counts = {name: sum(one.outcome == name for one in done) for name in _COLOURS}
        shown = ", ".join(f"{number} {name}" for name, number in counts.items() if number or name == "same")
        screen.write(f"{counted(len(done), 'call')}: {shown}")
    return int(any(one.outcome == "differs" for one in done))


def _show(one: ReplayedCall) -> None:
    screen.write(f"{one.number:>4}  {one.name}  ", screen.coloured(one.outcome, _COLOURS[one.outcome], sys.stdout))
    if one.why:
        screen.show("\n".join(f"      {line}" for line in one.why.splitlines()))


COMMAND = Command(
    "replay",
    "Run the calls of a recording again, and show where the results differ.",
    run,
    (
        Option(("file",), "The recording.", "FILE", many=False),
        DIALECT,
        MODE,
        SANDBOX,
        NETWORK,
        WORKSPACE,
        JSON,
    ),
    more="""\
The calls run in a copy of the files that the recording began with; the workspace is only read, for the commit in its
repository. Times, durations, identifiers and temporary paths may differ. With --dialect each call is made as a model
would make it in that dialect, and only success and changed files are compared.

Policy and mode are your own. Questions get the answers of the recording if you recorded it on this machine; a question
that it does not answer, or any of an unsigned recording, is refused as where nobody can be asked.

exit status:
  0 no result differs, 1 some differ, 2 wrong command line or no recording.""",
)
