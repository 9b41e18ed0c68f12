"""Lines as a picture: CPU time over size, both in powers of ten, or values over shares. For light and dark screens."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from bench.figures import seconds

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 80, 210, 48, 48
COLOURS = ("#2f81f7", "#d9822b", "#8250df", "#1a7f37", "#bf3989")

Lines = Mapping[str, Sequence[tuple[int, float]]]
"""For each name the sizes, in rising order, and the seconds that they cost; or shares and values."""

STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.paper { fill: #ffffff } .grid { stroke: #d0d7de } .tick { fill: #6e7781 } .middle { text-anchor: middle }
.end { text-anchor: end } .line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .paper { fill: #0d1117 } .grid { stroke: #30363d } .tick { fill: #8b949e }
}
"""


def svg(title: str, unit: str, lines: Lines) -> str:
    """A line for each name through its (size, seconds), with the name at its end."""
    return panels(unit, {title: lines})


def panels(unit: str, pictures: Mapping[str, Lines], columns: int = 2) -> str:
    """Several such pictures with their titles, side by side."""
    named = next(iter(pictures)) if len(pictures) == 1 else "How cost grows"
    return _side_by_side(named, [list(_panel(title, unit, lines)) for title, lines in pictures.items()], columns)


def over_shares(named: str, pictures: Mapping[str, Lines]) -> str:
    """Lines through (per cent, value from 0 to 1), on plain scales, one picture beside the other."""
    return _side_by_side(named, [list(_share_panel(title, lines)) for title, lines in pictures.items()], 2)


def _side_by_side(named: str, drawn: Sequence[Sequence[str]], columns: int) -> str:
    columns = min(columns, len(drawn))
    across, down = columns * WIDTH, math.ceil(len(drawn) / columns) * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" role="img">',
        f'<title>{escape(named)}</title><style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>',
    ]
    for at, panel in enumerate(drawn):
        parts += [f'<g transform="translate({at % columns * WIDTH} {at // columns * HEIGHT})">', *panel, "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, unit: str, lines: Lines) -> Iterator[str]:
    points = [point for line in lines.values() for point in line]
    across = Axis.over([size for size, _ in points], LEFT, WIDTH - RIGHT)
    up = Axis.over([cost for _, cost in points], HEIGHT - BOTTOM, TOP)
    yield f'<text x="16" y="24">{escape(title)}</text>'
    yield from _grid(across, up, unit)
    yield from _lines(lines, across, up)


def _share_panel(title: str, lines: Lines) -> Iterator[str]:
    across, up = Scale(100, LEFT, WIDTH - RIGHT), Scale(1, HEIGHT - BOTTOM, TOP)
    yield f'<text x="16" y="24">{escape(title)}</text>'
    for share in sorted({share for line in lines.values() for share, _ in line}):
        yield from _mark(across.at(share), f"{share} %")
    for tenths in range(0, 11, 2):
        yield from _level(up.at(tenths / 10), f"{tenths / 10:g}")
    yield from _lines(lines, across, up)


class Scale:
    """From values between 0 and the highest to places between two edges of the picture."""

    def __init__(self, high: float, start: float, end: float) -> None:
        self._start, self._step = start, (end - start) / high

    def at(self, value: float) -> float:
        return self._start + value * self._step


class Axis:
    """From powers of ten to places between two edges of the picture."""

    def __init__(self, low: int, high: int, start: float, end: float) -> None:
        self.powers = range(low, high + 1)
        self._start, self._step = start, (end - start) / max(1, high - low)

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        powers = [math.log10(value) for value in values]
        return cls(math.floor(min(powers)), math.ceil(max(powers)), start, end)

    def at(self, value: float) -> float:
        return self._start + (math.log10(value) - self.powers[0]) * self._step


def _grid(across: Axis, up: Axis, unit: str) -> Iterator[str]:
    for power in across.powers:
        yield from _mark(across.at(10**power), f"{10**power:,} {escape(unit)}")
    for power in up.powers:
        yield from _level(up.at(10.0**power), seconds(10.0**power))


def _mark(x: float, name: str) -> Iterator[str]:
    yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
    yield f'<text class="tick middle" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}">{name}</text>'


def _level(y: float, name: str) -> Iterator[str]:
    yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    yield f'<text class="tick end" x="{LEFT - 8}" y="{y + 4:.1f}">{name}</text>'


def _lines(lines: Lines, across: Axis | Scale, up: Axis | Scale) -> Iterator[str]:
    ends = _apart({name: up.at(line[-1][1]) for name, line in lines.items()})
    for at, (name, line) in enumerate(lines.items()):
        colour = COLOURS[at % len(COLOURS)]
        places = [(across.at(size), up.at(cost)) for size, cost in line]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline class="line" stroke="{colour}" points="{drawn}"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places)
        yield f'<rect x="{WIDTH - RIGHT + 14}" y="{ends[name] - 4:.1f}" width="10" height="8" fill="{colour}"/>'
        yield f'<text x="{WIDTH - RIGHT + 30}" y="{ends[name] + 4:.1f}">{escape(name)}</text>'


def _apart(wanted: Mapping[str, float], least: float = 16.0) -> dict[str, float]:
    """The heights of the names, moved down where they would lie on each other."""
    made: dict[str, float] = {}
    last = -math.inf
    for name in sorted(wanted, key=lambda one: wanted[one]):
        last = made[name] = max(wanted[name], last + least)
    return made
