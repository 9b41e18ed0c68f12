"""Search an answer, as it streams by, for the credential that its request was sent with, in any spelling."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from html.entities import html5

# An escape can be escaped again: "%2541", "\\\\u0041", "&amp;#65;".
_ESCAPE = (
    rb"%(?:25){0,3}(?:u00)?(?P<percent>[0-9a-f]{2})"
    rb"|\\\\{0,7}(?:(?:u\{?0{0,6}|x)(?P<hex>[0-9a-f]{2})\}?|(?P<octal>[0-3][0-7]{2})|(?P<own>[\\%s]))"
    rb"|&(?:amp;){0,3}(?:#0{0,8}(?P<decimal>[0-9]{2,3});?|#x0{0,8}(?P<html>[0-9a-f]{2});?|(?P<name>[a-z]{2,24};))"
)
_BASES = {"percent": 16, "hex": 16, "octal": 8, "decimal": 10, "html": 16}
_ESCAPED_BYTES = 20  # of one character, at most
# Letters of either case, both alphabets of base64, and lines that are broken are the same spelling.
_FOLDED = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_", b"abcdefghijklmnopqrstuvwxyz+/")
_BREAKS = b"\0\t\n\r "
_MIN_CHARS = 6  # of what is searched; less is in every file
_MIN_PASSWORD_CHARS = 8  # of a password without its user
_DEFLATED = ("gzip", "x-gzip", "deflate")
_GZIP_MAGIC = b"\x1f\x8b\x08"
_ANY_ZLIB, _RAW_DEFLATE = 47, -15
_PIECE_BYTES = 1 << 18  # that are inflated at a time


class EchoedError(Exception):
    """An answer holds the credential, or cannot be searched for it; the message reads on from "because"."""

    begun = False
    """Whether a part of the answer was passed on before."""


class EchoSearch:
    """Searches one stream; `feed` it in pieces of any size."""

    def __init__(self, header: str) -> None:
        """`header` is the value of Authorization that the request had."""
        self._forms = tuple({form for secret in _secrets(header) for form in _spell(secret)})
        self.kept = max(map(len, self._forms), default=0) * _ESCAPED_BYTES
        """So many bytes at the end of what was fed can be the beginning of a secret."""
        marks = bytes({char for form in self._forms for char in form if not chr(char).isalnum()})
        self._escape = re.compile(_ESCAPE.replace(b"%s", re.escape(marks)), re.IGNORECASE)
        self._tail = b""

    def feed(self, data: bytes) -> None:
        """EchoedError if what was fed so far holds a secret."""
        text = self._tail + data
        self._tail = text[-self.kept :]
        for spelled in (text, self._escape.sub(_unescape, text)):
            folded = spelled.translate(_FOLDED, _BREAKS)
            if any(form in folded for form in self._forms):
                raise EchoedError("it holds the credential that it was asked with")


class EchoFilter:
    """Passes the body of an answer on, each piece once it can no longer be the beginning of the credential."""

    def __init__(self, header: str, encoding: str = "") -> None:
        """`encoding` is the answer's Content-Encoding; EchoedError for one that cannot be searched."""
        self._plain, self._inflated = EchoSearch(header), EchoSearch(header)
        self._encoding = encoding.strip().lower().replace("identity", "")
        if self._encoding and self._encoding not in _DEFLATED:
            raise EchoedError(f"it is compressed as {encoding!r}, which was not asked for")
        self._inflater: _Inflater | None = None
        self._fed = self._out = 0
        self._waiting: deque[tuple[bytes, int, int]] = deque()

    def feed(self, piece: bytes) -> bytes:
        """What may be passed on; EchoedError if there is the credential in it."""
        if not self._fed and (self._encoding or piece.startswith(_GZIP_MAGIC)):
            self._inflater = _Inflater(strict=bool(self._encoding))
        self._plain.feed(piece)
        self._fed += len(piece)
        for part in self._inflater.inflate(piece) if self._inflater is not None else ():
            self._inflated.feed(part)
            self._out += len(part)
        self._waiting.append((piece, self._fed, self._out))
        passed, kept = [], self._plain.kept
        inflates = self._inflater is not None and not self._inflater.over
        while self._waiting:
            first, fed, out = self._waiting[0]
            if self._fed - fed < kept or (inflates and self._out - out < kept):
                break
            passed.append(first)
            self._waiting.popleft()
        return b"".join(passed)

    def end(self) -> bytes:
        """What is left."""
        return b"".join(piece for piece, _, _ in self._waiting)


class _Inflater:
    """What a compressed stream holds, file after file."""

    def __init__(self, *, strict: bool) -> None:
        self.over = False  # what follows is not compressed
        self._strict = strict
        self._one = zlib.decompressobj(_ANY_ZLIB)
        self._is_new = True

    def inflate(self, data: bytes) -> Iterator[bytes]:
        while data and not self.over:
            try:
                part = self._one.decompress(data, _PIECE_BYTES)
            except zlib.error:
                if self._is_new and self._strict:  # deflate without a header
                    self._is_new, self._one = False, zlib.decompressobj(_RAW_DEFLATE)
                    continue
                if self._strict:
                    raise EchoedError("it is not compressed as it says") from None
                self.over = True
                return
            self._is_new = False
            data = self._one.unconsumed_tail
            if self._one.eof:
                data, self._one = self._one.unused_data, zlib.decompressobj(_ANY_ZLIB)
            yield part


def _secrets(header: str) -> Iterator[bytes]:
    """The secrets in a value of Authorization: itself, what follows the scheme, a login, and its password."""
    scheme, _, token = header.partition(" ")
    yield header.encode()
    yield (token or header).encode()
    if scheme.lower() == "basic":
        try:
            login = base64.b64decode(token)
        except binascii.Error:
            return
        yield login
        password = login.partition(b":")[2]
        if len(password) >= _MIN_PASSWORD_CHARS:
            yield password


def _spell(secret: bytes) -> Iterable[bytes]:
    """A secret as it is searched: plain, in hexadecimal, and in base64 behind any number of other bytes."""
    spelled = [secret, secret.hex().encode()]
    for before in range(3):  # what stands before shifts all that follows; the ends depend on neighbours
        encoded = base64.b64encode(bytes(before) + secret).rstrip(b"=")
        spelled.append(encoded[before and before + 1 : -1])
    folded = (one.translate(_FOLDED, _BREAKS) for one in spelled)
    return [one for one in folded if len(one) >= _MIN_CHARS]


def _unescape(found: re.Match[bytes]) -> bytes:
    kind = found.lastgroup or ""
    text = found[kind]
    if kind == "own":
        return text
    if kind == "name":
        return html5.get(text.decode(), html5.get(text.decode().lower(), "")).encode() or found[0]
    value = int(text, _BASES[kind])
    return bytes([value]) if value < 256 else found[0]
