"""`toolroll doctor`: show what is installed, what is missing and how to add it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from toolroll.cli import screen
from toolroll.cli.command import Command, UsageError
from toolroll.cli.options import JSON, WORKSPACE

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.host.doctor import Fact
    from toolroll.host.settings import Settings


def run(args: Namespace) -> int:
    """Print the facts; 0 if every requirement is met."""
    from toolroll import __version__
    from toolroll.host import doctor

    if not args.workspace:
        raise UsageError("The workspace is empty. Name a folder with -C DIR.")
    facts = [*doctor.facts(args.workspace, __version__), _terminal()]
    after = next(at for at, fact in enumerate(facts, 1) if fact.section == "search")
    facts.insert(after, _index(args.workspace))
    facts[3:3] = _configuration(args.workspace)
    healthy = all(fact.present for fact in facts if fact.required)
    if args.json:
        screen.show_json({"healthy": healthy, "facts": [asdict(fact) for fact in facts]})
    else:
        _show(facts, healthy)
    return 0 if healthy else 1


def _configuration(workspace: str) -> list[Fact]:
    """Whether the configuration is right, and which plugins it loads."""
    from toolroll.host.doctor import Fact
    from toolroll.host.settings import FILE, SettingsError, config_path, configure

    try:
        found = configure(workspace)
    except SettingsError as error:
        return [Fact("base", "configuration", False, str(error), required=True)]
    detail = f"{len(found.origins)} settings; see: toolroll config" if found.origins else f"none; {config_path(FILE)}"
    fact = Fact("base", "configuration", True, " ".join((detail, *found.hints)), required=True)
    return [fact, *_plugins(workspace, found.settings)]


def _plugins(workspace: str, settings: Settings) -> Iterator[Fact]:
    from toolroll import dialects
    from toolroll import tools as builtin
    from toolroll.host.doctor import Fact
    from toolroll.plugins import combine, load_plugins
    from toolroll.registry import modules_in

    plugins = load_plugins(workspace, settings.plugins)
    own = dialects.load(settings.dialect, plugins).entries if plugins else ()
    taken = modules_in(builtin.__name__).keys() if own is None else {one.name for one in own}
    for one in plugins:
        added = ", ".join(each.name for each in (*one.entries, *one.dialects))
        yield Fact("base", "plugin", not one.problem, one.problem or f"{one.origin}: {added}")
    good = [one for one in plugins if not one.problem]
    for problem in combine(good, taken, dialects.names(), f"the dialect {settings.dialect}").problems:
        yield Fact("base", "plugin", False, problem)


def _index(workspace: str) -> Fact:
    from toolroll.host.doctor import Fact
    from toolroll.host.search.index.live import describe_index

    return Fact("search", "index", *describe_index(workspace))


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
            print(screen.coloured(section, "bold", sys.stdout))
        word, colour = _mark(fact)
        detail = screen.visible(fact.detail, sys.stdout)
        hint = screen.coloured(f"; to add it: {fact.hint}", "dim", sys.stdout) if fact.hint else ""
        print(f"  {screen.coloured(word, colour, sys.stdout)}  {fact.name:<{width}}  {detail}{hint}")
    print("\nAll requirements are met." if healthy else "\nA requirement is missing.")


def _mark(fact: Fact) -> tuple[str, str]:
    if fact.present:
        return "yes", "green"
    return ("NO ", "red") if fact.required else ("-  ", "yellow")


COMMAND = Command("doctor", "Show what is installed, what is missing and how to add it.", run, (WORKSPACE, JSON))
