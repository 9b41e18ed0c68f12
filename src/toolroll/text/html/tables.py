"""Tables of a page: those that hold data become Markdown's, those that only arrange things become their content."""

from __future__ import annotations

from collections.abc import Callable

from toolroll.text.html.tree import Node

_MOST_COLUMNS = 60
_PARTS = frozenset({"thead", "tbody", "tfoot"})
_CELLS = frozenset({"td", "th"})
_LAYS_OUT = frozenset({"table", "ul", "ol", "pre", "h1", "h2", "h3", "blockquote", "form"})


def table(node: Node, line: Callable[[Node], str], blocks: Callable[[Node], list[str]]) -> list[str]:
    """A table's blocks. `line` writes an element in one line, `blocks` as blocks."""
    rows = _rows(node)
    width = max((len(row) for row in rows), default=0)
    title = [text for child in _elements(node) if child.name == "caption" and (text := line(child))]
    if width < 2 or width > _MOST_COLUMNS or any(one.name in _LAYS_OUT for one in list(node.walk())[1:]):
        return title + [block for row in rows for cell in row for block in blocks(cell)]
    cells = [[line(cell).replace("|", "\\|") for cell in row] for row in rows]
    filled = [row + [""] * (width - len(row)) for row in cells if any(row)]
    if not filled:
        return title
    if not any(cell.name == "th" for cell in rows[0]):
        filled.insert(0, [""] * width)
    head, *body = filled
    shown = [_row(head), _row(["---"] * width), *map(_row, body)]
    return [*title, "\n".join(shown)]


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
