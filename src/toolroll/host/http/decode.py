"""Content encodings of a body, decoded piece by piece: a small body cannot become a large one at once."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from toolroll.result import ErrorCode, ToolError

ACCEPTED = "gzip, deflate"
_PIECE_BYTES = 1 << 16
_PLAIN = frozenset({"", "identity", "none", "utf-8", "aws-chunked"})  # what servers say of a body that is not encoded
_GZIP = b"\x1f\x8b"


class DamagedError(Exception):
    """The encoded body is damaged or incomplete; the message says which."""


def decode(pieces: Iterator[bytes], content_encoding: str, host: str) -> Iterator[bytes]:
    """The body in pieces of bounded size; ToolError for an encoding that was not asked for."""
    names = [name.strip() for name in content_encoding.lower().split(",")]
    coding = ", ".join(name for name in names if name not in _PLAIN)
    if not coding:
        return pieces
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(ErrorCode.UNSUPPORTED, f"{host!r} sends {coding[:40]!r}, which cannot be decoded here.")
    return _inflate(pieces)


def _inflate(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress one stream, or several gzip members behind each other."""
    inflater, held, members = None, b"", 0
    for piece in pieces:
        held += piece
        while held:
            if inflater is None:
                if len(held) < 2:
                    break
                if members and not held.startswith(_GZIP):
                    return  # bytes behind the last member are padding
                inflater, members = zlib.decompressobj(_window_bits(held)), members + 1
            try:
                yield inflater.decompress(held, _PIECE_BYTES)
            except zlib.error:
                raise DamagedError("the compressed body is damaged") from None
            held = inflater.unconsumed_tail
            if inflater.eof:
                held, inflater = inflater.unused_data, None
    if inflater is not None:
        yield inflater.flush()
    if (inflater is not None and not inflater.eof) or (held and not members):
        raise DamagedError("the compressed body ends too early")


def _window_bits(head: bytes) -> int:
    """The argument for zlib: "deflate" is sent both with and without a zlib header."""
    framed = head.startswith(_GZIP) or (head[0] & 15 == 8 and (head[0] << 8 | head[1]) % 31 == 0)
    return 47 if framed else -15
