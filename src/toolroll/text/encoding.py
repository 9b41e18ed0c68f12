"""Bytes to text and back without loss: what cannot be decoded exactly is an error."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import Literal

from toolroll.result import ErrorCode, ToolError


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file's text is written: a codec, and the byte order mark before it."""

    codec: str = "utf-8"
    bom: bytes = b""
    guessed: bool = field(default=False, compare=False)
    """Neither the file nor the caller names it."""
    errors: Literal["strict", "surrogateescape"] = "strict"
    """Whether bytes that are no text are refused, or kept as they are."""

    def decode(self, data: bytes) -> str:
        """The text of the whole file; raises ToolError at the first byte that is not text."""
        body = data[len(self.bom) :]
        try:
            return body.decode(self.codec, self.errors)
        except UnicodeDecodeError as error:
            line = body.count(b"\n", 0, error.start) + 1
            raise _undecodable(self, error.start + len(self.bom), line, data) from None

    def encode(self, text: str) -> bytes:
        """The text as this file's bytes; raises ToolError when a character cannot be written so."""
        try:
            return self.bom + text.encode(self.codec, self.errors)
        except UnicodeEncodeError as error:
            bad = text[error.start : error.end]
            raise ToolError(
                ErrorCode.VALIDATION, f"{bad!r} cannot be written as {self.codec}, the encoding of this file."
            ) from None


UTF8 = Encoding()

_BOMS = (  # the longer first: UTF-32's begins like UTF-16's
    Encoding("utf-32-le", codecs.BOM_UTF32_LE),
    Encoding("utf-32-be", codecs.BOM_UTF32_BE),
    Encoding("utf-8", codecs.BOM_UTF8),
    Encoding("utf-16-le", codecs.BOM_UTF16_LE),
    Encoding("utf-16-be", codecs.BOM_UTF16_BE),
)
_DECLARATIONS = (
    re.compile(rb"\A(?:.*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)"),
    re.compile(rb"\A\s*<\?xml[^>]*?encoding=[\"']([-\w.]+)[\"']"),
    re.compile(rb"<meta[^>]{0,200}charset=[\"']?([-\w.]+)", re.IGNORECASE),
)
HEAD = 8192  # bytes that are looked at to tell text from other files


_NODE_NAMES = {"utf16le": "utf-16-le", "ucs2": "utf-16-le", "ucs-2": "utf-16-le", "binary": "latin-1"}


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def detect(head: bytes, asked: str | None = None) -> Encoding:
    """The encoding of a file that begins so: its mark's, the one asked for, the one it declares, or UTF-8.

    Raises ToolError for a file that is no text.
    """
    for known in _BOMS:
        if head.startswith(known.bom):
            return known
    if asked is not None:
        return find_encoding(asked)
    if b"\0" in head[:HEAD] or head.startswith(b"%PDF-"):
        raise ToolError(ErrorCode.UNSUPPORTED, f"It is a binary file{_kind(head)}, not text.")
    declared = next((found[1].decode("ascii") for rule in _DECLARATIONS if (found := rule.search(head[:1024]))), None)
    if declared is None:
        return UTF8
    try:
        return find_encoding(declared)
    except ToolError:
        return UTF8  # a word after "coding:" in a comment need not be a declaration


def as_utf8(data: bytes) -> bytes:
    """The text of a file in UTF-8, without a byte order mark; ToolError if it is not text."""
    encoding = detect(data[:HEAD])
    if encoding.bom or encoding.codec != "utf-8":
        return data[len(encoding.bom) :].decode(encoding.codec, "replace").encode("utf-8", "replace")
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()  # an old encoding: one byte per letter, so that columns are right
    return data


def find_encoding(name: str) -> Encoding:
    """The encoding of this name, without a mark."""
    try:
        found = codecs.lookup(_NODE_NAMES.get(name.lower(), name))
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding:
        raise ToolError(ErrorCode.VALIDATION, f"There is no text encoding {name!r}. Try 'utf-8', 'cp1252' or 'utf-16'.")
    return Encoding("utf-8" if found.name == "utf-8-sig" else found.name)


def choose_encoding(data: bytes, first: Encoding) -> Encoding:
    """The encoding to read a whole file in: the first one if it can be, else a likely one that keeps every byte."""
    if data.isascii() or _keeps(data, first):
        return first
    best = _guess(data[:100_000])
    likely = Encoding(find_encoding(best).codec, guessed=True) if best is not None else first
    return likely if _keeps(data, likely) else first


def _keeps(data: bytes, encoding: Encoding) -> bool:
    """Whether these bytes are text in this encoding, and the text gives them again."""
    body = data[len(encoding.bom) :]
    try:
        return body.decode(encoding.codec).encode(encoding.codec) == body
    except UnicodeError:
        return False


def _undecodable(encoding: Encoding, byte: int, line: int, data: bytes) -> ToolError:
    best = _guess(data[:100_000])
    guess = f" It looks like {best!r}:" if best is not None else " If you know its encoding,"
    return ToolError(
        ErrorCode.VALIDATION,
        f"Not valid {encoding.codec.upper()} at byte {byte} (line {line}).{guess} give it as `encoding`.",
        details={"byte": byte, "line": line, "guess": best},
    )


_WESTERN = re.compile("[\0-~àâäáãåæçèéêëìíîïñòóôöõøœùúûüßÀÂÄÁÃÅÆÇÈÉÊËÍÎÏÑÓÔÖÕØŒÚÛÜ€‘’“”–—…«»°§©®™´·¡¿]*")  # noqa: RUF001
_COMMON = "cp1252 cp1250 cp1251 koi8_r cp1253 cp1254 cp1255 cp1256 cp932 euc_jp gb18030 big5 euc_kr cp437"


def _guess(data: bytes) -> str | None:
    """The encoding that these bytes are most likely in, of those that files have."""
    from charset_normalizer import from_bytes

    if 3 * len(data.translate(None, bytes(range(128)))) <= len(data):
        # Mostly ASCII: a few letters tell too little of their alphabet to compare all of them.
        text = data.decode("cp1252", "replace")
        if _WESTERN.fullmatch(text):
            return "cp1252"
    best = from_bytes(data, cp_isolation=_COMMON.split()).best()
    return best.encoding if best is not None else None


_SIGNATURES = (
    (b"\x7fELF", "ELF program"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"%PDF", "PDF"),
    (b"SQLite format 3", "SQLite database"),
    (b"\x89PNG", "PNG image"),
    (b"MZ", "Windows program"),
)


def _kind(head: bytes) -> str:
    return next((f" ({kind})" for signature, kind in _SIGNATURES if head.startswith(signature)), "")
