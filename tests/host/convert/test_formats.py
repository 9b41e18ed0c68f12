from __future__ import annotations

import pytest

from toolroll.host.convert import formats
from toolroll.host.convert.formats import Format
from toolroll.text.search import file_types

ZIP = b"PK\x03\x04"


@pytest.mark.parametrize(
    ("path", "format"),
    [
        ("a.pdf", formats.PDF),
        ("dir.d/A.PDF", formats.PDF),
        ("a.xls", formats.SHEET),
        ("a.JPeG", formats.IMAGE),
        ("a.m4a", formats.AUDIO),
        ("a.txt", None),
        ("pdf", None),
        (".pdf", None),
        ("a.pdf/b", None),
    ],
)
def test_by_name(path: str, format: Format | None) -> None:
    assert formats.of_name(path) is format


@pytest.mark.parametrize(
    ("body", "mime", "path", "format"),
    [
        (b"%PDF-1.7", "application/octet-stream", "/a", formats.PDF),
        (b"<html>", "application/pdf", "/a", formats.PDF),
        (ZIP, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "/a", formats.WORD),
        (ZIP, "application/zip", "/a.docx", formats.WORD),
        (ZIP, "application/zip", "/a.zip", None),
        (ZIP, "application/zip", "/a.png", None),
        (ZIP, "text/plain", "/a.docx", None),
        (b"a text", "application/octet-stream", "/a.docx", None),
        (b"\xd0\xcf\x11\xe0", "application/vnd.ms-excel", "/a", formats.SHEET),
    ],
)
def test_by_body(body: bytes, mime: str, path: str, format: Format | None) -> None:
    assert formats.of_body(body, mime, path) is format


@pytest.mark.parametrize(
    ("data", "path", "format"),
    [
        (b"%PDF-1.7", "a.docx", formats.PDF),
        (b"junk\n%PDF-1.7", "a.pdf", formats.PDF),
        (ZIP + b"xl/workbook.xml", "a.docx", formats.SHEET),
        (ZIP + b"xl/workbook.xml word/document.xml", "a.docx", formats.WORD),  # one within the other
        (ZIP, "a.odt", formats.OPEN_TEXT),
        (b"\xd0\xcf\x11\xe0", "a.xls", formats.SHEET),
        (b"<table>", "a.xls", None),
        (b"a\0b", "a.pdf", formats.PDF),
        (b"any", "a.png", formats.IMAGE),
        (b"%PDF-1.7", "a.txt", None),
    ],
)
def test_by_content(data: bytes, path: str, format: Format | None) -> None:
    assert formats.of_file(data, path) is format


def test_what_is_read_and_searched_as_text_is_converted() -> None:
    assert all(formats.of_name(f"a{suffix}") for suffix in file_types.TEXT_DOCUMENTS)
    searched = [suffix for suffix in formats.BY_SUFFIX if file_types.NAMES_DOCUMENTS.match(f"a{suffix}")]
    assert set(formats.BY_SUFFIX) - set(searched) == {
        one for one, made in formats.BY_SUFFIX.items() if made is formats.AUDIO
    }


def test_every_kind_is_either_converted_or_refused() -> None:
    assert [suffix for suffix in formats.REFUSED if formats.of_name(f"a{suffix}") is not None] == []
