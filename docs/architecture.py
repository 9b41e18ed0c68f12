"""Draws docs/architecture.svg: the floors of the code as the import contracts in pyproject.toml order them.

A room imports only from the floors below its own. `generate.py` calls this, so that the picture is never stale.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TITLE = "The house of toolroll: a room imports only from the floors below"
WIDTH, MARGIN, GAP, LINE, CHARACTER = 1180, 16, 8, 15, 6.2
NESTED = 5
"""How many times the width of a plain room a room with floors of its own gets."""
DESCRIBED = 120
"""The least width of a room in which its description is readable."""

STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #24292f } .name { font-weight: bold }
.what { font-size: 11px; fill: #57606a }
.paper { fill: #ffffff } .room { fill: #f6f8fa; stroke: #d0d7de } .house { fill: #ddf4ff; stroke: #54aeff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .what { fill: #8b949e } .paper { fill: #0d1117 }
  .room { fill: #161b22; stroke: #30363d } .house { fill: #0c2d4d; stroke: #1f6feb }
}
"""

Floors = Sequence[Sequence[str]]
"""The rooms on each floor, the highest floor first."""


def svg() -> str:
    """Draw the whole picture."""
    houses = dict(read_floors())
    rooms = list(draw_floors(houses, "toolroll", MARGIN, 40, WIDTH - 2 * MARGIN))
    height = 40 + measure_floors(houses, "toolroll", WIDTH - 2 * MARGIN) + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f'<title>{TITLE}</title><style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>',
            f'<text class="name" x="{MARGIN}" y="26">{TITLE}</text>',
            *rooms,
            "</svg>",
            "",
        ]
    )


def read_floors() -> Iterator[tuple[str, Floors]]:
    """Read the floors of each package from the contracts, without the floors that hold only `__main__`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            floors = [[name.strip() for name in re.split(r"[|:]", layer)] for layer in contract["layers"]]
            for container in contract["containers"]:
                yield container, [floor for floor in floors if floor != ["__main__"]]


def measure_floors(houses: Mapping[str, Floors], package: str, width: float) -> float:
    """Measure how high the floors of a package are."""
    return sum(_measure_floor(houses, package, floor, width) + GAP for floor in houses[package]) - GAP


def draw_floors(houses: Mapping[str, Floors], package: str, x: float, y: float, width: float) -> Iterator[str]:
    """Draw the floors of a package below each other."""
    for floor in houses[package]:
        height = _measure_floor(houses, package, floor, width)
        at = x
        for name, room_width in _widths(houses, package, floor, width):
            room = f"{package}.{name}"
            kind = "house" if room in houses else "room"
            yield f'<rect class="{kind}" x="{at:g}" y="{y:g}" width="{room_width:g}" height="{height:g}" rx="4"/>'
            yield f'<text class="name" x="{at + 8:g}" y="{y + 17:g}">{escape(name)}</text>'
            for number, line in enumerate(_describe(room, room_width), 1):
                yield f'<text class="what" x="{at + 8:g}" y="{y + 17 + LINE * number:g}">{escape(line)}</text>'
            if room in houses:
                top = y + _head(room, room_width)
                yield from draw_floors(houses, room, at + GAP, top, room_width - 2 * GAP)
            at += room_width + GAP
        y += height + GAP


def _measure_floor(houses: Mapping[str, Floors], package: str, floor: Sequence[str], width: float) -> float:
    heights = []
    for name, room_width in _widths(houses, package, floor, width):
        room = f"{package}.{name}"
        inside = measure_floors(houses, room, room_width - 2 * GAP) + GAP if room in houses else 0
        heights.append(_head(room, room_width) + inside)
    return max(heights)


def _head(room: str, width: float) -> float:
    """How high the name and the description of a room are."""
    return 26 + LINE * len(_describe(room, width))


def _widths(
    houses: Mapping[str, Floors], package: str, floor: Sequence[str], width: float
) -> Iterator[tuple[str, float]]:
    shares = [NESTED if len(floor) > 1 and f"{package}.{name}" in houses else 1 for name in floor]
    part = (width - GAP * (len(floor) - 1)) / sum(shares)
    return ((name, part * share) for name, share in zip(floor, shares, strict=True))


def _describe(room: str, width: float) -> list[str]:
    """The first paragraph of a room's docstring, as lines that fit into it; none for a room that is too narrow."""
    if width < DESCRIBED:
        return []
    path = ROOT / "src" / Path(*room.split("."))
    module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return textwrap.wrap(" ".join(text.split("\n\n")[0].split()), max(8, int((width - 16) / CHARACTER)))


if __name__ == "__main__":
    (ROOT / "docs" / "architecture.svg").write_text(svg(), encoding="utf-8")
