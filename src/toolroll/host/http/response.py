"""The answer of a server: read strictly, counted byte by byte, decompressed within bounds."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolroll.host.http.connection import Wire
from toolroll.result import ErrorCode, ToolError

_CHUNK = 1 << 16
_LINE = 1 << 16
_MOST_BESIDE = 3_000_000  # bytes of headers, and of what is between the chunks of a body
_MOST_HEADERS = 200
_MOST_INTERIM = 8
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:(.*)")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
_WITHOUT_BODY = frozenset({204, 304})
_AS_IT_IS = frozenset({"", "identity", "none", "utf-8", "aws-chunked"})  # said by servers of what is not encoded
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Head:
    """The status and the headers, their names in lower case."""

    status: int
    headers: dict[str, str]


class Reply:
    """Reads one answer from a connection; more than `most` bytes of it, or in it, are an error."""

    def __init__(self, wire: Wire, host: str, most: int) -> None:
        self._wire = wire
        self._host = host
        self._most = most
        self._buffer = bytearray()
        self._received = 0

    def head(self) -> Head:
        """The final status and headers; interim ones are passed over."""
        for _ in range(_MOST_INTERIM):
            line = self._line()
            status = _STATUS.fullmatch(line)
            if status is None:
                raise self._broken("it does not speak HTTP/1.1")
            found = Head(int(status[1]), self._headers())
            if found.status >= 200:
                return found
        raise self._broken("it does not come to its answer")

    def body(self, head: Head, method: str, into: Callable[[bytes], None] | None = None) -> bytes:
        """The body, decompressed; nothing when `into` takes it piece by piece."""
        if method == "HEAD" or head.status in _WITHOUT_BODY:
            return b""
        found = bytearray()
        take = into or found.extend
        for piece in self.pieces(head):
            take(piece)
        return bytes(found)

    def pieces(self, head: Head) -> Iterator[bytes]:
        """The body, decompressed, piece by piece as it comes."""
        said = [one.strip() for one in head.headers.get("content-encoding", "").lower().split(",")]
        coding = ", ".join(one for one in said if one not in _AS_IT_IS)
        pieces = self._pieces(head.headers)
        if coding in ("gzip", "x-gzip", "deflate"):
            pieces = self._inflated(pieces)
        elif coding:
            raise ToolError(
                ErrorCode.UNSUPPORTED, f"{self._host!r} sends {coding[:40]!r}, which cannot be decoded here."
            )
        size = 0
        for piece in pieces:
            size += len(piece)
            if size > self._most:
                raise self._too_large()
            yield piece

    def _headers(self) -> dict[str, str]:
        found: dict[str, list[bytes]] = {}
        last = ""
        for _ in range(_MOST_HEADERS):
            line = self._line()
            if not line:
                return {name: _text(b", ".join(values)) for name, values in found.items()}
            if line[:1] in b" \t" and last:
                found[last][-1] += b" " + line.strip()
            elif header := _HEADER.fullmatch(line):
                last = header[1].decode("ascii").lower()
                found.setdefault(last, []).append(header[2].strip(b" \t"))
        raise self._broken("it sends too many headers")

    def _pieces(self, headers: dict[str, str]) -> Iterator[bytes]:
        """The body as it comes, by whichever of the three ways its end is told."""
        coding = headers.get("transfer-encoding", "").strip().lower()
        if coding == "chunked":
            return self._chunks()
        if coding:
            raise self._broken(f"it sends the body as {coding[:40]!r}")
        if "content-length" not in headers:
            return self._rest()
        length = {one.strip() for one in headers["content-length"].split(",")}
        size = length.pop() if len(length) == 1 else ""
        if not (size.isascii() and size.isdecimal() and len(size) < 19):
            raise self._broken("it does not tell the length of the body")
        if int(size) > self._most:
            raise self._too_large()
        return self._exactly(int(size))

    def _exactly(self, size: int) -> Iterator[bytes]:
        while size:
            piece = self._take(size)
            if not piece:
                raise self._broken(f"the connection ended {size} bytes too early")
            size -= len(piece)
            yield piece

    def _rest(self) -> Iterator[bytes]:
        while piece := self._take(_CHUNK):
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while True:
            size = _SIZE.fullmatch(self._line())
            if size is None:
                raise self._broken("a chunk of the body has no size")
            if not (count := int(size[1], 16)):
                break
            yield from self._exactly(count)
            if self._line():
                raise self._broken("a chunk of the body is longer than its size")
        for _ in range(_MOST_HEADERS):
            if not self._line():
                return
        raise self._broken("it sends too many headers")

    def _inflated(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """What the pieces hold: one stream, or several of gzip behind each other."""
        inflate, held, members = None, b"", 0
        for piece in pieces:
            held += piece
            while held:
                if inflate is None:
                    if len(held) < 2:
                        break
                    if members and not held.startswith(_GZIP):
                        return  # what is behind the last member means nothing
                    inflate, members = zlib.decompressobj(_window(held)), members + 1
                yield self._inflate(inflate, held)
                held = inflate.unconsumed_tail
                if inflate.eof:
                    held, inflate = inflate.unused_data, None
        if inflate is not None:
            yield inflate.flush()
        if (inflate is not None and not inflate.eof) or (held and not members):
            raise self._broken("the compressed body ends too early")

    def _inflate(self, inflate: zlib._Decompress, data: bytes) -> bytes:
        try:
            return inflate.decompress(data, _CHUNK)
        except zlib.error:
            raise self._broken("the compressed body is damaged") from None

    def _line(self) -> bytes:
        """The next line without its end."""
        looked = 0
        while (end := self._buffer.find(b"\n", looked)) < 0:
            looked = len(self._buffer)
            if looked > _LINE:
                raise self._broken("it sends a line without an end")
            if not self._fill():
                raise self._broken("the connection ended too early")
        if end > _LINE:
            raise self._broken("it sends a line without an end")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.removesuffix(b"\r")

    def _take(self, most: int) -> bytes:
        """Up to so many bytes; none at the end."""
        if not self._buffer:
            self._fill()
        piece = bytes(self._buffer[:most])
        del self._buffer[:most]
        return piece

    def _fill(self) -> bool:
        piece = self._wire.receive(_CHUNK)
        self._received += len(piece)
        if self._received > self._most + _MOST_BESIDE:
            raise self._too_large()
        self._buffer += piece
        return bool(piece)

    def _broken(self, why: str) -> ToolError:
        return ToolError(ErrorCode.NETWORK, f"The answer of {self._host!r} is broken: {why}. Try again, or elsewhere.")

    def _too_large(self) -> ToolError:
        return ToolError(
            ErrorCode.TOO_LARGE,
            f"{self._host!r} sends more than {self._most} bytes, the limit. Ask for a part, or for another page.",
        )


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _window(head: bytes) -> int:
    """How zlib is to read what begins so: "deflate" is sent in its frame and without."""
    framed = head.startswith(_GZIP) or (head[0] & 15 == 8 and (head[0] << 8 | head[1]) % 31 == 0)
    return 47 if framed else -15
