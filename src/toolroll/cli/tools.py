"""`toolroll tools`: list the tools and the cost of their definitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.cli.command import Command, Option
from toolroll.cli.options import DIALECT, JSON, MODE, WORKSPACE, open_kit
from toolroll.cli.screen import show_json, show_table, write
from toolroll.policy.effects import Effect
from toolroll.text.tokens import estimate

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.dialect import Entry
    from toolroll.kit import Kit


def run(args: Namespace) -> int:
    """Print the tools as a table, as JSON rows, or as definitions for a model."""
    with open_kit(args, tools=args.show, listing=True) as kit:
        if args.format:
            show_json(kit.definitions(args.format))
        elif args.json:
            show_json(make_rows(kit))
        else:
            _show(make_rows(kit))
            _show_costs(kit.mode, kit.dialect.name)
    return 0


def make_rows(kit: Kit) -> list[dict[str, Any]]:
    """One row for each tool of the kit."""
    shown = {entry.name for entry in kit.shown()}
    return [
        {
            "name": entry.name,
            "category": entry.views()[0].tool.category if entry.views() else "session",
            "effects": effect_names(entry.effects),
            "safe": entry.effects in Effect.READ,
            "shown": entry.name in shown,
            "tokens": estimate_cost([entry]),
            "summary": entry.description.splitlines()[0],
        }
        for entry in kit.entries()
    ]


def estimate_cost(entries: Iterable[Entry]) -> int:
    """Estimated tokens of these definitions, in the OpenAI format."""
    from toolroll.formats import FORMATS

    shape = FORMATS["openai"]
    definitions = (shape(one.name, one.description, one.schema, one.effects, False) for one in entries)
    return sum(estimate(msgspec.json.encode(one).decode()) for one in definitions)


def compare_costs(mode: str) -> list[dict[str, Any]]:
    """For each dialect: the number of tools, how many it shows at first, and their cost."""
    from toolroll import dialects
    from toolroll import tools as builtin
    from toolroll.catalogue import Catalogue
    from toolroll.dialect import View
    from toolroll.policy.rules import MODES
    from toolroll.registry import discover

    native = [View.native(tool) for tool in discover(builtin)]
    found = []
    for name in dialects.names():
        own = dialects.load(name).entries
        entries = [entry for one in own or native if (entry := one.within(MODES[mode])) is not None]
        shown = Catalogue("all" if own else "core", entries.copy).shown()
        found.append(
            {
                "dialect": name,
                "tools": len(entries),
                "shown": len(shown),
                "tokens": estimate_cost(shown),
                "all": estimate_cost(entries),
            }
        )
    return found


def effect_names(effects: Effect) -> list[str]:
    """The names of effects, such as ["read", "write"]."""
    return [str(one.name).lower() for one in effects]


def _show(found: list[dict[str, Any]]) -> None:
    cells = [
        [
            row["name"],
            ", ".join(row["effects"]) or "none",
            "yes" if row["shown"] else "",
            f"{row['tokens']:,}",
            row["summary"],
        ]
        for row in found
    ]
    colours = [_colour(row) for row in found]
    show_table(["tool", "effects", "shown", "tokens", "what it does"], cells, right="tokens", colours=colours)
    shown = [row["tokens"] for row in found if row["shown"]]
    write(
        f"\n{len(found)} tools. The {len(shown)} that a model is shown at first cost it about {sum(shown):,} tokens "
        "(characters of the JSON / 4)."
    )


def _show_costs(mode: str, current: str) -> None:
    found = compare_costs(mode)
    cells = [[one["dialect"], *(f"{one[name]:,}" for name in ("tools", "shown", "tokens", "all"))] for one in found]
    colours = ["green" if one["dialect"] == current else "" for one in found]
    write()
    show_table(["dialect", "tools", "shown", "tokens", "if all were shown"], cells, right="tokens", colours=colours)


def _colour(row: dict[str, Any]) -> str:
    if row["safe"]:
        return "green"
    return "red" if "delete" in row["effects"] or "run" in row["effects"] else "yellow"


def _formats() -> Sequence[str]:
    from toolroll.formats import FORMATS

    return list(FORMATS)


_FORMAT = Option(
    ("--format", "-f"),
    "Print the definitions for openai, anthropic, gemini or mcp.",
    "NAME",
    choices=_formats,
)
_SHOW = Option(
    ("--show",),
    "Tools that a model is shown: all, core or lazy (default: as the dialect decides).",
    "WHICH",
    choices=lambda: ("all", "core", "lazy"),
)
COMMAND = Command(
    "tools",
    "List the tools, their effects, and the estimated tokens of each definition.",
    run,
    (DIALECT, MODE, _SHOW, _FORMAT, JSON, WORKSPACE),
)
