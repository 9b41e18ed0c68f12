"""An EPUB book as Markdown, chapter by chapter."""

from __future__ import annotations

import re
import zipfile
from posixpath import dirname, join, normpath
from typing import BinaryIO
from urllib.parse import unquote
from xml.etree.ElementTree import Element, fromstring

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError, ConversionOutput
from toolroll.host.convert.readers.archive import open_archive
from toolroll.host.convert.readers.markdown import heading

_CONTAINER = "META-INF/container.xml"
_RIGHTS = "META-INF/rights.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_DECLARED = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def read(file: BinaryIO, output: ConversionOutput, words: list[str]) -> None:  # noqa: ARG001 - all readers are alike
    """A part for each file of the book, mostly a chapter, in their order."""
    from toolroll.text.web.html.markdown import convert

    archive = open_archive(file, markup=True)
    if _RIGHTS in archive.namelist():
        raise ConversionError("password")
    where = next(one.get("full-path", "") for one in _parse_xml(archive, _CONTAINER).iter() if _is(one, "rootfile"))
    package = _parse_xml(archive, where)
    output.title(next((one.text for one in package.iter() if _is(one, "title")), ""))
    items = {one.get("id"): one for one in package.iter() if _is(one, "item")}
    order = [items.get(one.get("idref")) for one in package.iter() if _is(one, "itemref")]
    chapters = [one.get("href", "") for one in order if one is not None and one.get("media-type") in _PAGES]
    if len(chapters) > limits.PAGES:
        raise ConversionError("pages", len(chapters))
    for number, name in enumerate(chapters, 1):
        page = archive.read(normpath(join(dirname(where), unquote(name))))
        found = convert(page.decode("utf-8", "replace"), "", main=False)
        headed = found.title and not found.markdown.startswith("#")
        text = f"{heading(found.title, 1)}\n\n{found.markdown}" if headed else found.markdown
        output.part(text if found.markdown else "", number, found.title)
        output.progress(number, len(chapters))


def _parse_xml(archive: zipfile.ZipFile, name: str) -> Element:
    data = archive.read(name)
    if _DECLARED.search(data):
        raise ConversionError("entities")
    return fromstring(data)


def _is(node: Element, name: str) -> bool:
    return node.tag.rpartition("}")[2] == name
