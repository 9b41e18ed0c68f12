"""Files of each kind, made by tools that have nothing to do with those that read them, or written by hand."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

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


def pdf(*pages: str, title: str = "", password: str = "") -> bytes:
    """A PDF of pages of text, each under a bookmark, by fpdf2."""
    from fpdf import FPDF

    made = FPDF()
    made.set_title(title)
    made.set_font("helvetica", size=12)
    for number, text in enumerate(pages, 1):
        made.add_page()
        made.start_section(f"Chapter {number}")
        made.multi_cell(0, 6, text)
    if password:
        made.set_encryption(owner_password="owner", user_password=password)
    return bytes(made.output())


def picture_pdf(picture: bytes) -> bytes:
    """A PDF of one page that is a picture, by fpdf2."""
    from fpdf import FPDF

    made = FPDF()
    made.add_page()
    made.image(io.BytesIO(picture), 10, 10, 150)
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


def pptx() -> bytes:
    """A presentation, by the writer of the library that also reads it: nothing else here writes one."""
    from pptx import Presentation
    from pptx.util import Inches

    show = Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Tides"
    first.placeholders[1].text = "High water\nLow water"
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = show.slides.add_slide(show.slide_layouts[6])
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for at, text in enumerate(("port", "depth", "Kiel", "11 m")):
        table.cell(at // 2, at % 2).text = text
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "in a group"
    made = io.BytesIO()
    show.save(made)
    return made.getvalue()


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
