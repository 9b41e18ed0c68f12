"""An OpenDocument text or presentation as Markdown."""

from __future__ import annotations

from typing import BinaryIO
from xml.etree.ElementTree import XMLParser

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError, ConversionOutput
from toolroll.host.convert.readers.archive import open_archive
from toolroll.host.convert.readers.markdown import heading, table

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE, _DRAW = f"{_NAMES}text:1.0}}", f"{_NAMES}table:1.0}}", f"{_NAMES}drawing:1.0}}"
_PARAGRAPHS = (f"{_TEXT}p", f"{_TEXT}h")
_HIDDEN = (f"{_TEXT}tracked-changes", f"{_NAMES}office:1.0}}annotation", f"{_TEXT}note-citation")
_MOST_SPACES = 100
_CHUNK = 1 << 18


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:  # noqa: ARG001 - all readers are alike
    """The whole of a text, or a part for each slide."""
    archive = open_archive(file)
    if "META-INF/manifest.xml" in archive.namelist() and b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise ConversionError("password")
    writer = _Writer(output)
    parser = XMLParser(target=writer)
    with archive.open("content.xml") as content:
        while chunk := content.read(_CHUNK):
            parser.feed(chunk)
    parser.close()


class _Writer:
    """Follows the elements as they begin and end; says each slide, or the whole text, when it is over."""

    def __init__(self, output: ConversionOutput) -> None:
        self._output = output
        self._open: list[str] = []
        self._levels: list[int] = []
        self._words: list[str] = []
        self._blocks: list[str] = []
        self._rows: list[list[list[str]]] = []
        self._slides = 0
        self._hidden = self._tables = self._items = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._open.append(tag)
        if len(self._open) > limits.DEPTH:
            raise ConversionError("deep")
        self._hidden += tag in _HIDDEN
        self._tables += tag == f"{_TABLE}table"
        self._items += tag == f"{_TEXT}list-item"
        if tag in _PARAGRAPHS:
            level = attributes.get(f"{_TEXT}outline-level", "1")
            self._levels.append((int(level) if level.isdecimal() else 1) if tag == f"{_TEXT}h" else 0)
        elif tag == f"{_TABLE}table-row" and self._tables == 1:
            self._rows.append([])
        elif tag == f"{_TABLE}table-cell" and self._tables == 1 and self._rows:
            self._rows[-1].append([])
        elif tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            self.data("\t" if tag == f"{_TEXT}tab" else "\n")
        elif tag == f"{_TEXT}s":
            count = attributes.get(f"{_TEXT}c", "1")
            self.data(" " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES))

    def data(self, text: str) -> None:
        if self._levels and not self._hidden:
            self._words.append(text)

    def end(self, tag: str) -> None:
        self._open.pop()
        if tag in _PARAGRAPHS:
            self._paragraph(self._levels.pop())
        elif tag == f"{_TABLE}table" and self._tables == 1:
            self._blocks.append(table([[" ".join(cell) for cell in row] for row in self._rows]))
            self._rows = []
        elif tag == f"{_DRAW}page":
            self._slides += 1
            self._say(self._slides)
        self._hidden -= tag in _HIDDEN
        self._tables -= tag == f"{_TABLE}table"
        self._items -= tag == f"{_TEXT}list-item"

    def close(self) -> None:
        self._say(0)

    def _paragraph(self, level: int) -> None:
        if self._levels:
            self._words.append(" ")  # a paragraph within one: a text box
            return
        text, self._words = "".join(self._words).strip(), []
        if not text:
            return
        if self._tables and self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text)
        elif level:
            self._blocks.append(heading(text, level))
        else:
            self._blocks.append(f"- {text}" if self._items else text)

    def _say(self, page: int) -> None:
        title = self._blocks[0].lstrip("# ") if page and self._blocks else ""
        self._output.part("\n\n".join(filter(None, self._blocks)), page, title[:200])
        self._blocks = []
