"""Draw a map as SVG: folders as boxes, files as tiles by their size, imports as curves between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from toolroll.text.names import show_name

_WIDTH, _HEIGHT, _TOP, _HEAD, _GAP = 1400.0, 900.0, 56.0, 18.0, 3.0
_LEAST_LABEL = 34.0  # width of a tile with its name
_CHAR_WIDTH = 6.2
_PAINTS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#e15759", "#76b7b2", "#9c755f")
_STYLE = """\
text { font: 11px system-ui, sans-serif; fill: #24292f; pointer-events: none }
.title { font-size: 18px; font-weight: 600 } .about { fill: #6e7781 } .folder text { font-weight: 600; fill: #57606a }
.paper { fill: #ffffff } .folder > rect { fill: #57606a; fill-opacity: .07; stroke: #57606a; stroke-opacity: .25 }
.file { stroke: #ffffff; stroke-opacity: .6 } .edge { fill: none; stroke: #24292f }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .about { fill: #8b949e } .folder text { fill: #adbac7 } .paper { fill: #0d1117 }
  .folder > rect { fill: #adbac7; stroke: #adbac7 } .file { stroke: #0d1117 } .edge { stroke: #e6edf3 }
}
"""

Box = tuple[float, float, float, float]
"""Left, top, width and height."""


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A file: how large it is drawn, how much others depend on it (0 to 1), and its language."""

    path: str
    size: float
    score: float
    language: str


@dataclass(slots=True)
class _Folder:
    name: str
    size: float = 0.0
    folders: dict[str, _Folder] = field(default_factory=dict)
    files: list[PictureFile] = field(default_factory=list)


def draw(title: str, about: str, files: Sequence[PictureFile], edges: Mapping[tuple[str, str], float]) -> str:
    """The picture. An edge goes from a file to one that it uses; its weight is from 0 to 1."""
    root = _nest(files)
    found = sorted({one.language for one in files}, key=lambda name: -sum(one.language == name for one in files))
    paints = {name: _PAINTS[min(at, len(_PAINTS) - 1)] for at, name in enumerate(found)}
    boxes: dict[str, Box] = {}
    area = (_GAP, _TOP, _WIDTH - 2 * _GAP, _HEIGHT - _TOP - _GAP)
    tiles = list(_draw_folder(root, area, paints, boxes))
    legend, x = [], 16.0
    for name in found[: len(_PAINTS)]:
        legend.append(f'<rect x="{x:.0f}" y="36" width="10" height="10" rx="2" fill="{paints[name]}"/>')
        legend.append(f'<text x="{x + 14:.0f}" y="45">{escape(name)}</text>')
        x += 30 + _CHAR_WIDTH * len(name)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img">',
        f'<title>{escape(title)}</title><style>{_STYLE}</style><rect class="paper" width="100%" height="100%"/>',
        f'<text class="title" x="16" y="24">{escape(title)}</text>',
        f'<text class="about" x="{_WIDTH - 16:.0f}" y="24" text-anchor="end">{escape(about)}</text>',
        *legend,
        *tiles,
        *_draw_edges(edges, boxes),
        "</svg>",
        "",
    ])  # fmt: skip


def _nest(files: Sequence[PictureFile]) -> _Folder:
    root = _Folder("")
    for one in files:
        here = root
        here.size += one.size
        for name in one.path.split("/")[:-1]:
            here = here.folders.setdefault(name, _Folder(name))
            here.size += one.size
        here.files.append(one)
    return _join_single(root)


def _join_single(folder: _Folder) -> _Folder:
    """Folders that hold one folder and nothing else are one box with both names."""
    folder.folders = {name: _join_single(one) for name, one in folder.folders.items()}
    if len(folder.folders) == 1 and not folder.files:
        only = next(iter(folder.folders.values()))
        only.name = f"{folder.name}/{only.name}" if folder.name else only.name
        return only
    return folder


def _draw_folder(folder: _Folder, box: Box, paints: Mapping[str, str], boxes: dict[str, Box]) -> Iterator[str]:
    left, top, width, height = box
    head = _HEAD if folder.name and height > 2 * _HEAD and width > _LEAST_LABEL else _GAP
    if folder.name:
        label = _fit(show_name(folder.name), width) if head == _HEAD else ""
        text = f'<text x="{left + 5:.1f}" y="{top + 13:.1f}">{label}</text>'
        yield f'<g class="folder"><rect {_at(box)} rx="4"/>{text}</g>'
    inner = (left + _GAP, top + head, max(0.0, width - 2 * _GAP), max(0.0, height - head - _GAP))
    parts: list[_Folder | PictureFile] = [*folder.folders.values(), *folder.files]
    parts.sort(key=lambda one: -one.size)
    for part, (x, y, w, h) in zip(parts, _squarify([one.size for one in parts], inner), strict=True):
        own = (x + 1, y + 1, max(0.5, w - 2), max(0.5, h - 2))
        if isinstance(part, _Folder):
            yield from _draw_folder(part, own, paints, boxes)
        else:
            boxes[part.path] = own
            yield from _draw_file(part, own, paints[part.language])


def _draw_file(file: PictureFile, box: Box, paint: str) -> Iterator[str]:
    left, top, width, height = box
    name = show_name(file.path)
    opacity = 0.25 + 0.7 * file.score**0.5
    tip = f"<title>{escape(name)}</title>"
    yield f'<rect class="file" {_at(box)} rx="2" fill="{paint}" fill-opacity="{opacity:.2f}">{tip}</rect>'
    if width > _LEAST_LABEL and height > 13:
        yield f'<text x="{left + 4:.1f}" y="{top + 12:.1f}">{_fit(name.rpartition("/")[2], width)}</text>'


def _draw_edges(edges: Mapping[tuple[str, str], float], boxes: Mapping[str, Box]) -> Iterator[str]:
    """Curves that leave the straight line, so that both directions can be seen."""
    for (source, target), weight in sorted(edges.items(), key=lambda row: row[1]):
        if source in boxes and target in boxes:
            (x1, y1), (x2, y2) = _middle(boxes[source]), _middle(boxes[target])
            x, y = (x1 + x2) / 2 - (y2 - y1) * 0.15, (y1 + y2) / 2 + (x2 - x1) * 0.15
            way = f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}"
            how = f'stroke-width="{0.5 + 1.7 * weight:.2f}" stroke-opacity="{0.1 + 0.5 * weight**0.5:.2f}"'
            tip = f"<title>{escape(show_name(source))} uses {escape(show_name(target))}</title>"
            yield f'<path class="edge" d="{way}" {how}>{tip}</path>'


def _squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Boxes of these sizes, the largest first, that fill a box and are nearly square."""
    made: list[Box] = []
    left, top, width, height = box
    rest, total = list(sizes), sum(sizes)
    scale = width * height / total if total else 0.0
    while rest:
        short = max(min(width, height), 1e-6)
        count = 1
        while count < len(rest) and _worst(rest[: count + 1], short, scale) <= _worst(rest[:count], short, scale):
            count += 1
        row, rest = rest[:count], rest[count:]
        deep = sum(row) * scale / short
        at = 0.0
        for size in row:
            long = size / sum(row) * short
            made.append((left, top + at, deep, long) if width >= height else (left + at, top, long, deep))
            at += long
        if width >= height:
            left, width = left + deep, width - deep
        else:
            top, height = top + deep, height - deep
    return made


def _worst(row: Sequence[float], short: float, scale: float) -> float:
    """How far the boxes of a row are from squares, at worst."""
    area = sum(row) * scale
    largest, least = row[0] * scale, max(row[-1] * scale, 1e-9)
    return max(short**2 * largest / max(area**2, 1e-9), area**2 / (short**2 * least))


def _fit(name: str, width: float) -> str:
    most = max(1, int((width - 8) / _CHAR_WIDTH))
    return escape(name if len(name) <= most else f"{name[: max(1, most - 1)]}…")


def _middle(box: Box) -> tuple[float, float]:
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def _at(box: Box) -> str:
    return 'x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"'.format(*box)
