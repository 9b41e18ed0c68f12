"""Which files are converted, by their names, and what each kind needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolroll.host.convert import limits
from toolroll.host.convert.limits import ConversionLimits
from toolroll.text import terminal
from toolroll.text.knowledge.passages import Form

Extra = Literal["", "rag", "ocr", "audio"]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file."""

    form: Form
    reader: str  # the module of `readers` that reads it
    what: str  # in words
    extra: Extra = ""
    needs: tuple[str, ...] = ()  # packages that come with the extra
    unit: str = ""  # what its parts are counted by: page, sheet, slide, part
    bounds: ConversionLimits = limits.DOCUMENT

    @property
    def slow(self) -> bool:
        """Whether it takes seconds, not moments."""
        return self.bounds is not limits.DOCUMENT


OCR = ("onnxruntime", "rapidocr")
PDF = Format("pdf", "pdf", "a PDF", "rag", ("pypdfium2",), "page")
SCANNED = Format("pdf", "pdf", "a scanned PDF", "ocr", ("pypdfium2", *OCR), "page", limits.SCAN)
WORD = Format("word", "word", "a Word document", "rag", ("docx",))
SLIDES = Format("slides", "powerpoint", "a PowerPoint presentation", "rag", ("pptx",), "slide")
SHEET = Format("sheet", "spreadsheet", "a spreadsheet", "rag", ("python_calamine",), "sheet")
OPEN_TEXT = Format("word", "opendocument", "an OpenDocument text")
OPEN_SLIDES = Format("slides", "opendocument", "an OpenDocument presentation", unit="slide")
BOOK = Format("word", "epub", "an EPUB book", unit="part")
IMAGE = Format("image", "image", "an image", "ocr", OCR, "image", limits.PICTURE)
AUDIO = Format("audio", "audio", "a recording", "audio", ("moonshine_voice", "numpy"), bounds=limits.SPEECH)

BY_SUFFIX = {
    ".pdf": PDF,
    ".docx": WORD,
    ".pptx": SLIDES,
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), SHEET),
    ".odt": OPEN_TEXT,
    ".odp": OPEN_SLIDES,
    ".epub": BOOK,
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"), IMAGE),
    **dict.fromkeys((".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".aac"), AUDIO),
}
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_BY_MIME = {
    "application/pdf": PDF,
    f"{_OFFICE}.wordprocessingml.document": WORD,
    f"{_OFFICE}.presentationml.presentation": SLIDES,
    f"{_OFFICE}.spreadsheetml.sheet": SHEET,
    "application/vnd.ms-excel": SHEET,
    f"{_OPEN}.text": OPEN_TEXT,
    f"{_OPEN}.presentation": OPEN_SLIDES,
    f"{_OPEN}.spreadsheet": SHEET,
    "application/epub+zip": BOOK,
}
_UNKNOWN = ("application/octet-stream", "application/zip", "application/x-zip-compressed", "binary/octet-stream")
_ZIP = b"PK\x03\x04"
_PACKED = (_ZIP, b"\xd0\xcf\x11\xe0")
_ENTRIES = {
    b"word/document.xml": WORD,
    b"ppt/presentation.xml": SLIDES,
    b"xl/workbook.": SHEET,
    b"META-INF/container.xml": BOOK,
}
"""The file in an archive that tells what it is."""
_HEAD_BYTES = 1024  # in which a PDF may have something else before it begins
READERS_VERSION = 2
"""Raised when readers give another text, or learn to read what they could not."""
REFUSED = {
    **dict.fromkeys((".doc", ".rtf", ".docm", ".dotx"), ("a word processor's document", ".docx")),
    **dict.fromkeys((".ppt", ".pptm", ".pps", ".ppsx"), ("a presentation", ".pptx")),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".djvu"), ("a book", ".epub or .pdf")),
    **dict.fromkeys((".heic", ".heif", ".avif", ".psd"), ("an image", ".png or .jpg")),
    **dict.fromkeys((".wma", ".amr", ".aiff", ".aif"), ("a recording", ".wav")),
    **dict.fromkeys((".mp4", ".mkv", ".mov", ".avi", ".webm"), ("a film", ".wav, with its sound")),
}
"""What is known and not converted: in words, and what to save it as."""


def of_name(path: str) -> Format | None:
    """The format that a file's name says."""
    return BY_SUFFIX.get(suffix(path))


def of_file(data: bytes, path: str) -> Format | None:
    """The format of a file with the name of one: by its content where that tells; None for what is plain text."""
    named = of_name(path)
    if named is None or named.slow:
        return named
    if b"%PDF-" in data[:_HEAD_BYTES]:
        return PDF
    if data.startswith(_ZIP):
        inside = [format for entry, format in _ENTRIES.items() if entry in data]
        return named if named in inside or not inside else inside[0]
    plain = b"\0" not in data and not data.startswith(_PACKED) and not terminal.is_binary(data)
    return None if plain else named


def of_body(body: bytes, mime: str, path: str) -> Format | None:
    """The format of what a server sent: by its first bytes, its type and, if that says nothing, the URL's path."""
    if body.startswith(b"%PDF-"):
        return PDF
    if not body.startswith(_PACKED):
        return PDF if mime == "application/pdf" else None
    found = _BY_MIME.get(mime) or (of_name(path) if mime in _UNKNOWN else None)
    return None if found is None or found.slow else found


def suffix(path: str) -> str:
    """The end of a file's name, in small letters; empty if it has none."""
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2].lower()}" if "." in name[1:] else ""
