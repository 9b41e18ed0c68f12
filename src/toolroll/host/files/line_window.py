"""Some lines of a file of any size, without holding more of it than a block and those lines."""

from __future__ import annotations

import os
from typing import NamedTuple

from toolroll.host.files.line_index import LineIndex, next_data
from toolroll.host.runtime.cancellation import Token
from toolroll.result import ErrorCode, ToolError
from toolroll.text import lines as text_lines
from toolroll.text.encoding import Encoding

WHOLE = 8_000_000
"""Files up to this many bytes are read at once: quicker, and their content is then known exactly."""
_SHOWN = 1 << 16  # bytes taken apart into lines at a time
_COUNTED = 32_000_000  # bytes of a file up to which the lines behind the window are counted as well
_LINE = 64_000  # bytes of one line that are kept


class Window(NamedTuple):
    """Lines without their endings. `total` is None when counting all of them would take too long."""

    lines: tuple[str, ...]
    start: int
    total: int | None
    encoding: Encoding
    ended: bool = False
    """The file was read to its end, and a line feed ends it."""


def window_of_bytes(data: bytes, start: int, count: int, encoding: Encoding) -> Window:
    """The window of a file that was read whole."""
    text = encoding.decode(data)
    found = text_lines.split_bare(text)
    shown = tuple(found[start - 1 : start - 1 + count])
    whole = start - 1 + count >= len(found) and text.endswith("\n")
    return Window(shown, start, len(found), encoding, whole)


def window_of_file(fd: int, start: int, count: int, encoding: Encoding, token: Token, known: LineIndex) -> Window:
    """The window of a large file, read in blocks; `known` helps to find it, and learns."""
    if encoding.codec.startswith(("utf-16", "utf-32")):
        raise ToolError(ErrorCode.TOO_LARGE, f"A {encoding.codec} file of this size cannot be read in part.")
    at = known.after(fd, start - 1, token) if start > 1 else len(encoding.bom)
    raw = _taken(fd, at, count, token) if at is not None else []
    if len(raw) < count or os.fstat(fd).st_size <= _COUNTED:
        known.count(fd, token)
    plain = Encoding(encoding.codec)
    shown = tuple(plain.decode(line.removesuffix(b"\r")) for line in raw)
    return Window(shown, start, known.total, encoding)


def _taken(fd: int, at: int, count: int, token: Token) -> list[bytes]:
    """The lines from a place on, each cut to what can be shown of it at all."""
    lines: list[bytes] = []
    current = bytearray()
    while len(lines) < count and (chunk := os.pread(fd, _SHOWN, at)):
        token.check()
        at += len(chunk)
        *ended, last = chunk.split(b"\n", count - len(lines))
        for piece in ended:
            current += piece[: max(0, _LINE - len(current))]
            lines.append(bytes(current))
            current.clear()
        current += last[: max(0, _LINE - len(current))]
        if len(current) == _LINE and not ended:
            at = next_data(fd, at)
    if current and len(lines) < count:
        lines.append(bytes(current))
    return [_whole_characters(line) for line in lines]


def _whole_characters(line: bytes) -> bytes:
    """A line that was cut, without the piece of a UTF-8 character that the cut left at its end."""
    if len(line) < _LINE:
        return line
    end = len(line)
    while end and line[end - 1] & 0xC0 == 0x80:
        end -= 1
    return line[: end - 1] if end and line[end - 1] >= 0xC0 else line
