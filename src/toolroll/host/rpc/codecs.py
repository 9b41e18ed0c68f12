"""Messages as bytes: a line of JSON each, JSON after a `Content-Length` header, or JSON after four bytes of length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

RpcDict = dict[str, Any]
"""One message, decoded."""
MAX_MESSAGE_BYTES = 64 << 20
"""The longest message that is read or written; a codec may have another limit."""
_SIZE_BYTES = 4
_HEADER_END = b"\r\n\r\n"
_MAX_HEADER_BYTES = 4096
_SHOWN_BYTES = 300
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,10})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class PeerGoneError(ConnectionError):
    """The other side has ended. The text continues a sentence that begins with its name."""

    def __init__(self, how: str, *, memory: bool = False) -> None:
        """`memory`: it was ended because it used or sent too much."""
        super().__init__(how)
        self.memory = memory


class TooLongError(ValueError):
    """A message is longer than can be sent; the text continues a sentence about it."""


class Codec(Protocol):
    """Turns messages into bytes and bytes into messages."""

    def encode(self, message: Any) -> bytes:
        """The bytes of one message; ValueError if it is too long."""

    def feed(self, data: bytes) -> list[Any]:
        """The messages that these bytes complete; PeerGoneError for what is no message, or too long."""


class LineCodec:
    """One line of JSON for each message."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES, *, noise: int = 0) -> None:
        """`noise`: so many lines in a row that are no messages, which some programs print, are skipped."""
        self._limit, self._noise = limit, noise
        self._rest = bytearray()  # the start of the next line
        self._too_long = False
        self._noise_lines = 0

    def encode(self, message: Any) -> bytes:
        return _bounded(encode_json(message), self._limit) + b"\n"

    def feed(self, data: bytes) -> list[Any]:
        messages = []
        for line in self.split(data):
            if not line:
                raise _too_large(self._limit)
            found = _decode_line(line)
            self._noise_lines = 0 if found else self._noise_lines + 1
            if self._noise_lines > self._noise:
                raise _not_protocol(line)
            messages += found
        if self._too_long:
            raise _too_large(self._limit)
        return messages

    def split(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete, without blank ones; an empty line in place of one that was too long."""
        *ended, rest = data.split(b"\n")
        lines = []
        for line in ended:
            if self._rest:
                line, self._rest = bytes(self._rest + line), bytearray()  # noqa: PLW2901 - it began before
            if self._too_long or len(line) > self._limit:
                lines.append(b"")
            elif line and not line.isspace():
                lines.append(line)
            self._too_long = False
        if not self._too_long:
            self._rest += rest
            if len(self._rest) > self._limit:
                self._rest, self._too_long = bytearray(), True
        return lines


class RawLineCodec(LineCodec):
    """Lines for a server that answers also those that are no messages: an empty one was too long."""

    def feed(self, data: bytes) -> list[Any]:
        return self.split(data)


class _SizedCodec:
    """JSON behind its length."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._needed: int | None = None  # length of the body whose head was read

    def feed(self, data: bytes) -> list[RpcDict]:
        self._buffer += data
        messages = []
        for body in self._bodies():
            if not (found := decode_messages(body)):
                raise _not_protocol(body)
            messages += found
        return messages

    def _bodies(self) -> Iterator[bytes]:
        while True:
            if self._needed is None:
                self._needed = self._read_head()
            if self._needed is None:
                return
            if self._needed > self._limit:
                raise _too_large(self._limit)
            if len(self._buffer) < self._needed:
                return
            body = bytes(self._buffer[: self._needed])
            del self._buffer[: self._needed]
            self._needed = None
            yield body

    def _read_head(self) -> int | None:
        """Take the head off the buffer; the length in it, or None until it is whole."""
        if len(self._buffer) < _SIZE_BYTES:
            return None
        size = int.from_bytes(self._buffer[:_SIZE_BYTES], "big")
        del self._buffer[:_SIZE_BYTES]
        return size


class SizeCodec(_SizedCodec):
    """Four bytes with the length, the highest first, and JSON."""

    def encode(self, message: RpcDict) -> bytes:
        return self.frame(_bounded(encode_json(message), self._limit))

    def frame(self, body: bytes) -> bytes:
        """The bytes of a message that is JSON already."""
        return len(body).to_bytes(_SIZE_BYTES, "big") + body


class ContentLengthCodec(_SizedCodec):
    """A header with the length, an empty line, and JSON."""

    def encode(self, message: RpcDict) -> bytes:
        body = _bounded(encode_json(message), self._limit)
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def _read_head(self) -> int | None:
        end = self._buffer.find(_HEADER_END, 0, _MAX_HEADER_BYTES)
        if end < 0:
            if len(self._buffer) >= _MAX_HEADER_BYTES or not _may_be_header(self._buffer):
                raise _not_protocol(self._buffer)
            return None
        length = _LENGTH.search(self._buffer, 0, end)
        if length is None:
            raise _not_protocol(self._buffer)
        size = int(length[1])
        del self._buffer[: end + len(_HEADER_END)]
        return size


def encode_json(value: Any) -> bytes:
    """The value as JSON; what JSON has not becomes text, and lone surrogates become escapes."""
    try:
        return msgspec.json.encode(value, enc_hook=str)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escape_surrogates(value), enc_hook=str)


def decode_messages(text: bytes | str) -> list[RpcDict]:
    """The message or the batch of messages in a text; none when the text is something else."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return []
    return _messages_in(found)


def _decode_line(line: bytes) -> list[RpcDict]:
    try:
        return _messages_in(msgspec.json.decode(line))
    except RecursionError as error:
        raise PeerGoneError("sent a message that is nested too deeply, and was ended") from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def _messages_in(found: Any) -> list[RpcDict]:
    return [_normalise_error(one) for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _escape_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escape_surrogates(key): _escape_surrogates(one) for key, one in value.items()}
    return [_escape_surrogates(one) for one in value] if isinstance(value, list | tuple) else value


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


def _bounded(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise TooLongError(f"it has {len(body):,} bytes, and {limit:,} can be sent. Ask for less at once")
    return body


def _not_protocol(data: bytes | bytearray) -> PeerGoneError:
    said = bytes(data[:_SHOWN_BYTES]).decode("utf-8", "replace").strip()
    return PeerGoneError(f"does not speak the protocol; it said {said!r}")


def _too_large(limit: int) -> PeerGoneError:
    return PeerGoneError(f"sent a message of more than {limit} bytes, and was ended", memory=True)
