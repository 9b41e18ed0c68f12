"""Tables of a page: those that hold data become Markdown's, those that only arrange things become their content."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from toolroll.text.web.html.tree import Node

_MOST_COLUMNS = 60
_MOST_ROWS = 1_000  # that one cell may reach over
_LONGEST_AGAIN = 100  # characters that are written again; a longer text stands in its first place alone
_PARTS = frozenset({"thead", "tbody", "tfoot"})
_CELLS = frozenset({"td", "th"})
_LAYS_OUT = frozenset({"table", "pre", "h1", "h2", "h3", "blockquote", "form"})
_LISTS = frozenset({"ul", "ol"})


class _Cell(NamedTuple):
    name: str
    text: str


def table(node: Node, line: Callable[[Node], str], blocks: Callable[[Node], list[str]]) -> list[str]:
    """A table's blocks. `line` writes an element in one line, `blocks` as blocks."""
    rows = _rows(node)
    title = [text for child in _elements(node) if child.name == "caption" and (text := line(child))]
    if _is_layout(node, rows):
        return title + [block for row in rows for cell in row for block in blocks(cell)]
    filled = [row for row in _grid(rows, line) if any(cell.text for cell in row)]
    if not filled:
        return title
    width = max(map(len, filled))
    shown = [_row([cell.text for cell in row] + [""] * (width - len(row))) for row in filled]
    if not any(cell.name == "th" for cell in filled[0][1:]):  # one in the first place is the name of its row
        shown.insert(0, _row([""] * width))
    return [*title, "\n".join([shown[0], _row(["---"] * width), *shown[1:]])]


def _is_layout(node: Node, rows: list[list[Node]]) -> bool:
    """Whether a table only arranges things: too narrow or wide for data, or with cells that need lines of their own."""
    if not 2 <= max(map(len, rows), default=0) <= _MOST_COLUMNS:
        return True
    inside: set[str] = set()
    for one in islice(node.walk(), 1, None):
        if one.name in _LAYS_OUT:
            return True
        inside.add(one.name)
    return bool(inside & _LISTS) and "th" not in inside


def _grid(rows: list[list[Node]], line: Callable[[Node], str]) -> list[list[_Cell]]:
    """Each row with a cell for each column: rows that a cell reaches over hold it again."""
    most = max(map(len, rows))  # more columns than any row has cells are there for the looks
    found: list[list[_Cell]] = []
    above: dict[int, tuple[int, _Cell]] = {}
    """By column: a cell of the rows before that reaches down, and for how many rows."""
    for nodes in rows:
        row: list[_Cell] = []
        todo = list(reversed(nodes))
        while todo or len(row) <= max(above, default=-1):
            if (at := len(row)) in above:
                left, cell = above.pop(at)
                row.append(cell)
                if left > 1:
                    above[at] = (left - 1, cell)
            elif todo:
                node = todo.pop()
                room = max(1, min(most, _MOST_COLUMNS - at))
                cells = _across(node, line(node).replace("|", "\\|"), room)
                row += cells
                if (high := _count(node, "rowspan", _MOST_ROWS)) > 1:
                    above |= {at + place: (high - 1, _again(cell)) for place, cell in enumerate(cells)}
            else:
                row.append(_Cell("td", ""))
        found.append(row)
    return found


def _across(node: Node, text: str, most: int) -> list[_Cell]:
    """A cell in each column that it reaches over; what heads them all is written above each."""
    first = _Cell(node.name, text)
    other = _again(first) if node.name == "th" else _Cell(node.name, "")
    return [first, *[other] * (_count(node, "colspan", most) - 1)]


def _again(cell: _Cell) -> _Cell:
    return cell if len(cell.text) <= _LONGEST_AGAIN else _Cell(cell.name, "")


def _count(node: Node, name: str, most: int) -> int:
    said = node.attributes.get(name, "").strip()
    return min(max(int(said), 1), most) if said.isascii() and said.isdecimal() and len(said) < 10 else 1


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rows(node: Node) -> list[list[Node]]:
    found: list[list[Node]] = []
    for child in _elements(node):
        if child.name in _PARTS:
            found += _rows(child)
        elif child.name == "tr":
            found.append([one for one in _elements(child) if one.name in _CELLS])
    return [row for row in found if row]


def _elements(node: Node) -> list[Node]:
    return [one for one in node.children if isinstance(one, Node) and one.seen]
