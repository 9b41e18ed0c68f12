"""The journal of a workspace: `toolroll journal`, `blame`, `undo`, `checkpoint` and `rewind`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from toolroll.cli import options, screen
from toolroll.cli.command import Command, Option, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.kit import Kit
    from toolroll.result import Result

_BY_CHARS = 40  # of the call or command that wrote a line


def _parse_number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"--{name} takes a whole number from 1, not {text!r}.")
    return int(text)


def show(args: Namespace) -> int:
    """Print calls, commands and edits, newest last; a broken chain of the journal is an error."""
    from toolroll import ToolError
    from toolroll.host.knowledge.timeline import read_timeline

    most = _parse_number("last", args.last)
    if args.action not in (None, "show", *_ACTIONS):
        raise UsageError(f"journal takes show, {', '.join(_ACTIONS)}, not {args.action!r}.")
    with options.open_kit(args) as kit:
        if args.action in _ACTIONS:
            return _ACTIONS[args.action](args, kit)
        try:
            found = read_timeline(kit.journal, kit.context().history.call_log, most, diffs=args.diff)
        except ToolError as error:
            screen.complain(error.message)
            return 1
    if args.json:
        screen.show_json([asdict(one) for one in found.calls])
    else:
        screen.show(str(found), diff=args.diff)
    return 0


def _verify(args: Namespace, kit: Kit) -> int:
    """Print what is damaged; with --repair it is set right."""
    found = kit.journal.verify(repair=args.repair)
    if args.json:
        screen.show_json({"damaged": found, "repaired": args.repair})
    else:
        screen.show("\n".join(found) or "The journal is intact.")
    return 1 if found and not args.repair else 0


def _export(_args: Namespace, kit: Kit) -> int:
    """Print every entry as a line of JSON."""
    for entry in kit.journal.entries():
        screen.show(kit.journal.log.encode(entry).decode())
    return 0


def _forget(args: Namespace, kit: Kit) -> int:
    """Remove the kept contents of a path."""
    path = _required("path", args.path)
    count = kit.journal.forget("/".join(kit.context().files.key(path)))
    screen.show(f"Removed {count} kept contents of {path!r}. Changes of them cannot be undone any more.")
    return 0


_ACTIONS = {"verify": _verify, "export": _export, "forget": _forget}


def blame(args: Namespace) -> int:
    """Print the lines of a file, each with the call or command that wrote it."""
    from toolroll import ToolError
    from toolroll.host.knowledge.timeline import describe_note
    from toolroll.text.files.blame import BEFORE, OTHERS

    path = _required("file", args.file)
    with options.open_kit(args) as kit:
        try:
            file = kit.context().files.peek(path)
            lines = kit.journal.blame(file.path, file.data, file.encoding.codec)
        except ToolError as error:
            screen.complain(error.message)
            return 1
        names = {one.number: ": ".join(filter(None, [one.tool, describe_note(one)])) for one in kit.journal.entries()}
    names |= {BEFORE: "before", OTHERS: "others"}
    if args.json:
        screen.show_json(
            [
                {"line": at, "entry": number if number > 0 else None, "by": names[number], "text": text.rstrip("\r\n")}
                for at, (number, text) in enumerate(lines, 1)
            ]
        )
        return 0
    for at, (number, text) in enumerate(lines, 1):
        who = f"{number if number > 0 else '':>5} {names[number][:_BY_CHARS]:<{_BY_CHARS}}"
        screen.show(f"{who} {at:>5}  {text.rstrip()}")
    return 0


def undo(args: Namespace) -> int:
    """Undo the last changes, those of a path, or one entry."""
    steps, number = _parse_number("steps", args.steps) or 1, _parse_number("entry", args.entry)
    with options.open_kit(args) as kit:
        return _answer(args, kit.undo(steps=steps, path=args.path, entry=number))


def checkpoint(args: Namespace) -> int:
    """Save a checkpoint of the files."""
    name = _required("name", args.name)
    with options.open_kit(args) as kit:
        return _answer(args, kit.checkpoint(name))


def rewind(args: Namespace) -> int:
    """Restore all files to a point of the journal."""
    to = _required("point", args.to)
    with options.open_kit(args) as kit:
        return _answer(args, kit.rewind(to, partial=args.partial))


def _required(name: str, given: str | None) -> str:
    if not given:
        raise UsageError(f"The {name} is missing.")
    return given


def _answer(args: Namespace, result: Result) -> int:
    if args.json:
        screen.show_json({"status": result.status, "text": result.text, "data": result.data})
    elif result.ok:
        screen.show(result.text, diff=True)
    else:
        screen.complain(result.text)
    return 0 if result.ok else 1


_HERE = options.WORKSPACE, options.WIDE
JOURNAL = Command(
    "journal",
    "Show calls, commands and edits in order of time, and verify that the journal is intact.",
    show,
    (
        Option(("action",), "show (default), verify, export, or forget."),
        Option(("path",), "What `forget` removes the kept contents of."),
        *_HERE,
        Option(("--repair",), "With `verify`: set right what is damaged."),
        Option(("--last", "-n"), "Only the last N calls.", "N"),
        Option(("--diff",), "Show what each of them changed."),
        options.JSON,
    ),
)
UNDO = Command(
    "undo",
    "Undo changes of tools, byte for byte.",
    undo,
    (
        *_HERE,
        Option(("--steps",), "Number of changes to undo (default: 1).", "N"),
        Option(("--path",), "Only changes of this file or folder.", "PATH"),
        Option(("--entry",), "One journal entry, by its number.", "N"),
        options.JSON,
    ),
)
CHECKPOINT = Command(
    "checkpoint",
    "Save a checkpoint of the files, for `toolroll rewind`.",
    checkpoint,
    (Option(("name",), "Name of the checkpoint."), *_HERE, options.JSON),
)
REWIND = Command(
    "rewind",
    "Restore all files to a checkpoint or a journal entry.",
    rewind,
    (
        Option(("to",), "Checkpoint, or number of an entry (0: before the first)."),
        *_HERE,
        Option(("--partial",), "Leave alone what is not kept, instead of refusing."),
        options.JSON,
    ),
)
BLAME = Command(
    "blame",
    "Show which call or command wrote each line of a file.",
    blame,
    (Option(("file",), "File of the workspace."), *_HERE, options.JSON),
)
