"""Files that are archives of XML: looked through before any library opens them."""

from __future__ import annotations

import re
import zipfile
from typing import BinaryIO

from toolroll.host.convert import limits
from toolroll.host.convert.child import ConversionError

_DIRECTORY = b"PK\x01\x02"  # before each entry of the list at the end
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_DECLARED = re.compile(rb"<\x00?!\x00?(?:D\x00?O\x00?C\x00?T\x00?Y\x00?P\x00?E|E\x00?N\x00?T\x00?I\x00?T\x00?Y)")
_XML = (".xml", ".rels", ".opf", ".vml")
_CHUNK = 1 << 20


def open_archive(file: BinaryIO, *, markup: bool = False, xml: int = limits.XML) -> zipfile.ZipFile:
    """The archive, unpacked once within the limits; ConversionError for one that is a bomb, protected, or none at all.

    XML in it may not declare a document type, unless it is `markup` for browsers, where that is usual. All of it has at
    most so many bytes as `xml`.
    """
    if is_encrypted(file):
        raise ConversionError("password")
    file.seek(0)
    data = file.read()
    if data.count(_DIRECTORY) > limits.ENTRIES:
        raise ConversionError("entries")
    archive = zipfile.ZipFile(file)
    total = found = 0
    for entry in archive.infolist():
        if entry.flag_bits & 1:
            raise ConversionError("password")
        is_xml = entry.filename.lower().endswith(_XML)
        size = _unpacked(archive, entry, limits.UNPACKED - total, declares=is_xml and not markup)
        total += size
        found += size if is_xml else 0
        if found > xml:
            raise ConversionError("unpacked")
    return archive


def is_encrypted(file: BinaryIO) -> bool:
    """Whether it is what office programs put around a document that has a password."""
    file.seek(0)
    return file.read(4) == _OLE and _ENCRYPTED in file.read()


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int, *, declares: bool) -> int:
    """How large an entry really is: what it says of itself may be wrong."""
    size, tail = 0, b""
    with archive.open(entry) as stream:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise ConversionError("unpacked")
            if size > limits.FREE and size > limits.RATIO * entry.compress_size:
                raise ConversionError("ratio")
            if declares and _DECLARED.search(tail + chunk):
                raise ConversionError("entities")
            tail = chunk[-32:]
    return size
