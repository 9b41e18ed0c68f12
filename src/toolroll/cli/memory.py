"""`toolroll memory`: show, export and import the memories of a workspace as Markdown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import WIDE, WORKSPACE, open_kit

if TYPE_CHECKING:
    from argparse import Namespace

_EXPORT, _IMPORT = "export", "import"


def run(args: Namespace) -> int:
    """Write the memories as Markdown, or read them back after a person changed them."""
    from toolroll.host.knowledge.memory_store import MemoryStore
    from toolroll.result import ToolError
    from toolroll.text.knowledge.memory_markdown import read_markdown, write_markdown

    with open_kit(args) as kit:
        ctx = kit.context()
        store = MemoryStore(ctx.files.state, ctx.token)
        if args.action != _IMPORT:
            _write(args.file, write_markdown(store.all()))
            return 0
        try:
            added, changed, removed = store.load(read_markdown(_read(args.file)), prune=args.prune)
        except ToolError as error:
            screen.complain(error.message)
            return 1
    print(f"{added} added, {changed} changed, {removed} removed.")
    return 0


def _read(path: str | None) -> str:
    try:
        if path in (None, "-"):
            return sys.stdin.read()
        with open(str(path), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path or 'The standard input'} cannot be read: {error}") from None


def _write(path: str | None, text: str) -> None:
    if path in (None, "-"):
        screen.show(text)
        return
    try:
        with open(str(path), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written: {error.strerror}.") from None


COMMAND = Command(
    "memory",
    "Show or export the memories of a workspace as Markdown, or import what a person edited.",
    run,
    (
        Option(("action",), "export (default) or import.", "ACTION", choices=lambda: (_EXPORT, _IMPORT)),
        Option(("file",), "Markdown file (default: standard output or input).", "FILE"),
        WORKSPACE,
        WIDE,
        Option(("--prune",), "With import: remove the memories that the file does not have."),
    ),
)
