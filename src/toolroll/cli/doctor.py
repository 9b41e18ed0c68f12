"""`toolroll doctor`: show what is installed, what is missing and how to add it."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, UsageError
from toolroll.cli.options import JSON, WORKSPACE

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.doctor import Fact


def run(args: Namespace) -> int:
    """Print the facts; 0 if every requirement is met."""
    from toolroll.control.views.doctor import collect_facts

    if not args.workspace:
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    facts = [*collect_facts(args.workspace), _terminal()]
    facts.insert(sum(fact.section == "base" for fact in facts), _daemon(args.workspace))
    healthy = all(fact.present for fact in facts if fact.required)
    if args.json:
        screen.show_json({"healthy": healthy, "facts": [asdict(fact) for fact in facts]})
    else:
        _show(facts, healthy)
    return 0 if healthy else 1


def _daemon(workspace: str) -> Fact:
    """The daemons of the workspace."""
    from toolroll.daemon.start import describe_daemons
    from toolroll.host.doctor import Fact

    try:
        found = "; ".join(status for _, status in describe_daemons(workspace))
    except OSError as error:
        return Fact("base", "daemon", False, str(error))
    return Fact("base", "daemon", bool(found), found or "none runs here; see: toolroll up --help")


def _terminal() -> Fact:
    from toolroll.host.doctor import Fact

    if screen.has_colours(sys.stdout):
        return Fact("terminal", "colours", True, "yes")
    why = "NO_COLOR is set" if os.environ.get("NO_COLOR") else "the output is not a terminal"
    return Fact("terminal", "colours", False, f"no: {why}")


def _show(facts: list[Fact], healthy: bool) -> None:
    section = ""
    width = max(len(fact.name) for fact in facts)
    for fact in facts:
        if fact.section != section:
            section = fact.section
            screen.write(screen.coloured(section, "bold", sys.stdout))
        word, colour = _mark(fact)
        hint = screen.coloured(f"; to add it: {fact.hint}", "dim", sys.stdout) if fact.hint else ""
        screen.write("  ", screen.coloured(word, colour, sys.stdout), f"  {fact.name:<{width}}  {fact.detail}", hint)
    screen.write("\nAll requirements are met." if healthy else "\nA requirement is missing.")


def _mark(fact: Fact) -> tuple[str, str]:
    if fact.present:
        return "yes", "green"
    return ("NO ", "red") if fact.required else ("-  ", "yellow")


COMMAND = Command("doctor", "Show what is installed, what is missing and how to add it.", run, (WORKSPACE, JSON))
