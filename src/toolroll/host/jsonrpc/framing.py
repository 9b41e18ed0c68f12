"""Messages of the language server protocol as bytes: a length, an empty line, and JSON."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_HEADER_END = b"\r\n\r\n"
_MOST_HEADER = 4096
_MOST_BODY = 1 << 28
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,10})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class NotProtocolError(Exception):
    """What came is no message. It holds the beginning of what came, as text."""


def frame(message: dict[str, Any]) -> bytes:
    """One message, ready to send."""
    body = msgspec.json.encode({"jsonrpc": "2.0", **message})
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Frames:
    """Takes bytes as they come and gives the messages in them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed: int | None = None  # bytes of the message whose header was read

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now; NotProtocolError when these bytes are something else."""
        self._buffer += data
        messages = []
        while (body := self._body()) is not None:
            try:
                message = msgspec.json.decode(body)
            except msgspec.DecodeError:
                raise _not_protocol(body) from None
            if not isinstance(message, dict):
                raise _not_protocol(body)
            messages.append(message)
        return messages

    def _body(self) -> bytes | None:
        if self._needed is None:
            end = self._buffer.find(_HEADER_END, 0, _MOST_HEADER)
            if end < 0:
                if len(self._buffer) >= _MOST_HEADER or not _may_be_header(self._buffer):
                    raise _not_protocol(self._buffer)
                return None
            length = _LENGTH.search(self._buffer, 0, end)
            if length is None or int(length[1]) > _MOST_BODY:
                raise _not_protocol(self._buffer)
            self._needed = int(length[1])
            del self._buffer[: end + len(_HEADER_END)]
        if len(self._buffer) < self._needed:
            return None
        body = bytes(self._buffer[: self._needed])
        del self._buffer[: self._needed]
        self._needed = None
        return body


def _may_be_header(data: bytearray) -> bool:
    """Whether bytes can still become a header: a program that prints a word of its own is told at once."""
    start = bytes(data[:8]).lower()
    return b"content-"[: len(start)] == start


def _not_protocol(data: bytes | bytearray) -> NotProtocolError:
    return NotProtocolError(bytes(data[:500]).decode("utf-8", "replace").strip())
