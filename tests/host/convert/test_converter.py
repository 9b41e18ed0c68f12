"""Files of each kind through the whole way: the child, its sandbox, and what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.host.convert import files
from tests.host.convert.files import paragraph
from tests.launchers import LAUNCHER
from tests.waiting import closed_again, descriptors
from toolroll.host.convert import converter as converters
from toolroll.host.convert import formats, limits
from toolroll.host.convert.converter import Converted, Converter
from toolroll.host.convert.formats import Format
from toolroll.host.convert.text_cache import TextCache
from toolroll.host.requirement import add_extra
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.launcher import Launcher, Sandbox
from toolroll.host.runtime.state import State
from toolroll.host.sandbox.choose import choose_sandbox
from toolroll.result import ErrorCode, ToolError
from toolroll.text.knowledge.chunks import DocumentPart

FFMPEG = shutil.which("ffmpeg", path="/usr/local/bin:/usr/bin:/bin")  # where a child finds it
DAMAGED = "cannot be read as"
SPOKEN = "it was the best of times"
OFFICE = (
    paragraph("Pilot book", '<w:pStyle w:val="T"/>')
    + paragraph("Ports", '<w:pStyle w:val="u2"/>')
    + "<w:tbl><w:tr>"
    + "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("port", "depth"))
    + f"</w:tr><w:tr><w:tc>{paragraph('Kiel')}{paragraph('north')}</w:tc><w:tc>{paragraph('11|m')}</w:tc></w:tr></w:tbl>"
    + paragraph("one", "<w:numPr/>")
    + paragraph("two", "<w:numPr/>")
    + f"<w:sdt><w:sdtContent>{paragraph('In a frame.')}</w:sdtContent></w:sdt>"
    + "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>"
)
OPEN_TEXT = (
    '<office:text><text:h text:outline-level="2">Ports</text:h><text:p>A<text:s text:c="3"/>b<text:tab/>c'
    "<office:annotation><text:p>hidden</text:p></office:annotation></text:p>"
    "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list><table:table><table:table-row>"
    '<table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell table:number-columns-repeated="999999999">'
    "<text:p>y</text:p></table:table-cell></table:table-row></table:table></office:text>"
)
OPEN_SHEET = (
    '<office:spreadsheet><table:table table:name="Ports"><table:table-row>'
    + "".join(f'<table:table-cell office:value-type="string"><text:p>{one}</text:p></table:table-cell>' for one in ("port", "depth"))
    + '</table:table-row><table:table-row><table:table-cell office:value-type="string"><text:p>Kiel</text:p></table:table-cell>'
    '<table:table-cell office:value-type="float" office:value="11"><text:p>11</text:p></table:table-cell>'
    "</table:table-row></table:table></office:spreadsheet>"
)  # fmt: skip
OPEN_SLIDES = (
    "<office:presentation><draw:page><text:p>One</text:p><text:p>Two</text:p></draw:page>"
    "<draw:page><text:p>Three</text:p></draw:page></office:presentation>"
)
ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + at)} "{f"&{chr(97 + at)};" * 10}">' for at in range(9))
    + "]>"
)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    choose_sandbox()  # whose trial leaves descriptors of the system's own
    before = descriptors()
    yield
    assert closed_again(before)


def convert(data: bytes, path: str, format: Format | None = None, token: CancelToken | None = None) -> Converted:
    found = format or formats.of_name(path)
    assert found is not None
    return Converter(LAUNCHER, token or CancelToken()).convert(data, path, found)


def test_a_pdf() -> None:
    told: list[tuple[float, float | None, str]] = []
    data = files.pdf("Harbours are\ndeep.", "", "Tides are high.", title="Pilot")
    converter = Converter(LAUNCHER, CancelToken(), lambda *words: told.append(words))
    found = converter.convert(data, "a.pdf", formats.PDF)
    parts = [DocumentPart("Harbours are\ndeep.", 1, "Chapter 1"), DocumentPart("Tides are high.", 3, "Chapter 3")]
    assert found == Converted(formats.PDF, parts, "Pilot")
    assert found.text == "[page 1: Chapter 1]\nHarbours are\ndeep.\n\n[page 3: Chapter 3]\nTides are high."
    assert told == [(3, 3, "page 3")]
    assert found.places == ["p. 1", "p. 1", "p. 1", "p. 1", "p. 3", "p. 3", "p. 3"]


@pytest.mark.parametrize(
    ("make", "path", "parts", "title"),
    [
        (
            lambda: files.docx(OFFICE),
            "a.docx",
            [DocumentPart("# Pilot book\n\n## Ports\n\n| port | depth |\n| --- | --- |\n| Kiel north | 11\\|m |\n\n- one\n- two\n\nIn a frame.\n\nnew")],
            "",
        ),
        (
            files.xlsx,
            "a.xlsx",
            [
                DocumentPart("| name | tons | built | a\\|b |\n| --- | --- | --- | --- |\n| Aurora | 1200 | 1931-05-02 | TRUE |\n| Borealis | 0.5 |  | two lines |", 1, "Ships"),
                DocumentPart("| Kiel | 7 |\n| --- | --- |", 3, "Harbours"),
            ],
            "",
        ),
        (
            files.pptx,
            "a.pptx",
            [
                DocumentPart("## Tides\n\n- High water\n- Low water\n\nNotes: Say it slowly.", 1, "Tides"),
                DocumentPart("| port | depth |\n| --- | --- |\n| Kiel | 11 m |\n\nin a group", 2),
            ],
            "",
        ),
        (
            lambda: files.opened(OPEN_SHEET, mime="application/vnd.oasis.opendocument.spreadsheet"),
            "a.ods",
            [DocumentPart("| port | depth |\n| --- | --- |\n| Kiel | 11 |", 1, "Ports")],
            "",
        ),
        (lambda: files.opened(OPEN_TEXT), "a.odt", [DocumentPart("## Ports\n\nA   b\tc\n\n- item\n\n| x | y |\n| --- | --- |")], ""),
        (lambda: files.opened(OPEN_SLIDES), "a.odp", [DocumentPart("One\n\nTwo", 1, "One"), DocumentPart("Three", 2, "Three")], ""),
        (
            lambda: files.epub({"a": "<head><title>Dawn</title></head><p>Caf&eacute;.", "b": "<h1>Noon</h1><p>Hot."}),
            "a.epub",
            [DocumentPart("# Dawn\n\nCafé.", 1, "Dawn"), DocumentPart("# Noon\n\nHot.", 2)],
            "The Sea",
        ),
    ],
    ids=["docx", "xlsx", "pptx", "ods", "odt", "odp", "epub"],
)  # fmt: skip
def test_documents(make: Callable[[], bytes], path: str, parts: list[DocumentPart], title: str) -> None:
    found = convert(make(), path)
    assert (found.parts, found.title, found.notes) == (parts, title, [])


def test_a_text_is_kept_by_content(tmp_path: Path) -> None:
    data = files.opened("<office:text><text:p>Lanterns</text:p></office:text>")
    with closing(State(str(tmp_path))) as state:
        converter = Converter(LAUNCHER, CancelToken(), cache=TextCache(state))
        found = converter.convert(data, "a.odt", formats.OPEN_TEXT)

        def refuse() -> Sandbox:
            raise ToolError(ErrorCode.UNSUPPORTED, "no sandbox")

        without_start = Launcher(refuse, "")
        nothing = Converter(without_start, CancelToken(), cache=TextCache(state))  # it can start no child
        assert nothing.convert(data, "b.odt", formats.OPEN_TEXT) == found
        with pytest.raises(Exception, match="no sandbox"):
            nothing.convert(data + b" ", "a.odt", formats.OPEN_TEXT)


def test_pages_that_are_pictures_are_named_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    data = files.pdf("Harbours are deep.", files.empty_png(9, 9), "Tides are high.")
    monkeypatch.setattr(converters, "available", lambda format: format is not formats.SCANNED)
    found = convert(data, "a.pdf")
    assert found.text.splitlines()[3:6] == ["[page 2: a picture without text]", "", ""]
    assert found.notes == [
        f"Without text, because they are pictures: page 2. Their text can be read with an extra: {add_extra('ocr')}"
    ]
    assert set(found.places) == {"p. 1", "p. 2", "p. 3"}
    with pytest.raises(ToolError, match=r"a scanned PDF without text.*\[ocr\]'"):
        convert(files.pdf(files.empty_png(9, 9)), "a.pdf")


def test_what_a_terminal_would_obey_is_not_passed_on() -> None:
    found = convert(files.opened("<office:text><text:p>a\u202eb\u009b31mc</text:p></office:text>"), "a.odt")
    assert found.parts == [DocumentPart("abc")]


def test_a_picture() -> None:
    found = convert(files.picture("The harbour master", "Invoice 4711"), "a.png")
    assert found.parts == [DocumentPart("The harbour master\nInvoice 4711", 1)]
    assert found.text == "The harbour master\nInvoice 4711"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_pictures_of_other_kinds(kind: str) -> None:
    found = convert(files.picture("The harbour master", kind=kind), f"a.{kind.lower()}")
    assert found.parts == [DocumentPart("The harbour master", 1)]


@pytest.mark.slow
def test_a_scanned_pdf() -> None:
    found = convert(files.pdf(files.picture("The harbour master", "Invoice 4711")), "a.pdf")
    assert found.parts == [DocumentPart("The harbour master\nInvoice 4711", 1)]
    assert found.notes == ["Read from pictures, so letters may be wrong: page 1."]


def test_speech() -> None:
    found = convert(files.speech(), "a.wav")
    assert found.text.startswith("[00:00] ")
    assert SPOKEN in found.text.lower()


@pytest.mark.parametrize("kind", ["mp3", "flac", "ogg", "m4a"])
@pytest.mark.skipif(FFMPEG is None, reason="ffmpeg is not installed")
@pytest.mark.slow
def test_speech_in_other_formats(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.wav").write_bytes(files.speech())
    subprocess.run([str(FFMPEG), "-v", "error", "-i", f"{tmp_path}/a.wav", f"{tmp_path}/a.{kind}"], check=True)
    found = convert((tmp_path / f"a.{kind}").read_bytes(), f"a.{kind}")
    assert SPOKEN in found.text.lower()


def test_a_recording_that_is_no_wave() -> None:
    with pytest.raises(ToolError) as caught:
        convert(b"ID3 no sound", "a.mp3")
    want = "convert it to WAV (PCM, 16 bit), or install ffmpeg" if FFMPEG is None else f"{DAMAGED} a recording"
    assert want in caught.value.message


@pytest.mark.skipif(shutil.which("soffice") is None, reason="soffice is not installed")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["docx", "odt", "pdf"])
def test_what_an_office_program_writes(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.html").write_text("<h1>Ports</h1><p>Kiel is deep.</p>")
    argv = ["soffice", "--headless", "--convert-to", kind, "--outdir", str(tmp_path), f"{tmp_path}/a.html"]
    subprocess.run(argv, check=True, env={**os.environ, "HOME": str(tmp_path)}, stdout=subprocess.DEVNULL)
    assert "Kiel is deep." in convert((tmp_path / f"a.{kind}").read_bytes(), f"a.{kind}").text


@pytest.mark.parametrize(
    ("make", "path", "code", "message"),
    [
        (lambda: files.pdf("secret", password="x"), "a.pdf", ErrorCode.PERMISSION, "is protected. Save a copy of it without a password"),
        (lambda: files.pdf(""), "a.pdf", ErrorCode.VALIDATION, "is a PDF without any text in it"),
        (lambda: b"%PDF-1.7\n", "a.pdf", ErrorCode.VALIDATION, f"{DAMAGED} a PDF"),
        (lambda: files.docx(paragraph("x"))[:-40], "a.docx", ErrorCode.VALIDATION, f"{DAMAGED} a Word document"),
        (lambda: b"\xd0\xcf\x11\xe0" + bytes(512) + "EncryptedPackage".encode("utf-16-le"), "a.xlsx", ErrorCode.PERMISSION, "is protected"),
        (lambda: b"\xd0\xcf\x11\xe0" + bytes(512), "a.xls", ErrorCode.VALIDATION, f"{DAMAGED} a spreadsheet"),
        (lambda: files.opened("", "<encryption-data/>"), "a.odt", ErrorCode.PERMISSION, "is protected"),
        (lambda: files.epub({"a": "<p>x"}, rights=True), "a.epub", ErrorCode.PERMISSION, "is protected"),
        (lambda: files.picture("x")[:200], "a.png", ErrorCode.VALIDATION, f"{DAMAGED} an image"),
        (lambda: files.sound(1, format=3, width=4), "a.wav", ErrorCode.UNSUPPORTED, "convert it to WAV"),
        (lambda: files.sound(32 * 60, 500), "a.wav", ErrorCode.TOO_LARGE, "lasts 33 minutes; at most 30 are converted"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(make: Callable[[], bytes], path: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        convert(make(), path)
    assert caught.value.code is code
    assert message in caught.value.message
    assert caught.value.message.startswith(f"{path!r} ")


def far_cells() -> bytes:
    """A sheet with two cells, as far from one another as they can be."""
    import io

    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"], sheet["XFD1048576"] = 1, 2
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def endless_pdf() -> bytes:
    """A page whose content unpacks to two gigabytes."""
    import zlib

    packer = zlib.compressobj(9, wbits=-15)
    megabyte = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)  # the same as often as one likes
    total = 2 << 30
    stream = b"\x78\xda" + megabyte * (total >> 20) + b"\x03\0" + (total % 65521 << 16 | 1).to_bytes(4, "big")
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
        b"4 0 obj<</Length " + str(len(stream)).encode() + b"/Filter/FlateDecode>>stream\n" + stream + b"\nendstream "
        b"endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )


@pytest.mark.parametrize(
    ("make", "path", "message"),
    [
        (lambda: files.packed({"word/document.xml": bytes(20_000_000)}), "a.docx", "unpacks to far more than its size"),
        (lambda: files.packed({f"{at}.xml": os.urandom(5_000) + bytes(900_000) for at in range(50)}), "a.docx", "unpacks to more than is read"),
        (lambda: files.packed({str(at): b"" for at in range(limits.ENTRIES + 1)}), "a.xlsx", "more than 10000 files"),
        (lambda: files.docx("<w:sdt>" * 300 + "</w:sdt>" * 300), "a.docx", "nested too deep"),
        (lambda: files.opened("<text:p>" * 300 + "</text:p>" * 300), "a.odt", "nested too deep"),
        (lambda: files.docx(paragraph("&j;"), ENTITIES), "a.docx", "declares entities of XML"),
        (lambda: files.packed({"content.xml": f"{ENTITIES}<w>&j;</w>"}), "a.odt", "declares entities of XML"),
        (lambda: files.epub({"a": "<p><b>x</b>" * 300_000}), "a.epub", "unpacks to far more than its size"),
        (far_cells, "a.xlsx", "too much for its converter"),
        (lambda: files.many_pages(10_000), "a.pdf", "has 10000 parts; at most 5000 are read"),
        (lambda: files.many_pages(10**9), "a.pdf", f"{DAMAGED} a PDF"),
        (endless_pdf, "a.pdf", "too much for its converter"),
        (lambda: b"%PDF-1.4\n1 0 obj" + b"[" * 1_000_000, "a.pdf", f"{DAMAGED} a PDF"),
        (lambda: files.empty_png(60_000, 60_000), "a.png", "has 3600000000 pixels; at most 50000000"),
    ],
)  # fmt: skip
def test_bombs(make: Callable[[], bytes], path: str, message: str) -> None:
    data = make()
    began = time.monotonic()
    with pytest.raises(ToolError) as caught:
        convert(data, path)
    assert message in caught.value.message
    assert caught.value.code in (ErrorCode.TOO_LARGE, ErrorCode.VALIDATION)
    assert time.monotonic() - began < 60  # five of work; others compute here too


@pytest.mark.parametrize(
    ("count", "bounds", "message"),
    [
        (1_500_000, replace(limits.DOCUMENT, cpu=1, unit=0, memory=1 << 30), "takes too long"),
        (300_000, replace(limits.DOCUMENT, memory=24 << 20), "takes too much memory"),
        (1_000, replace(limits.DOCUMENT, seconds=0.02), "takes too long"),
    ],
    ids=["work", "memory", "time"],
)
def test_the_bounds_of_a_child(count: int, bounds: limits.ConversionLimits, message: str) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        convert(paragraphs(count), "a.odt", replace(formats.OPEN_TEXT, bounds=bounds))
    assert caught.value.code is ErrorCode.TOO_LARGE


def paragraphs(count: int) -> bytes:
    return files.opened("".join(f"<text:p>{at}</text:p>" for at in range(count)))


def test_a_file_that_is_too_large() -> None:
    with pytest.raises(ToolError, match="has 64000001 bytes; at most 64000000 are converted") as caught:
        convert(bytes(limits.BYTES + 1), "a.pdf")
    assert caught.value.code is ErrorCode.TOO_LARGE


def test_a_conversion_can_be_cancelled() -> None:
    token, slow = CancelToken(), paragraphs(100_000)
    timer = threading.Timer(0.02, token.cancel)  # Python alone takes longer to start
    timer.start()
    began = time.monotonic()
    with pytest.raises(ToolError) as caught:
        convert(slow, "a.odt", token=token)
    timer.join()
    assert caught.value.code is ErrorCode.CANCELLED
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("path", "extra"), [("a.pdf", "rag"), ("a.docx", "rag"), ("a.xlsx", "rag"), ("a.png", "ocr"), ("a.wav", "audio")]
)
def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, path: str, extra: str) -> None:
    installed = [one for one in sys.path if not one.endswith("-packages")]
    needed = formats.of_name(path)
    assert needed is not None
    with monkeypatch.context() as without:
        for name in needed.needs:
            without.delitem(sys.modules, name, raising=False)
        without.setattr(sys, "path", installed)
        with pytest.raises(ToolError) as caught:
            Converter(LAUNCHER, CancelToken()).convert(b"x", path, needed)
    assert caught.value.code is ErrorCode.UNSUPPORTED
    assert f"toolroll[{extra}]'" in caught.value.message
