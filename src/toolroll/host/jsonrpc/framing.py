"""JSON-RPC messages as bytes: `Content-Length` headers for language servers, one line each for MCP servers."""

from __future__ import annotations

import re
from typing import Any, Protocol

import msgspec

RpcDict = dict[str, Any]
"""One message, decoded."""

_HEADER_END = b"\r\n\r\n"
_MAX_HEADER_BYTES = 4096
_MAX_BODY_BYTES = 1 << 28
_MAX_LINE_BYTES = 16_000_000
_MAX_NOISE_LINES = 100  # in a row that are not messages
_SHOWN_BYTES = 300
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,10})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class NotProtocolError(Exception):
    """The bytes are not JSON-RPC messages. The text is their beginning."""


class MessageTooLargeError(Exception):
    """A message exceeds the size limit. The text continues a sentence that begins with the server's name."""


class Framing(Protocol):
    """Turns messages into bytes and bytes into messages."""

    def encode(self, message: RpcDict) -> bytes:
        """The bytes of one message."""

    def feed(self, data: bytes) -> list[RpcDict]:
        """The messages that these bytes complete; NotProtocolError or MessageTooLargeError."""


class ContentLengthFraming:
    """A header with the length, an empty line, and JSON."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed: int | None = None  # length of the body whose header was read

    def encode(self, message: RpcDict) -> bytes:
        body = msgspec.json.encode({"jsonrpc": "2.0", **message})
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def feed(self, data: bytes) -> list[RpcDict]:
        self._buffer += data
        messages = []
        while (body := self._take_body()) is not None:
            found = decode_messages(body)
            if not found:
                raise _not_protocol(body)
            messages += found
        return messages

    def _take_body(self) -> bytes | None:
        if self._needed is None:
            end = self._buffer.find(_HEADER_END, 0, _MAX_HEADER_BYTES)
            if end < 0:
                if len(self._buffer) >= _MAX_HEADER_BYTES or not _may_be_header(self._buffer):
                    raise _not_protocol(self._buffer)
                return None
            length = _LENGTH.search(self._buffer, 0, end)
            if length is None or int(length[1]) > _MAX_BODY_BYTES:
                raise _not_protocol(self._buffer)
            self._needed = int(length[1])
            del self._buffer[: end + len(_HEADER_END)]
        if len(self._buffer) < self._needed:
            return None
        body = bytes(self._buffer[: self._needed])
        del self._buffer[: self._needed]
        self._needed = None
        return body


class LineFraming:
    """One line of JSON for each message. Other lines, which some servers print, are skipped."""

    def __init__(self, max_bytes: int = _MAX_LINE_BYTES) -> None:
        self._buffer = bytearray()
        self._max_bytes = max_bytes
        self._noise_lines = 0

    def encode(self, message: RpcDict) -> bytes:
        return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"

    def feed(self, data: bytes) -> list[RpcDict]:
        searched = len(self._buffer)
        self._buffer += data
        messages = []
        while (end := self._buffer.find(b"\n", searched)) >= 0:
            line = bytes(self._buffer[:end]).strip()
            del self._buffer[: end + 1]
            searched = 0
            self._check_size(len(line))
            if line:
                messages += self._decode_line(line)
        self._check_size(len(self._buffer))
        return messages

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise MessageTooLargeError(f"sent a message of more than {self._max_bytes} bytes, and was ended")

    def _decode_line(self, line: bytes) -> list[RpcDict]:
        found = decode_messages(line)
        self._noise_lines = 0 if found else self._noise_lines + 1
        if self._noise_lines > _MAX_NOISE_LINES:
            raise _not_protocol(line)
        return found


def decode_messages(text: bytes | str) -> list[RpcDict]:
    """The message or the batch of messages in a text; none when the text is something else."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return []
    return [_normalise_error(one) for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _normalise_error(message: RpcDict) -> RpcDict:
    """The message; an error in it is an object with an integer code."""
    error = message.get("error")
    if error is None:
        return message
    details = error if isinstance(error, dict) else {"message": str(error)}
    code = details.get("code")
    return {**message, "error": {**details, "code": code if isinstance(code, int) else 0}}


def _may_be_header(data: bytearray) -> bool:
    """True while bytes can still become a header: a program that prints other text is noticed at once."""
    start = bytes(data[:8]).lower()
    return b"content-"[: len(start)] == start


def _not_protocol(data: bytes | bytearray) -> NotProtocolError:
    return NotProtocolError(bytes(data[:_SHOWN_BYTES]).decode("utf-8", "replace").strip())
