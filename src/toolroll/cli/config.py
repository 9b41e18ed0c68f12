"""`toolroll config`: show the effective settings, where each comes from, and what the workspace suggests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, Option, UsageError
from toolroll.cli.options import DIALECT, JSON, MODE, NETWORK, SANDBOX, WIDE, WORKSPACE, read_settings
from toolroll.text.escape import escape_line

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.settings import WorkspaceSuggestion


def run(args: Namespace) -> int:
    """Print the settings; ask about a suggestion that the user has not answered."""
    from toolroll.control.views.config import make_rows, show_value
    from toolroll.host.settings import answer_suggestion, read_suggestion

    found = read_settings(args, args.workspace)
    try:
        rows = list(make_rows(found, args.workspace))
        suggestion = read_suggestion(args.workspace)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from None
    if args.json:
        listed = [{"key": key, "value": value, "from": origin} for key, value, origin in rows]
        screen.show_json({"settings": listed, "suggested": suggestion.values if suggestion else None})
    else:
        shown = [(key, show_value(value), origin) for key, value, origin in rows]
        screen.show_table(("key", "value", "from"), shown, right="", colours=[""] * len(shown))
    for hint in found.hints:
        screen.complain(hint, "note")
    if suggestion is None and (args.accept or args.decline):
        raise UsageError("This workspace suggests no settings.")
    if suggestion is not None and (accept := _decide(args, suggestion)) is not None:
        answer_suggestion(args.workspace, suggestion, accept=accept)
        screen.write("Accepted: these settings hold here from now on." if accept else "Declined.", to=sys.stderr)
    return 0


def _decide(args: Namespace, suggestion: WorkspaceSuggestion) -> bool | None:
    """The user's answer, by an option or at the terminal; None without one."""
    from toolroll.control.views.config import show_value

    if args.accept or args.decline:
        return bool(args.accept)
    if args.json:
        return None
    screen.write(
        "\nThis workspace suggests:" if not suggestion.answered else "\nThis workspace suggests, and you answered:"
    )
    for key, value in suggestion.values.items():
        screen.write(f"  {escape_line(key)} = {show_value(value)}")
    if suggestion.answered:
        return None
    if not sys.stdin.isatty():
        screen.write("To answer: toolroll config --accept, or --decline.")
        return None
    typed = screen.ask_line("Use these settings in this workspace? [y/N] ", sys.stdin, sys.stdout)
    return (typed or "").strip().lower() in ("y", "yes")


_ACCEPT = Option(("--accept",), "Accept what the workspace suggests.")
_DECLINE = Option(("--decline",), "Decline it.")
COMMAND = Command(
    "config",
    "Show the settings for a workspace and where each comes from.",
    run,
    (DIALECT, MODE, SANDBOX, NETWORK, WORKSPACE, WIDE, _ACCEPT, _DECLINE, JSON),
    more="Settings are in toolroll.toml in the user's configuration folder; see docs/configuration.md.",
)
