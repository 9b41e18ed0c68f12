"""Read a PDF page by page. Pages that are pictures are reported, to be read by OCR if that is installed."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError, ConversionOutput

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage  # type: ignore[import-untyped]

_HYPHEN = re.compile("[\x02\ufffe](?:\r?\n)?")  # a word that goes on in the next line
_BOOKMARKS = 10_000
_EVERY = 10  # pages between two words of progress
_LARGEST = 4.0  # pixels for a point: 288 to the inch
_FORM_DEPTH = 3  # of what is drawn within something else


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:
    """The text of each page, under the bookmark that leads to it; or of the pages in `words`, by their pictures."""
    document = open_document(file)
    count = len(document)
    if words:
        _read_pictures(document, [int(word) for word in words[0].split(",")], output)
        return
    if count > limits.PAGES:
        raise ConversionError("pages", count)
    output.title(document.get_metadata_value("Title"))
    titles = _find_titles(document)
    for number in range(1, count + 1):
        page = document[number - 1]
        text = _HYPHEN.sub("", page.get_textpage().get_text_bounded()).replace("\r\n", "\n")
        if text.strip():
            output.part(text, number, titles.get(number, ""))
        elif _has_picture(page):
            output.scanned(number)
        page.close()
        if number % _EVERY == 0 or number == count:
            output.progress(number, count)


def open_document(file: BinaryIO) -> PdfDocument:
    """The document; ConversionError for one that cannot be read without a password."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        return PdfDocument(file.read())
    except PdfiumError as error:
        raise ConversionError("password" if "password" in str(error).lower() else "damaged") from error


def _find_titles(document: PdfDocument) -> dict[int, str]:
    """The bookmark that each page is under: the first that leads to it, or the last one before."""
    first: dict[int, str] = {}
    last: dict[int, str] = {}
    for mark in islice(document.get_toc(max_depth=4), _BOOKMARKS):
        place = mark.get_dest()
        index = place.get_index() if place is not None else None
        if index is not None:
            last[index + 1] = mark.get_title()
            first.setdefault(index + 1, last[index + 1])
    title = ""
    for number in range(1, len(document) + 1):
        first.setdefault(number, title)
        title = last.get(number, title)
    return first


def _read_pictures(document: PdfDocument, numbers: list[int], output: ConversionOutput) -> None:
    from toolroll.host.convert.readers.ocr import TextRecognizer

    recognizer = TextRecognizer()
    for done, number in enumerate(numbers, 1):
        page = document[number - 1]
        scale = min(_LARGEST, limits.SIDE / max(1.0, *page.get_size()))
        output.part(recognizer.read_lines(page.render(scale=scale).to_numpy()[:, :, :3]), number)
        output.progress(done, len(numbers))


def _has_picture(page: PdfPage) -> bool:
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE  # type: ignore[import-untyped]

    return next(iter(page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=_FORM_DEPTH)), None) is not None
