"""`toolroll journal`: show what tools changed in a workspace. `toolroll undo`: undo changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolroll.cli import options, screen
from toolroll.cli.command import Command, Option, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.files.journal.entry import JournalEntry


def _parse_number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"--{name} takes a whole number from 1, not {text!r}.")
    return int(text)


def show(args: Namespace) -> int:
    """Print the entries, newest last; a broken chain is an error."""
    from toolroll import ToolError
    from toolroll.host.files.journal.log import undone_numbers

    most = _parse_number("last", args.last)
    with options.open_kit(args) as kit:
        try:
            entries = kit.journal.entries()
        except ToolError as error:
            screen.complain(error.message)
            return 1
    gone = undone_numbers(entries)
    shown = [_row(entry, entry.number in gone) for entry in entries][-(most or len(entries) or 1) :]
    if args.json:
        screen.show_json(shown)
    elif not shown:
        print("The journal is empty: no tool has changed anything here.")
    else:
        for row in shown:
            mark = " (undone)" if row["undone"] else ""
            print(f"{row['entry']:>5}  {row['time']}  {row['tool']:<14} {', '.join(row['paths'])}{mark}")
    return 0


def _row(entry: JournalEntry, gone: bool) -> dict[str, Any]:
    import datetime

    when = datetime.datetime.fromtimestamp(entry.time, datetime.UTC).isoformat(timespec="seconds")
    return {
        "entry": entry.number,
        "time": when,
        "tool": entry.tool,
        "session": entry.session,
        "paths": entry.paths(),
        "undoes": list(entry.undoes),
        "undone": gone,
    }


def undo(args: Namespace) -> int:
    """Undo the last changes, those of a path, or one entry."""
    steps, number = _parse_number("steps", args.steps) or 1, _parse_number("entry", args.entry)
    with options.open_kit(args) as kit:
        result = kit.undo(steps=steps, path=args.path, entry=number)
    if args.json:
        screen.show_json({"status": result.status, "text": result.text, "data": result.data})
    elif result.ok:
        print(result.text)
    else:
        screen.complain(result.text)
    return 0 if result.ok else 1


JOURNAL = Command(
    "journal",
    "Show what tools changed, and verify that the journal is intact.",
    show,
    (options.WORKSPACE, options.WIDE, Option(("--last", "-n"), "Only the last N entries.", "N"), options.JSON),
)
UNDO = Command(
    "undo",
    "Undo changes of tools, byte for byte.",
    undo,
    (
        options.WORKSPACE,
        options.WIDE,
        Option(("--steps",), "Number of changes to undo (default: 1).", "N"),
        Option(("--path",), "Only changes of this file or folder.", "PATH"),
        Option(("--entry",), "One journal entry, by its number.", "N"),
        options.JSON,
    ),
)
