"""A Word document as Markdown: headings, paragraphs, lists and tables in the order in which one reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from toolroll.host.convert.child import ConversionOutput
from toolroll.host.convert.readers.archive import open_archive
from toolroll.host.convert.readers.markdown import heading, table

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OLD = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # the same once more, for old programs
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:  # noqa: ARG001 - all readers are alike
    """The text of the body. What was deleted under review, headers and footers are left out."""
    archive = open_archive(file)
    import docx

    document = docx.Document(file)
    if "docProps/core.xml" in archive.namelist():  # else the library makes a title up
        output.title(document.core_properties.title)
    styles = {one.style_id: str(one.name) for one in document.styles if one.name}
    output.part("\n\n".join(_join_items(_iter_blocks(document.element.body, styles))))


def _join_items(blocks: Iterator[tuple[str, bool]]) -> Iterator[str]:
    """Blocks of text; the items of a list are one."""
    items: list[str] = []
    for text, is_item in blocks:
        if is_item:
            items.append(text)
            continue
        if items:
            yield "\n".join(items)
            items = []
        yield text
    if items:
        yield "\n".join(items)


def _iter_blocks(body: Any, styles: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Each paragraph and table, and whether it is an item of a list."""
    todo = list(reversed(body))
    while todo:
        node = todo.pop()
        if node.tag == f"{_W}p":
            text, is_item = _paragraph(node, styles)
            if text:
                yield text, is_item
        elif node.tag == f"{_W}tbl":
            rows = [[_cell(cell) for cell in row.iterchildren(f"{_W}tc")] for row in node.iterchildren(f"{_W}tr")]
            yield table(rows), False
        elif node.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}customXml", f"{_W}ins"):  # frames around text
            todo += reversed(node)


def _paragraph(node: Any, styles: Mapping[str, str]) -> tuple[str, bool]:
    text = _text(node).strip()
    set_as = node.find(f"{_W}pPr/{_W}pStyle")
    style = styles.get(set_as.get(f"{_W}val") or "", "") if set_as is not None else ""
    level = _HEADING.match(style)
    if text and (level or style == "Title"):
        return heading(text, int(level[1]) if level else 1), False
    listed = style.startswith("List") or node.find(f"{_W}pPr/{_W}numPr") is not None
    return (f"- {text}" if text and listed else text), listed


def _cell(cell: Any) -> str:
    return " ".join(filter(None, (_text(one).strip() for one in cell.iter(f"{_W}p"))))


def _text(paragraph: Any) -> str:
    """The words of a paragraph, with those in text boxes that hang on it."""
    found: list[str] = []
    todo = [paragraph]
    while todo:
        node = todo.pop()
        if node.tag == f"{_W}t":
            found.append(node.text or "")
        elif node.tag in _BREAKS:
            found.append(_BREAKS[node.tag])
        elif node.tag != _OLD:
            todo += reversed(node)
    return "".join(found)
