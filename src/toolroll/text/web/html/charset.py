"""Detect the encoding of a body as browsers do."""

from __future__ import annotations

import re

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.IGNORECASE | re.ASCII)
_DECLARED = re.compile(
    rb"<(?:meta|\?xml)\b[^>]{0,400}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.IGNORECASE
)
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# The names that pages use, and what browsers take them for. Python knows more codecs, some of them slow or strange.
_CODECS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8",
    "utf-16-le": "utf-16 utf-16le utf-16-le unicode ucs-2",
    "utf-16-be": "utf-16be utf-16-be",
    "cp1252": "iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 ascii us-ascii windows-1252 cp1252",
    "gb18030": "gb2312 gbk gb18030 x-gbk cp936",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j cp932",
    "euc_jp": "euc-jp x-euc-jp",
    "iso2022_jp": "iso-2022-jp",
    "cp949": "euc-kr ks_c_5601-1987 korean windows-949",
    "koi8_r": "koi8-r koi8",
    "koi8_u": "koi8-u",
    "mac_roman": "macintosh x-mac-roman",
    "cp866": "ibm866 cp866",
    "cp874": "windows-874 tis-620 iso-8859-11",
    **{f"cp{number}": f"windows-{number} cp{number}" for number in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
    "cp1254": "windows-1254 cp1254 iso-8859-9 latin5",
    **{
        f"iso8859_{number}": f"iso-8859-{number} iso8859-{number}"
        for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)
    },
}


def decode(body: bytes, content_type: str) -> str:
    """Text by its mark, by what the server says, by what the page says of itself; what is left over is replaced."""
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(codec, "replace")
    named = _CHARSET.search(content_type)
    codec = _codec(named[1]) if named else ""
    if not codec and (declared := _DECLARED.search(body[:4096])):
        codec = _codec(declared[1].decode("ascii", "replace"))
        codec = "utf-8" if codec.startswith("utf-16") else codec  # it could not be read if it were true
    if codec:
        return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        # One broken character does not make a page another encoding; nothing but broken ones does.
        return body.decode("utf-8" if error.start > len(body) * 0.9 or _is_mostly_utf8(body) else "cp1252", "replace")


def is_utf16(body: bytes, content_type: str) -> bool:
    """Whether it is text although it holds NUL bytes."""
    named = _CHARSET.search(content_type)
    return body[:2] in (b"\xff\xfe", b"\xfe\xff") or (named is not None and _codec(named[1]).startswith("utf-16"))


def _is_mostly_utf8(body: bytes) -> bool:
    text = body[:200_000].decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return sum(not char.isascii() for char in text) > 2 * broken


def _codec(name: str) -> str:
    wanted = name.lower()
    return next((codec for codec, names in _CODECS.items() if wanted in names.split()), "")
