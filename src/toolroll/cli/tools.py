"""`toolroll tools`: what there is to call, and what its definitions cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolroll.cli.command import Command, Option
from toolroll.cli.options import DIALECT, JSON, MODE, WORKSPACE, open_kit
from toolroll.cli.screen import show_json, show_table
from toolroll.policy.effects import Effect
from toolroll.text.tokens import estimate

if TYPE_CHECKING:
    from argparse import Namespace

    from toolroll.kit import Kit


def run(args: Namespace) -> int:
    """Print the tools as a table, as JSON rows, or as definitions for a model."""
    with open_kit(args) as kit:
        if args.format:
            show_json(kit.definitions(args.format))
        elif args.json:
            show_json(rows(kit))
        else:
            _show(rows(kit))
    return 0


def rows(kit: Kit) -> list[dict[str, Any]]:
    """What there is to say of each tool that the kit shows."""
    return [
        {
            "name": entry.name,
            "category": entry.views()[0].tool.category,
            "effects": effect_names(entry.effects),
            "safe": entry.effects in Effect.READ,
            "tokens": estimate(msgspec.json.encode(definition).decode()),
            "summary": entry.description.splitlines()[0],
        }
        for entry, definition in zip(kit.entries(), kit.definitions(), strict=True)
    ]


def effect_names(effects: Effect) -> list[str]:
    """Such as ["read", "write"]."""
    return [str(one.name).lower() for one in effects]


def _show(found: list[dict[str, Any]]) -> None:
    cells = [[row["name"], ", ".join(row["effects"]) or "none", f"{row['tokens']:,}", row["summary"]] for row in found]
    colours = [_colour(row) for row in found]
    show_table(["tool", "effects", "tokens", "what it does"], cells, right="tokens", colours=colours)
    total = sum(row["tokens"] for row in found)
    print(f"\n{len(found)} tools; their definitions cost about {total:,} tokens (characters of the JSON / 4).")


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
COMMAND = Command(
    "tools",
    "List the tools, what they may do, and about how many tokens each definition costs.",
    run,
    (DIALECT, MODE, _FORMAT, JSON, WORKSPACE),
)
