"""Files of each kind, made by tools that have nothing to do with those that read them, or written by hand."""

from __future__ import annotations

import io
import struct
import wave
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATED = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'


def packed(entries: Mapping[str, bytes | str], *, stored: tuple[str, ...] = ()) -> bytes:
    """An archive of these files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED)
    return made.getvalue()


def pdf(*pages: str | bytes, title: str = "", password: str = "") -> bytes:
    """A PDF of pages of text, each under a bookmark, or of a picture, by fpdf2."""
    from fpdf import FPDF

    made = FPDF()
    made.set_title(title)
    made.set_font("helvetica", size=12)
    for number, text in enumerate(pages, 1):
        made.add_page()
        if isinstance(text, bytes):
            made.image(io.BytesIO(text), 10, 10, 150)
            continue
        made.start_section(f"Chapter {number}")
        made.multi_cell(0, 6, text)
    if password:
        made.set_encryption(owner_password="owner", user_password=password)
    return bytes(made.output())


def docx(body: str, prolog: str = HEAD) -> bytes:
    """A Word document around the XML of its body, written by hand."""
    return packed(
        {
            "[Content_Types].xml": f'{HEAD}<Types xmlns="{TYPES}">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{WORD}.document.main+xml"/>'
            f'<Override PartName="/word/styles.xml" ContentType="{WORD}.styles+xml"/></Types>',
            "_rels/.rels": f'{HEAD}<Relationships xmlns="{RELATED}">'
            f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'{HEAD}<Relationships xmlns="{RELATED}">'
            f'<Relationship Id="r1" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "word/styles.xml": f'{HEAD}<w:styles xmlns:w="{W}">'
            '<w:style w:type="paragraph" w:styleId="u2"><w:name w:val="heading 2"/></w:style>'
            '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>',
            "word/document.xml": f'{prolog}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
        }
    )


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx() -> bytes:
    """A workbook of two sheets, by openpyxl."""
    from datetime import date

    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Ships"
    sheet.append(["name", "tons", None, "built", "a|b"])
    sheet.append(["Aurora", 1200, None, date(1931, 5, 2), True])
    sheet.append([])
    sheet.append(["Borealis", 0.5, None, None, "two\nlines"])
    book.create_sheet("Empty")
    book.create_sheet("Harbours").append(["Kiel", 7])
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SHOW = "application/vnd.openxmlformats-officedocument.presentationml"
_IN_SHOW = f'xmlns:p="{_P}" xmlns:a="{_A}" xmlns:r="{OFFICE}"'
_GROUP = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'


def pptx() -> bytes:
    """A presentation of two slides, the first with notes, written by hand."""
    first = _text(2, "High water", "Low water", holder='<p:ph idx="1"/>')
    rows = "".join(f"<a:tr h='1'>{''.join(map(_cell, row))}</a:tr>" for row in (("port", "depth"), ("Kiel", "11 m")))
    table = (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="2" name="t"/><p:cNvGraphicFramePr/><p:nvPr/>'
        '</p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="1" cy="1"/></p:xfrm><a:graphic><a:graphicData '
        f'uri="{_A.replace("main", "table")}"><a:tbl><a:tblPr/><a:tblGrid><a:gridCol w="1"/><a:gridCol w="1"/>'
        f"</a:tblGrid>{rows}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    group = _GROUP.replace('id="1"', 'id="5"')
    slides = (
        _text(3, "Tides", holder='<p:ph type="title"/>') + first,
        f"{table}<p:grpSp>{group}{_text(6, 'in a group')}</p:grpSp>",
    )
    parts = {
        "ppt/presentation.xml": (
            "presentation.main",
            f'<p:presentation {_IN_SHOW}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="r3"/></p:sldMasterIdLst>'
            '<p:sldIdLst><p:sldId id="256" r:id="r1"/><p:sldId id="257" r:id="r2"/></p:sldIdLst>'
            '<p:sldSz cx="1" cy="1"/><p:notesSz cx="1" cy="1"/></p:presentation>',
            ("slide", "slides/slide1.xml"),
            ("slide", "slides/slide2.xml"),
            ("slideMaster", "slideMasters/slideMaster1.xml"),
        ),
        "ppt/slides/slide1.xml": (
            "slide",
            _tree("sld", slides[0]),
            ("slideLayout", "../slideLayouts/slideLayout1.xml"),
            ("notesSlide", "../notesSlides/notesSlide1.xml"),
        ),
        "ppt/slides/slide2.xml": (
            "slide",
            _tree("sld", slides[1]),
            ("slideLayout", "../slideLayouts/slideLayout1.xml"),
        ),
        "ppt/notesSlides/notesSlide1.xml": (
            "notesSlide",
            _tree("notes", _text(2, "Say it slowly.", holder='<p:ph type="body" idx="1"/>')),
            ("slide", "../slides/slide1.xml"),
        ),
        "ppt/slideLayouts/slideLayout1.xml": (
            "slideLayout",
            _tree("sldLayout", ""),
            ("slideMaster", "../slideMasters/slideMaster1.xml"),
        ),
        "ppt/slideMasters/slideMaster1.xml": (
            "slideMaster",
            _tree("sldMaster", ""),
            ("slideLayout", "../slideLayouts/slideLayout1.xml"),
        ),
    }
    return _package(parts)


def _package(parts: Mapping[str, tuple[Any, ...]]) -> bytes:
    """An Office file of parts: each with its type, its content, and what it refers to."""
    types = "".join(f'<Override PartName="/{name}" ContentType="{_SHOW}.{one[0]}+xml"/>' for name, one in parts.items())
    entries = {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="{TYPES}"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>',
        "_rels/.rels": _relations([("officeDocument", "ppt/presentation.xml")]),
    }
    for name, (_, content, *related) in parts.items():
        folder, _, file = name.rpartition("/")
        entries |= {name: HEAD + content, f"{folder}/_rels/{file}.rels": _relations(related)}
    return packed(entries)


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    rows = (
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'{HEAD}<Relationships xmlns="{RELATED}">{"".join(rows)}</Relationships>'


def _tree(kind: str, shapes: str) -> str:
    return f"<p:{kind} {_IN_SHOW}><p:cSld><p:spTree>{_GROUP}{shapes}</p:spTree></p:cSld></p:{kind}>"


def _text(number: int, *lines: str, holder: str = "") -> str:
    body = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="s"/><p:cNvSpPr/><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/>{body}</p:txBody></p:sp>"
    )


def _cell(text: str) -> str:
    return f"<a:tc><a:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody><a:tcPr/></a:tc>"


_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_NAMES = " ".join(
    f'xmlns:{short}="{_OPEN}:{name}:1.0"'
    for short, name in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"))
)


def opened(body: str, manifest: str = "<manifest/>", mime: str = "") -> bytes:
    """An OpenDocument file around the XML of its body, written by hand."""
    content = f"<office:document-content {_NAMES}><office:body>{body}</office:body></office:document-content>"
    return packed({"mimetype": mime, "META-INF/manifest.xml": manifest, "content.xml": content}, stored=("mimetype",))


def epub(chapters: Mapping[str, str], rights: bool = False) -> bytes:
    """A book, written by hand."""
    items = "".join(f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters)
    order = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>The Sea</dc:title></metadata><manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OPS/book.opf": package,
            **{f"OPS/{name}.xhtml": f"<!DOCTYPE html><html>{page}</html>" for name, page in chapters.items()},
            **({"META-INF/rights.xml": "<rights/>"} if rights else {}),
        }
    )


def picture(*lines: str, kind: str = "PNG") -> bytes:
    """Lines of text as a picture, by Pillow, in the font that it brings."""
    from PIL import Image, ImageDraw, ImageFont

    made = Image.new("RGB", (640, 20 + 40 * len(lines)), "white")
    pen = ImageDraw.Draw(made)
    for at, line in enumerate(lines):
        pen.text((10, 10 + 40 * at), line, fill="black", font=ImageFont.load_default(28))
    data = io.BytesIO()
    made.save(data, kind)
    return data.getvalue()


def empty_png(width: int, height: int) -> bytes:
    """A picture of one colour, as small as it can be."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    packer = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    data = b"".join(packer.compress(row) for _ in range(min(height, 1000))) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def sound(seconds: float, rate: int = 16_000, *, width: int = 2, format: int = 1) -> bytes:
    """A WAV file of silence."""
    data = bytes(int(seconds * rate) * width)
    head = struct.pack("<HHIIHH", format, 1, rate, rate * width, width, 8 * width)
    body = b"WAVEfmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def speech() -> bytes:
    """The first words of a novel, from the recordings that come with the package that hears them."""
    recording = Path(pytest.importorskip("moonshine_voice").__file__).parent / "assets" / "two_cities.wav"
    held = io.BytesIO()
    with wave.open(str(recording)) as whole, wave.open(held, "wb") as part:
        part.setparams(whole.getparams())
        part.writeframes(whole.readframes(8 * whole.getframerate()))
    return held.getvalue()


def many_rows(count: int) -> bytes:
    """A workbook of one sheet with so many rows, written by hand."""
    rows = "".join(f"<row><c><v>{number * 7919 % 1_000_003}</v></c></row>" for number in range(count))
    main, kind = (
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
        "application/vnd.openxmlformats-officedocument.spreadsheetml",
    )
    return packed(
        {
            "[Content_Types].xml": f'{HEAD}<Types xmlns="{TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
            "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
            "xl/_rels/workbook.xml.rels": _relations([("worksheet", "sheet1.xml")]),
            "xl/workbook.xml": f'{HEAD}<workbook xmlns="{main}" xmlns:r="{OFFICE}"><sheets>'
            '<sheet name="Rows" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/sheet1.xml": f'{HEAD}<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
        }
    )


def many_pages(count: int) -> bytes:
    """A PDF whose tree of pages says that it has so many, by naming the same ones again and again."""
    levels, objects = [], []
    here = 4
    total = 1
    while total < count:
        levels.append(here)
        total *= 100
        here += 1
    for at, number in enumerate(levels):
        below = levels[at + 1] if at + 1 < len(levels) else 3
        kids = f"{below} 0 R " * 100
        objects.append(f"{number} 0 obj<</Type/Pages/Kids[{kids}]/Count {100 ** (len(levels) - at)}>>endobj\n")
    body = f"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages {levels[0]} 0 R>>endobj\n"
    body += "3 0 obj<</Type/Page/MediaBox[0 0 9 9]>>endobj\n" + "".join(objects)
    return f"{body}trailer<</Root 1 0 R>>\n%%EOF".encode()
