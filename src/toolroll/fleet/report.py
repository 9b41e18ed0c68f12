"""The summary of a run: a table for the terminal, and a picture."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from toolroll.fleet.tasks import FleetResult
from toolroll.text.lines import counted

_STATES = ("passed", "failed", "error")
_WIDTH, _LEFT, _LINE, _TOP = 900, 140, 24, 96
_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f } .paper { fill: #ffffff }
.passed { fill: #2da44e } .failed { fill: #d9822b } .error { fill: #cf222e }
.half { fill: #2f81f7 } .most { fill: #a5c8f5 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .paper { fill: #0d1117 } }
"""


def summarize(results: Sequence[FleetResult], seconds: float, resumed: int = 0) -> str:
    """How many tasks passed, and for each tool how often it was called and how long that took.

    The first `resumed` results are those of an earlier run, and `seconds` is the time of the others.
    """
    states = Counter(one.status for one in results)
    said = ", ".join(f"{states[name]} {name}" for name in _STATES)
    calls = sum(len(one.calls) for one in results[resumed:])
    rate = f", {calls / seconds:.0f} calls/s" if calls and seconds else ""
    lines = [f"{counted(len(results), 'task')}: {said}, in {seconds:.1f} s{rate}."]
    rows = [
        (name, str(count), str(bad), f"{half:.1f}", f"{most:.1f}") for name, count, bad, half, most in _tools(results)
    ]
    if rows:
        head = ("tool", "calls", "errors", "p50 ms", "p95 ms")
        widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
        lines += [
            "",
            *(
                "  ".join([row[0].ljust(widths[0]), *(cell.rjust(widths[at]) for at, cell in enumerate(row[1:], 1))])
                for row in (head, *rows)
            ),
        ]
    bad = [one for one in results if one.status != "passed"]
    lines += (
        ["", *(f"{one.id}: {one.status}: {one.why.splitlines()[0] if one.why else ''}" for one in bad[:20])]
        if bad
        else []
    )
    return "\n".join([*lines, f"... and {len(bad) - 20} more" if len(bad) > 20 else ""]).rstrip()


def _tools(results: Iterable[FleetResult]) -> Iterator[tuple[str, int, int, float, float]]:
    """For each tool: calls, errors, and the times that half and 95 % of the calls took at most."""
    times, bad = defaultdict[str, list[float]](list), Counter[str]()
    for call in (call for one in results for call in one.calls):
        times[call.tool].append(call.ms)
        bad[call.tool] += not call.ok
    for name, taken in sorted(times.items()):
        taken.sort()
        yield name, len(taken), bad[name], taken[len(taken) // 2], taken[min(len(taken) - 1, len(taken) * 95 // 100)]


def draw(results: Sequence[FleetResult], seconds: float, resumed: int = 0) -> str:
    """A picture (SVG): which part of the tasks passed, and the times of each tool. Arguments as for `summarize`."""
    rows = list(_tools(results))
    height, states = _TOP + _LINE * (len(rows) + 1), Counter(one.status for one in results)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f'<style>{_STYLE}</style><rect class="paper" width="100%" height="100%"/>',
        f'<text x="16" y="24">{escape(summarize(results, seconds, resumed).splitlines()[0])}</text>',
    ]
    x, room = 16.0, _WIDTH - 32
    for name in _STATES:
        width = room * states[name] / max(1, len(results))
        parts.append(f'<rect class="{name}" x="{x:.1f}" y="36" width="{width:.1f}" height="16"/>')
        x += width
    parts.append(f'<text x="16" y="{_TOP - 16}">ms a call: half of them, and 95 % of them</text>')
    scale = (_WIDTH - _LEFT - 160) / max([most for *_, most in rows], default=1.0)
    for at, (name, count, _, half, most) in enumerate(rows):
        y = _TOP + at * _LINE
        parts.append(f'<text x="16" y="{y + 13}">{escape(name)}</text>')
        for kind, value in (("most", most), ("half", half)):
            parts.append(f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{value * scale:.1f}" height="16"/>')
        parts.append(f'<text x="{_LEFT + most * scale + 8:.1f}" y="{y + 13}">{half:.1f} / {most:.1f} ({count})</text>')
    return "\n".join([*parts, "</svg>", ""])
