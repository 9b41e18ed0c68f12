"""The ratios as a picture: a bar for each peer, on a scale of powers of ten. For light and dark screens."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from bench.cases import Case
from bench.figures import number
from bench.measure import Outcome, ratio

TITLE = "CPU time of toolroll where the peer's is 1"
WIDTH, LEFT, RIGHT, LINE, TOP = 1000, 520, 60, 20, 56

STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.case { font-weight: bold } .label { text-anchor: end }
.paper { fill: #ffffff } .less { fill: #2f81f7 } .more { fill: #d9822b } .floor { fill: #24292f }
.one { stroke: #24292f } .ten { stroke: #d0d7de } .tick { fill: #6e7781; text-anchor: middle }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .paper { fill: #0d1117 } .floor { fill: #e6edf3 }
  .one { stroke: #e6edf3 } .ten { stroke: #30363d } .tick { fill: #8b949e }
}
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """A race and a peer, with toolroll's part of the peer's CPU time and the floor's part of it."""

    label: str
    value: float
    floor: float


def svg(results: Mapping[Case, Sequence[Outcome]]) -> str:
    """One bar for each race and peer: toolroll's CPU time, where the peer's is 1."""
    groups = {case.name: list(_bars(outcomes)) for case, outcomes in results.items()}
    every = [bar for bars in groups.values() for bar in bars]
    scale = Scale.over([value for bar in every for value in (bar.value, bar.floor)])
    height = TOP + LINE * (len(every) + 2 * len(groups))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f'<title>{TITLE}</title><style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>',
        f'<text x="16" y="22">{TITLE}: left of the line is less. The small mark is the floor.</text>',
        *scale.drawn(height),
    ]
    y = TOP
    for name, bars in groups.items():
        parts.append(f'<text class="case" x="16" y="{y + 14}">{escape(name)}</text>')
        for at, bar in enumerate(bars, 1):
            parts += _drawn(bar, y + at * LINE, scale)
        y += LINE * (len(bars) + 2)
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class Scale:
    """The powers of ten that the picture spans."""

    low: int
    high: int

    @classmethod
    def over(cls, values: Sequence[float]) -> Scale:
        powers = [math.log10(value) for value in values]
        return cls(min(-1, *map(math.floor, powers)), max(1, *map(math.ceil, powers)))

    def at(self, value: float) -> float:
        return LEFT + (math.log10(value) - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)

    def drawn(self, height: int) -> Iterator[str]:
        for power in range(self.low, self.high + 1):
            x, kind = self.at(10**power), "ten" if power else "one"
            yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 8}"/>'
            yield f'<text class="tick" x="{x:.1f}" y="{TOP - 14}">{10.0**power:g}</text>'


def _bars(outcomes: Sequence[Outcome]) -> Iterator[Bar]:
    for one in outcomes:
        for peer in one.by_role("peer"):
            floor = ratio(one.floor.cpu, peer.cpu)
            yield Bar(f"{one.name}: {peer.name}", ratio(one.ours.cpu, peer.cpu), floor)


def _drawn(bar: Bar, y: int, scale: Scale) -> Iterator[str]:
    one, end, floor = scale.at(1), scale.at(bar.value), scale.at(bar.floor)
    left, kind = min(one, end), "less" if bar.value <= 1 else "more"
    yield f'<text class="label" x="{LEFT - 12}" y="{y + 14}">{escape(bar.label)}</text>'
    yield f'<rect class="{kind}" x="{left:.1f}" y="{y + 4}" width="{abs(end - one):.1f}" height="12"/>'
    yield f'<rect class="floor" x="{floor - 1:.1f}" y="{y + 2}" width="2" height="16"/>'
    yield f'<text x="{max(one, end) + 6:.1f}" y="{y + 14}">{number(bar.value)}</text>'
